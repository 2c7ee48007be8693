package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// Payment is what the model fills in to call the tool.
type Payment struct {
	Order string `json:"order" jsonschema:"description=Number of the order"`
	Cents int    `json:"cents"`
}

// pay asks before it does anything. What it returns goes to the model.
func pay(ctx tool.Context, p Payment) (any, error) {
	approved, err := agent.Interrupt[bool](ctx, map[string]any{"question": "Pay this?", "payment": p})
	if err != nil {
		return nil, err
	}
	if !approved {
		return "A person refused the payment.", nil
	}
	return agent.Step(ctx, "pay", func(step agent.StepContext) (string, error) {
		return transfer(step, p, step.IdempotencyKey())
	})
}

// NewCashier is a model and its tools in turn, until the model calls none.
func NewCashier(m model.Model) *agent.Graph {
	return react.Must(react.New(react.Options[react.State]{
		Name:   "cashier",
		Prompt: "You pay what customers are owed.",
		Model:  m,
		Tools:  []tool.Tool{tool.New("pay", "Pays a refund", pay)},
	}))
}

// transfer stands for the client of a bank.
func transfer(_ context.Context, p Payment, _ string) (string, error) {
	return fmt.Sprintf("Paid %d cents for order %s.", p.Cents, p.Order), nil
}

// A tool that waits for a person: the model's call is stored, and runs with the answer.
func Example_tools() {
	m := scripted.Script{Choose: scripted.Sequence(
		scripted.Turn{ToolCalls: []message.ToolCall{message.NewToolCall("call-1", "pay", json.RawMessage(`{"order":"A-17","cents":900}`))}},
		scripted.Say("It is on its way."),
	)}
	ctx := context.Background()
	thread := agenttest.New(NewCashier(m))
	if _, err := thread.Run(ctx, map[string]any{"messages": "Where is my refund?"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(thread.Pending()[0].Value))
	if _, err := thread.Resume(ctx, true); err != nil {
		fmt.Println(err)
		return
	}
	state, err := thread.State(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, msg := range state.State.Messages()["messages"].All() {
		fmt.Printf("%s: %q\n", msg.Type, msg.Text())
	}
	// Output:
	// {"payment":{"order":"A-17","cents":900},"question":"Pay this?"}
	// human: "Where is my refund?"
	// ai: ""
	// tool: "Paid 900 cents for order A-17."
	// ai: "It is on its way."
}

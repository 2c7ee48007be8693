package hitl_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// Transfer is what the model fills in to call the tool transfer.
type Transfer struct {
	To     string `json:"to"`
	Amount int    `json:"amount" jsonschema:"minimum=1"`
}

func transfer(_ tool.CallContext, t Transfer) (string, error) {
	return fmt.Sprintf("Transferred %d EUR to %s.", t.Amount, t.To), nil
}

// NewTreasurer is an agent that moves money only when a person lets it.
func NewTreasurer(m model.Model) agent.Agent {
	return react.Must(react.NewAgent(react.Config{
		Name:  "treasurer",
		Model: m,
		Tools: []tool.Tool{tool.Func("transfer", "Transfers money", transfer)},
		Review: hitl.Config{Policy: hitl.Policy{
			"transfer": {Decisions: []hitl.Decision{hitl.Approve, hitl.Edit, hitl.Reject}, When: isLarge},
		}},
	}))
}

// isLarge exempts small sums from review.
func isLarge(r hitl.Request) bool {
	var t Transfer
	return json.Unmarshal(r.Call.Args, &t) != nil || t.Amount > 100
}

// The reviewer lowers the sum; the model learns what was done.
func Example() {
	m := scripted.Script{Choose: scripted.Sequence(
		scripted.Turn{ToolCalls: []message.ToolCall{message.NewToolCall("call-1", "transfer", json.RawMessage(`{"to":"Grace","amount":250}`))}},
		scripted.Say("Done, with a smaller sum."),
	)}
	ctx := context.Background()
	g, err := NewTreasurer(m).Graph(ctx, agent.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	thread := agenttest.New(g)
	if _, err := thread.Run(ctx, map[string]any{"messages": "Send Grace 250 EUR"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(thread.Pending()[0].Value))
	answer := json.RawMessage(`{"decisions":[{"type":"edit","editedAction":{"name":"transfer","args":{"to":"Grace","amount":200}}}]}`)
	if _, err := thread.Resume(ctx, answer); err != nil {
		fmt.Println(err)
		return
	}
	state, err := thread.State(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range state.State.Messages()["messages"].All() {
		if m.Type == message.Tool {
			fmt.Println(m.Text())
		}
	}
	// Output:
	// {"actionRequests":[{"name":"transfer","args":{"to":"Grace","amount":250},"description":"Tool execution requires approval\n\nTool: transfer\nArgs: {\n  \"to\": \"Grace\",\n  \"amount\": 250\n}"}],"reviewConfigs":[{"actionName":"transfer","allowedDecisions":["approve","edit","reject"]}]}
	// Note: a reviewer edited this call before it ran. Executed instead: `transfer` with the arguments {"to":"Grace","amount":200}.
	//
	// Transferred 200 EUR to Grace.
}

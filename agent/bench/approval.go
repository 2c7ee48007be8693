package bench

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// approval proposes a transfer, asks whether it may, and reports.
func approval() agent.Agent {
	return agent.NewGraph[state]("approval").
		Node("propose", propose).
		Node("tools", askAndTransfer).
		Node("finish", speak).
		Edge(agent.Start, "propose").
		Edge("propose", "tools").
		Edge("tools", "finish").
		Edge("finish", agent.End).
		MustCompile()
}

func propose(_ agent.Context, s state) (agent.Update, error) {
	call := message.NewToolCall(fmt.Sprintf("call_%d", s.Messages.Len()), "transfer", json.RawMessage(`{"to":"acme","amount":100}`))
	return agent.Set("messages", []message.Message{message.NewAI("", call)}), nil
}

// The question and its answer, in the wording of the peer's human-in-the-loop middleware.
type (
	question struct {
		ActionRequests []actionRequest `json:"actionRequests"`
		ReviewConfigs  []reviewConfig  `json:"reviewConfigs"`
	}
	actionRequest struct {
		Name        string          `json:"name"`
		Args        json.RawMessage `json:"args"`
		Description string          `json:"description"`
	}
	reviewConfig struct {
		ActionName       string   `json:"actionName"`
		AllowedDecisions []string `json:"allowedDecisions"`
	}
)

func askAndTransfer(ctx agent.Context, s state) (agent.Update, error) {
	call, err := proposedCall(s.Messages)
	if err != nil {
		return nil, err
	}
	answer, err := agent.Interrupt[json.RawMessage](ctx, question{
		ActionRequests: []actionRequest{{Name: call.Name, Args: call.Args, Description: "May I run " + call.Name + "?"}},
		ReviewConfigs:  []reviewConfig{{ActionName: call.Name, AllowedDecisions: []string{"approve", "reject"}}},
	})
	if err != nil {
		return nil, err
	}
	content := "rejected"
	if approved(answer) {
		var to struct {
			To     string      `json:"to"`
			Amount json.Number `json:"amount"`
		}
		if err := json.Unmarshal(call.Args, &to); err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", call.Name, err)
		}
		content = fmt.Sprintf("sent %s to %s", to.Amount, to.To)
	}
	return agent.Set("messages", []message.Message{message.NewTool(call.ID, call.Name, content)}), nil
}

// proposedCall is the call of the newest message that has one. An update may have put others behind it.
func proposedCall(l message.List) (message.ToolCall, error) {
	for _, m := range l.Backward() {
		if len(m.ToolCalls) > 0 {
			return m.ToolCalls[0], nil
		}
	}
	return message.ToolCall{}, errors.New("no tool call to ask about")
}

// approved tells whether the first decision approves; any other answer doesn't.
func approved(answer json.RawMessage) bool {
	var a struct {
		Decisions []struct {
			Type string `json:"type"`
		} `json:"decisions"`
	}
	return json.Unmarshal(answer, &a) == nil && len(a.Decisions) > 0 && a.Decisions[0].Type == "approve"
}

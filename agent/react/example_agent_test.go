package react_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// Email is what the model fills in to send an e-mail.
type Email struct {
	To      string `json:"to" jsonschema:"format=email"`
	Subject string `json:"subject" jsonschema:"description=One line,maxLength=80"`
	Kind    string `json:"kind,omitempty" jsonschema:"enum=news,enum=invoice"`
}

// NewSecretary is an agent that sends e-mails once a person has approved them.
func NewSecretary(m model.Model) (agent.Agent, error) {
	return react.NewAgent(react.Config{
		Name:   "secretary",
		Model:  m,
		Prompt: "You write the e-mails of a small office.",
		Tools:  []tool.Tool{tool.Func("send_email", "Sends an e-mail.", sendEmail, tool.Timeout(30*time.Second))},
		Review: hitl.Config{Policy: hitl.Policy{"send_email": {Decisions: hitl.All()}}},
	})
}

// sendEmail is a plain function. It is called once per call of the tool: its result is
// stored before anything else happens.
func sendEmail(ctx tool.CallContext, e Email) (string, error) {
	ctx.Progress("Connecting …")
	if err := deliver(ctx, e, ctx.IdempotencyKey()); err != nil {
		return "", err // the model is told, and can try something else
	}
	return "Sent to " + e.To, nil
}

func Example() {
	m := scripted.Script{Choose: scripted.Sequence(
		scripted.CallTool("call-1", "send_email", `{"to":"ann@example.com","subject":"Hello"}`),
		scripted.Say("Done."),
	)}
	secretary, err := NewSecretary(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	thread := agenttest.New(secretary.(*agent.Graph))
	if _, err := thread.Run(ctx, map[string]any{"messages": "Say hello to Ann."}); err != nil {
		fmt.Println(err)
		return
	}
	var question struct {
		ActionRequests []hitl.Action `json:"actionRequests"`
	}
	if err := json.Unmarshal(thread.Pending()[0].Value, &question); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s?\n", question.ActionRequests[0].Name, question.ActionRequests[0].Args)
	if _, err := thread.Resume(ctx, map[string]any{"decisions": []any{map[string]any{"type": "approve"}}}); err != nil {
		fmt.Println(err)
		return
	}
	printConversation(thread)
	// Output:
	// send_email {"to":"ann@example.com","subject":"Hello"}?
	// human: "Say hello to Ann."
	// ai: ""
	// tool: "Sent to ann@example.com"
	// ai: "Done."
}

func printConversation(thread *agenttest.Thread) {
	state, err := thread.State(context.Background(), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range state.State.Messages()["messages"].All() {
		fmt.Printf("%s: %q\n", m.Type, m.Text())
	}
}

// deliver stands for the client of a mail server.
func deliver(context.Context, Email, string) error { return nil }

package reviews_test

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// effects counts what agents did to the world.
type effects struct {
	mu   sync.Mutex
	done map[string]int
}

func (e *effects) add(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[what]++
}

func (e *effects) count(what string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done[what]
}

// state is that of the agents without tools.
type state struct {
	Messages message.List `json:"messages"`
	Answer   any          `json:"answer"`
	Note     string       `json:"note"`
}

type claim struct {
	ID     string `json:"claim_id"`
	Amount int    `json:"amount"`
}

// agents are those of the tests.
func (w *world) agents() []agent.Agent {
	review := func(e *agent.Expiry) func(agent.Context, state) (agent.Update, error) {
		return func(ctx agent.Context, _ state) (agent.Update, error) {
			d, err := agent.Review(ctx, agent.ReviewRequest{
				Reason: "A refund above the limit", Context: claim{"CLM-4821", 240}, AllowedDecisions: []string{"Approve", "Reject"}, Expiry: e,
			})
			if err != nil {
				return nil, err
			}
			w.effects.add(d.Decision + " " + ctx.ThreadID())
			return agent.Values{"answer": d}, nil
		}
	}
	ask := func(question any, opts ...agent.InterruptOption) func(agent.Context, state) (agent.Update, error) {
		return func(ctx agent.Context, _ state) (agent.Update, error) {
			got, err := agent.Interrupt[any](ctx, question, opts...)
			if err != nil {
				return nil, err
			}
			w.effects.add("answered " + ctx.ThreadID())
			return agent.Values{"answer": got}, nil
		}
	}
	one := func(name string, node func(agent.Context, state) (agent.Update, error)) agent.Agent {
		return agent.NewGraph[state](name).Node("ask", node).Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile()
	}
	schema := agent.ResponseSchema([]byte(`{"type":"object","properties":{"days":{"type":"integer","minimum":1}},"required":["days"]}`))
	return []agent.Agent{
		one("refund", review(nil)),
		one("hurry", review(&agent.Expiry{After: time.Second, Message: "Nobody was there."})),
		one("patient", review(&agent.Expiry{After: time.Hour})),
		one("escalating", review(&agent.Expiry{After: time.Second, Action: agent.ExpireEscalate, Role: "reviewer:escalating"})),
		one("plain", ask("Shall I?")),
		one("checked", ask(map[string]string{"ask": "How many days?"}, schema)),
		one("booking", func(ctx agent.Context, _ state) (agent.Update, error) {
			a, err := form.Ask[struct {
				Seats float64 `json:"seats"`
				Name  string  `json:"name"`
			}](ctx, form.Card{FormType: "booking", Title: "Book seats", Fields: []form.Field{
				{Name: "seats", Label: "Seats", Type: form.Number, Default: 2}, {Name: "name", Label: "Name", Type: form.Text, Required: true, Default: "Ann"},
			}})
			if err != nil {
				return nil, err
			}
			return agent.Values{"answer": a}, nil
		}),
		w.clerk("clerk", hitl.Batch), w.clerk("each", hitl.PerCall),
	}
}

// clerk is a tool-calling agent whose payments and mails need a person's consent. It does what the
// message says: "pay Ann, mail Bob".
func (w *world) clerk(name string, mode hitl.Mode) agent.Agent {
	type args struct {
		To   string `json:"to"`
		Text string `json:"text,omitempty"`
	}
	do := func(verb string) tool.Tool {
		return tool.Func(verb, verb+" somebody", func(ctx tool.CallContext, a args) (string, error) {
			w.effects.add(verb + " " + a.To + " " + ctx.ThreadID())
			return verb + " done for " + a.To, nil
		})
	}
	g, err := react.New(react.Options[react.State]{
		Name: name, Tools: []tool.Tool{do("pay"), do("mail"), do("look")},
		Model: scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) {
			last, _ := c.Messages.Last()
			if last.Type == message.Tool {
				return scripted.Say("Done."), nil
			}
			var turn scripted.Turn
			for i, order := range strings.Split(last.Text(), ", ") {
				verb, to, _ := strings.Cut(order, " ")
				raw, err := json.Marshal(args{To: to})
				if err != nil {
					return turn, err
				}
				turn.ToolCalls = append(turn.ToolCalls, message.NewToolCall("call_"+string(rune('a'+i)), verb, raw))
			}
			return turn, nil
		}},
		Review: hitl.Config{Mode: mode, Policy: hitl.Policy{
			"pay": {Decisions: hitl.All()}, "mail": {Decisions: []hitl.Decision{hitl.Approve, hitl.Reject}},
		}},
	})
	require.NoError(w.t, err)
	return g
}

package executions_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// effects counts what agents did to the world, and holds them up.
type effects struct {
	mu    sync.Mutex
	done  map[string]int
	gates map[string]chan struct{}
}

func newEffects() *effects {
	return &effects{done: map[string]int{}, gates: map[string]chan struct{}{}}
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

// gate is closed by opened.
func (e *effects) gate(name string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := e.gates[name]
	if g == nil {
		g = make(chan struct{})
		e.gates[name] = g
	}
	return g
}

func (e *effects) opened(name string) { close(e.gate(name)) }

// pass waits for a gate, or for the end of the call.
func (e *effects) pass(ctx context.Context, name string) error {
	e.add("at " + name)
	select {
	case <-e.gate(name):
		return nil
	case <-ctx.Done():
		e.add("aborted " + name)
		return context.Cause(ctx)
	}
}

// state is that of the agents without tools.
type state struct {
	Messages message.List `json:"messages"`
	Answer   any          `json:"answer"`
	Seen     []string     `json:"seen" agent:"append"`
}

type claim struct {
	ID   string `json:"claim_id"`
	Task string `json:"task_description"`
}

type node = func(agent.Context, state) (agent.Update, error)

// agents are those of the tests.
func (w *world) agents() []agent.Agent {
	review := func(done string, e *agent.Expiry, allowed ...string) node {
		return func(ctx agent.Context, _ state) (agent.Update, error) {
			d, err := agent.Review(ctx, agent.ReviewRequest{
				Reason: "A refund above the limit", Context: claim{"CLM-4821", "Approve refund of $240 for order #98765"}, AllowedDecisions: allowed, Expiry: e,
			})
			if err != nil {
				return nil, err
			}
			w.effects.add(d.Decision + " " + ctx.ThreadID())
			return agent.Values{
				"answer":   map[string]any{"decision": d.Decision, "notes": d.Notes, "reviewer": d.Reviewer},
				"messages": []message.Message{message.NewAI(done + " " + d.Decision + ".")},
			}, nil
		}
	}
	ask := func(question any) node {
		return func(ctx agent.Context, _ state) (agent.Update, error) {
			got, err := agent.Interrupt[any](ctx, question)
			if err != nil {
				return nil, err
			}
			return agent.Values{"answer": got}, nil
		}
	}
	// seen has the answer noted where several nodes may write at once.
	seen := func(n node) node {
		return func(ctx agent.Context, s state) (agent.Update, error) {
			if _, err := n(ctx, s); err != nil {
				return nil, err
			}
			return agent.Values{"seen": []string{ctx.TaskID()}}, nil
		}
	}
	mail := func(ctx agent.Context, _ state) (agent.Update, error) {
		sent, err := agent.Step(ctx, "mail", func(agent.StepContext) (string, error) {
			w.effects.add("mail " + ctx.ThreadID())
			return "sent", nil
		})
		if err != nil {
			return nil, err
		}
		return agent.Values{"messages": []message.Message{message.NewAI("The mail is " + sent + ".")}}, nil
	}
	chain := func(name string, nodes ...node) agent.Agent {
		b, last := agent.NewGraph[state](name), agent.Start
		for i, n := range nodes {
			this := string(rune('a' + i))
			b = b.Node(this, n).Edge(last, this)
			last = this
		}
		return b.Edge(last, agent.End).MustCompile()
	}
	return []agent.Agent{
		chain("echo", func(_ agent.Context, s state) (agent.Update, error) {
			last, _ := s.Messages.Last()
			return agent.Values{"messages": []message.Message{message.NewAI("You said: " + last.Text())}}, nil
		}),
		chain("refund", mail, review("Refund", nil, "Approve", "Reject")),
		chain("twice", review("First", nil, "approve", "reject"), review("Second", nil, "approve", "reject")),
		agent.NewGraph[state]("both").Node("a", seen(ask("A?"))).Node("b", seen(ask("B?"))).
			Edge(agent.Start, "a").Edge(agent.Start, "b").Edge("a", agent.End).Edge("b", agent.End).MustCompile(),
		chain("free", review("Free", nil)),
		chain("hurry", review("Hurry", &agent.Expiry{After: time.Second, Message: "Nobody was there."}, "approve", "reject")),
		chain("patient", review("Patient", &agent.Expiry{After: time.Hour}, "approve", "reject")),
		chain("plain", ask("Shall I?")),
		chain("object", ask(map[string]any{"claim_id": "C1", "suspend_reason": "Too much", "allowed_decisions": []string{"Yes", "No"}})),
		chain("booking", func(ctx agent.Context, _ state) (agent.Update, error) {
			a, err := form.Ask[struct {
				Seats float64 `json:"seats"`
			}](ctx, form.Card{FormType: "booking", Title: "Book seats", Fields: []form.Field{
				{Name: "seats", Label: "Seats", Type: form.Number, Default: 2},
			}})
			if err != nil {
				return nil, err
			}
			return agent.Values{"answer": a}, nil
		}),
		chain("fail", func(agent.Context, state) (agent.Update, error) {
			return nil, &agent.NamedError{Name: "BankError", Message: "The bank is closed."}
		}),
		chain("header", func(ctx agent.Context, _ state) (agent.Update, error) {
			return agent.Values{"seen": []string{agent.Header(ctx, "Authorization")}}, nil
		}, review("Header", nil, "approve"), func(ctx agent.Context, _ state) (agent.Update, error) {
			return agent.Values{"seen": []string{agent.Header(ctx, "authorization")}}, nil
		}),
		chain("vault", func(ctx agent.Context, _ state) (agent.Update, error) {
			w.effects.add("before " + agent.Header(ctx, "CRM-Token"))
			return agent.Values{}, nil
		}, review("Vault", nil, "approve"), func(ctx agent.Context, _ state) (agent.Update, error) {
			w.effects.add("after " + agent.Header(ctx, "crm-token"))
			return agent.Values{}, nil
		}),
		chain("slow", func(ctx agent.Context, _ state) (agent.Update, error) {
			return agent.Values{}, w.effects.pass(ctx, "node "+ctx.ThreadID())
		}),
		w.clerk("clerk"), w.talker(),
	}
}

// clerk is a tool-calling agent whose payments and mails need a person's consent. It does what the message
// says: "pay Ann, mail Bob".
func (w *world) clerk(name string) agent.Agent {
	type args struct {
		To string `json:"to"`
	}
	do := func(verb string) tool.Tool {
		return tool.Func(verb, verb+" somebody", func(ctx tool.CallContext, a args) (string, error) {
			w.effects.add(verb + " " + a.To + " " + ctx.ThreadID())
			if verb == "wait" {
				if err := w.effects.pass(ctx, "tool "+a.To); err != nil {
					return "", err
				}
			}
			return verb + " done for " + a.To, nil
		})
	}
	g, err := react.New(react.Options[react.State]{
		Name: name, Tools: []tool.Tool{do("pay"), do("mail"), do("look"), do("wait"), do("wire")},
		Model: scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) {
			last, _ := c.Messages.Last()
			if last.Type == message.Tool {
				return scripted.Say("All done: " + last.Text()), nil
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
		Review: hitl.Config{Mode: hitl.Batch, Policy: hitl.Policy{
			"pay": {Decisions: hitl.All()}, "mail": {Decisions: []hitl.Decision{hitl.Respond}}, "wire": {Decisions: []hitl.Decision{hitl.Approve}},
		}},
	})
	require.NoError(w.t, err)
	return g
}

// talker is an agent of a model that says three words, and stops before the second and third until it may go on
// where the message is a gate's name.
func (w *world) talker() agent.Agent {
	g, err := react.New(react.Options[react.State]{Name: "talker", Model: talk{w.effects}})
	require.NoError(w.t, err)
	return g
}

type talk struct{ effects *effects }

func (talk) Info() model.Info { return model.Info{Name: "talk", Provider: "test"} }

var errBroken = errors.New("the model broke")

func (m talk) Stream(ctx context.Context, r model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		last, _ := r.Messages.Last()
		gate := last.Text()
		if strings.HasPrefix(gate, "mute ") {
			if err := m.effects.pass(ctx, gate); err != nil {
				yield(message.Chunk{}, err)
				return
			}
		}
		for i, word := range []string{"one ", "two ", "three"} {
			if i == 1 && strings.HasPrefix(gate, "gate ") {
				if err := m.effects.pass(ctx, gate); err != nil {
					yield(message.Chunk{}, err)
					return
				}
			}
			if i == 1 && gate == "break" {
				yield(message.Chunk{}, errBroken)
				return
			}
			c := message.Chunk{Text: word}
			if i == 2 {
				c.Usage = &message.Usage{InputTokens: 7, OutputTokens: 3, TotalTokens: 10}
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

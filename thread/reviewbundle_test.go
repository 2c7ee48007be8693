package thread_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/thread"
)

// desk is the state of graphs that ask and keep what they were told.
type desk struct {
	Messages message.List    `json:"messages"`
	Got      json.RawMessage `json:"got"`
	Header   string          `json:"header"`
}

// asking is a graph of one node that asks.
func asking(name string, ask func(ctx agent.Context) (any, error)) agent.Agent {
	return agent.NewGraph[desk](name).
		Node("ask", func(ctx agent.Context, _ desk) (agent.Update, error) {
			got, err := ask(ctx)
			if err != nil {
				return nil, err
			}
			return agent.Set("got", got).Set("header", agent.Header(ctx, "x-tenant")), nil
		}).
		Edge(agent.Start, "ask").Edge("ask", agent.End)
}

// claims asks by agent.Review.
func claims(r agent.ReviewRequest) agent.Agent {
	return asking("claims", func(ctx agent.Context) (any, error) { return agent.Review(ctx, r) })
}

var refund = agent.ReviewRequest{
	Reason: "Above the limit", Context: map[string]any{"claim_id": "CLM-4821"}, AllowedDecisions: []string{"Approve", "Reject"},
}

// plain asks by a plain interrupt.
func plain(value any, opts ...agent.InterruptOption) agent.Agent {
	return asking("plain", func(ctx agent.Context) (any, error) { return agent.Interrupt[json.RawMessage](ctx, value, opts...) })
}

// booking asks by a form.
func booking(e *agent.Expiry) agent.Agent {
	return asking("booking", func(ctx agent.Context) (any, error) {
		return form.Ask[map[string]any](ctx, form.Card{
			FormType: "room-booking", Title: "Book a room", Expiry: e,
			Fields: []form.Field{{Name: "room", Type: form.Text, Default: "blue"}, {Name: "late", Type: form.Checkbox}},
		})
	})
}

// office is a tool-calling agent under a policy. Its model makes the calls given by name, then ends.
func office(t *testing.T, w *world, policy hitl.Policy, mode hitl.Mode, calls ...string) agent.Agent {
	t.Helper()
	type args struct {
		To string `json:"to"`
	}
	make := func(name string) tool.Tool {
		return tool.Func(name, "Does "+name, func(ctx tool.CallContext, a args) (string, error) {
			w.effect(name + " " + a.To + " " + ctx.ThreadID())
			return name + " done", nil
		})
	}
	g, err := react.New(react.Options[react.State]{
		Name: "office", Tools: []tool.Tool{make("pay"), make("mail")},
		Model: scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) {
			if last, ok := c.Messages.Last(); ok && last.Type == message.Tool {
				return scripted.Say("Done."), nil
			}
			turn := scripted.Turn{}
			for _, name := range calls {
				turn.ToolCalls = append(turn.ToolCalls, message.NewToolCall("call-"+name, name, json.RawMessage(`{"to":"Ann"}`)))
			}
			return turn, nil
		}},
		Review: hitl.Config{Policy: policy, Mode: mode},
	})
	require.NoError(t, err)
	return g
}

// reviewers sets up a service with agents.
func reviewers(t *testing.T, agents []agent.Agent, opts ...setupOption) *bundle {
	t.Helper()
	return setup(t, append(opts, with(func(o *thread.Options) { o.Agents = append(o.Agents, agents...) }))...)
}

// as is a context of somebody.
func as(principal string) context.Context {
	return thread.WithActor(context.Background(), thread.Actor{Principal: principal, Kind: "key", Address: "192.0.2.7", RequestID: "req-1", Via: "reviews"})
}

// ask starts a run as a requester and returns its only open review.
func (b *bundle) ask(graph, requester string) thread.Review {
	b.t.Helper()
	id := b.thread()
	r := input(id, graph, `{"messages":"please pay Ann"}`)
	r.Principal = requester
	b.run(r)
	return b.open(id)
}

// open is the only open review of a thread.
func (b *bundle) open(threadID string) thread.Review {
	b.t.Helper()
	var open []thread.Review
	for _, r := range b.reviews(threadID) {
		if r.Status.Open() {
			open = append(open, r)
		}
	}
	require.Len(b.t, open, 1)
	return open[0]
}

func (b *bundle) reviews(threadID string) []thread.Review {
	b.t.Helper()
	list, err := b.svc.ThreadReviews(context.Background(), threadID)
	require.NoError(b.t, err)
	return list
}

func (b *bundle) review(id string) thread.Review {
	b.t.Helper()
	r, err := b.svc.Review(context.Background(), id)
	require.NoError(b.t, err)
	return r
}

// decide is a flat decision that is accepted, and the end of its run.
func (b *bundle) decide(ctx context.Context, id, decision, notes string) (thread.Run, thread.Review) {
	b.t.Helper()
	started, r, err := b.svc.DecideReview(ctx, thread.ReviewDecision{ReviewID: id, Decision: decision, Notes: notes})
	require.NoError(b.t, err)
	return b.wait(started.Run), r
}

// got is what the asking node got.
func (b *bundle) got(threadID string) string {
	b.t.Helper()
	v, ok := b.state(threadID).State.Value("got")
	require.True(b.t, ok)
	return string(v.JSON)
}

// audit are the entries of a thread, verified.
func (b *bundle) audit(threadID string) []thread.AuditBody {
	b.t.Helper()
	entries, err := b.svc.ReviewStore().ThreadAudit(context.Background(), threadID)
	require.NoError(b.t, err)
	bodies := make([]thread.AuditBody, len(entries))
	for i, e := range entries {
		require.NoError(b.t, json.Unmarshal(e.Body, &bodies[i]))
	}
	return bodies
}

func actions(bodies []thread.AuditBody) []string {
	names := make([]string, len(bodies))
	for i, b := range bodies {
		names[i] = b.Action
	}
	return names
}

// eventually waits until ok holds; what is waited for has no signal.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

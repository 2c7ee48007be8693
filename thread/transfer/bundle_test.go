package transfer_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
	"github.com/parley-dev/parley/thread/transfer"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// within is how long anything may take on a machine that has other things to do.
const within = time.Minute

// place is where a store is kept.
type place struct {
	name string
	// open opens the store; unfinished, also while it is being loaded.
	open func(t *testing.T, unfinished bool) (thread.Store, error)
}

// opened opens a place for as long as the test.
func (p place) opened(t *testing.T) thread.Store {
	t.Helper()
	s, err := p.open(t, false)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func localPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	return place{name: "local", open: func(t *testing.T, unfinished bool) (thread.Store, error) {
		return local.Open(t.Context(), local.Options{Dir: dir, Logger: quiet, Unfinished: unfinished})
	}}
}

func redisPlace(t *testing.T, url string) place {
	t.Helper()
	prefix := "test:" + uuid.NewString()[:8] + ":"
	return place{name: "redis", open: func(t *testing.T, unfinished bool) (thread.Store, error) {
		return redis.Open(t.Context(), redis.Options{URL: url, Prefix: prefix, Logger: quiet, Unfinished: unfinished})
	}}
}

// source and target are a store as transfers see it.
func source(s thread.Store) transfer.Source { return s.(transfer.Source) }

func target(s thread.Store) transfer.Target {
	switch s := s.(type) {
	case *local.Store:
		return local.NewTarget(s)
	case *redis.Store:
		return redis.NewTarget(s)
	}
	panic("no target")
}

// tally is what a store has.
func tally(t *testing.T, from transfer.Source) *transfer.Tally {
	t.Helper()
	all := &transfer.Tally{}
	require.NoError(t, from.Dump(t.Context(), all.Add))
	return all
}

// move copies from one place to another that nobody has opened, and closes it again.
func move(t *testing.T, from transfer.Source, to place) {
	t.Helper()
	s, err := to.open(t, true)
	require.NoError(t, err)
	_, err = transfer.Copy(t.Context(), from, target(s))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// state is what the tests' graphs keep.
type state struct {
	Messages message.List `json:"messages"`
	Note     string       `json:"note"`
	Answer   any          `json:"answer"`
	Log      []string     `json:"log"`
	Big      string       `json:"big"`
}

// agents are the tests' agents.
type agents struct {
	steps atomic.Int64  // calls of journaled steps
	hold  chan struct{} // slow waits for it
}

func (a *agents) list() []agent.Agent {
	say := func(ctx agent.Context, s state) (agent.Update, error) {
		n, err := agent.Step(ctx, "count", func(agent.StepContext) (int64, error) { return a.steps.Add(1), nil })
		if err != nil {
			return nil, err
		}
		return agent.Values{"messages": []message.Message{message.NewAI("<said> " + strings.Repeat("x", int(n%3)))}, "big": strings.Repeat("blob ", 2000)}, nil
	}
	ask := func(ctx agent.Context, _ state) (agent.Update, error) {
		if _, err := agent.Step(ctx, "before", func(agent.StepContext) (int64, error) { return a.steps.Add(1), nil }); err != nil {
			return nil, err
		}
		got, err := agent.Interrupt[any](ctx, map[string]string{"ask": "<ok>?"})
		if err != nil {
			return nil, err
		}
		return agent.Values{"answer": got}, nil
	}
	note := func(text string) func(agent.Context, state) (agent.Update, error) {
		return func(agent.Context, state) (agent.Update, error) { return agent.Values{"note": text}, nil }
	}
	wait := func(ctx agent.Context, _ state) (agent.Update, error) {
		select {
		case <-a.hold:
			return agent.Values{"note": "waited"}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	fail := func(agent.Context, state) (agent.Update, error) {
		return nil, &agent.NamedError{Name: "Broken", Message: "<broken>"}
	}
	line := func(name string, nodes ...func(agent.Context, state) (agent.Update, error)) agent.Agent {
		g, last := agent.NewGraph[state](name), agent.Start
		for i, n := range nodes {
			node := string(rune('a' + i))
			g = g.Node(node, n).Edge(last, node)
			last = node
		}
		return g.Edge(last, agent.End).MustCompile()
	}
	return []agent.Agent{
		line("say", say), line("ask", ask, note("done")), line("slow", note("first"), wait, note("last")), line("fail", fail),
	}
}

// world is a service on a store.
type world struct {
	t      *testing.T
	svc    *thread.Service
	store  thread.Store
	agents *agents
}

// serve starts a service on a store.
func (a *agents) serve(t *testing.T, s thread.Store) *world {
	t.Helper()
	w := a.look(t, s)
	require.NoError(t, w.svc.Start(t.Context()))
	return w
}

// look is a service that only reads.
func (a *agents) look(t *testing.T, s thread.Store) *world {
	t.Helper()
	svc, err := thread.NewService(thread.Options{
		Store: s, Agents: a.list(), Logger: quiet, SweepEvery: time.Hour,
		WebhookAllow: func(string) error { return nil },
	})
	require.NoError(t, err)
	return &world{t: t, svc: svc, store: s, agents: a}
}

// stop stops the service at once: what runs is given back.
func (w *world) stop() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.NoError(w.t, w.svc.Stop(ctx))
}

func (w *world) thread() string {
	w.t.Helper()
	th, err := w.svc.CreateThread(w.t.Context(), thread.CreateThread{Metadata: thread.Metadata{"owner": json.RawMessage(`"<ann>"`)}})
	require.NoError(w.t, err)
	return th.ID
}

func (w *world) start(id, graph string, change ...func(*thread.StartRun)) thread.Run {
	w.t.Helper()
	r := thread.StartRun{ThreadID: id, AssistantID: graph, Input: json.RawMessage(`{"messages":[{"role":"user","content":"<hi>"}]}`), HasInput: true}
	for _, f := range change {
		f(&r)
	}
	started, err := w.svc.StartRun(w.t.Context(), r)
	require.NoError(w.t, err)
	return started.Run
}

func (w *world) ends(run thread.Run) thread.Run {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	run, err := w.svc.WaitRun(ctx, run.ThreadID, run.ID)
	require.NoError(w.t, err)
	return run
}

// resume answers a question by its id.
func (w *world) resume(id, interrupt, answer string) thread.Run {
	w.t.Helper()
	return w.start(id, "ask", func(r *thread.StartRun) {
		r.Input, r.HasInput, r.Command = nil, false, json.RawMessage(`{"resume":{"`+interrupt+`":`+answer+`}}`)
	})
}

func (w *world) question(id string) string {
	w.t.Helper()
	open, err := w.store.PendingInterrupts(w.t.Context(), id)
	require.NoError(w.t, err)
	require.Len(w.t, open, 1)
	return open[0].ID
}

func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	require.Eventually(w.t, holds, within, 5*time.Millisecond, what)
}

func (w *world) json(v any) string {
	w.t.Helper()
	b, err := json.Marshal(v)
	require.NoError(w.t, err)
	return string(b)
}

func sharedRedis(t *testing.T) string { return redistest.Start(t).URL() }

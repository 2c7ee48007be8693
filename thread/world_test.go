package thread_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// world is what the test graphs act upon: effects are counted, gates hold nodes
// until the test lets them go.
type world struct {
	mu      sync.Mutex
	effects map[string]int
	gates   map[string]chan struct{}
	entered map[string]int
	changed chan struct{}
}

func newWorld() *world {
	return &world{effects: map[string]int{}, gates: map[string]chan struct{}{}, entered: map[string]int{}, changed: make(chan struct{})}
}

// effect happens; the ledger remembers how often.
func (w *world) effect(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[name]++
}

func (w *world) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effects[name]
}

func (w *world) gate(name string) chan struct{} {
	g := w.gates[name]
	if g == nil {
		g = make(chan struct{})
		w.gates[name] = g
	}
	return g
}

// pass waits at a gate until the test opens it or ctx ends.
func (w *world) pass(ctx context.Context, name string) error {
	w.mu.Lock()
	g := w.gate(name)
	w.entered[name]++
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	select {
	case <-g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open lets everybody through a gate, now and later.
func (w *world) open(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.gate(name)
	select {
	case <-g:
	default:
		close(g)
	}
}

func (w *world) releaseAll() {
	w.mu.Lock()
	names := make([]string, 0, len(w.gates))
	for name := range w.gates {
		names = append(names, name)
	}
	w.mu.Unlock()
	for _, name := range names {
		w.open(name)
	}
}

// arrived returns a channel that is closed once n nodes have come to a gate.
func (w *world) arrived(name string, n int) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			w.mu.Lock()
			enough, changed := w.entered[name] >= n, w.changed
			w.mu.Unlock()
			if enough {
				return
			}
			<-changed
		}
	}()
	return done
}

// board is the state of most test graphs.
type board struct {
	Log      []string     `json:"log" agent:"append"`
	Answer   string       `json:"answer"`
	Note     string       `json:"note"`
	Messages message.List `json:"messages"`
}

// graphs are the agents of the tests.
func (w *world) graphs() []agent.Agent {
	return []agent.Agent{w.echo(), w.approve(), w.pair(), w.gated(), w.chain(), w.twice(), w.failing(), w.configured(), w.straight(), w.nested(), w.panel()}
}

// echo says what came in.
func (w *world) echo() agent.Agent {
	return agent.NewGraph[board]("echo").
		Node("say", func(ctx agent.Context, s board) (agent.Update, error) {
			w.effect("echo")
			return agent.Set("log", []string{fmt.Sprint("said:", len(s.Messages.AppendJSON(nil)) > 2, ":", s.Note)}), nil
		}).
		Edge(agent.Start, "say").Edge("say", agent.End)
}

// approve asks and then pays: the payment is a durable step.
func (w *world) approve() agent.Agent {
	return agent.NewGraph[board]("approve").
		Node("prepare", func(ctx agent.Context, s board) (agent.Update, error) {
			_, err := agent.Step(ctx, "reserve", func(agent.StepContext) (string, error) {
				w.effect("reserve:" + ctx.ThreadID())
				return "ok", nil
			})
			return agent.Set("log", []string{"prepared"}), err
		}).
		Node("review", func(ctx agent.Context, s board) (agent.Update, error) {
			if _, err := agent.Step(ctx, "look", func(agent.StepContext) (string, error) {
				w.effect("look:" + ctx.ThreadID())
				return "seen", nil
			}); err != nil {
				return nil, err
			}
			answer, err := agent.Interrupt[string](ctx, map[string]string{"q": "pay?"})
			if err != nil {
				return nil, err
			}
			if err := w.passIfClosed(ctx, "pay:"+ctx.ThreadID()); err != nil {
				return nil, err
			}
			_, err = agent.Step(ctx, "pay", func(agent.StepContext) (string, error) {
				w.effect("pay:" + ctx.ThreadID())
				return "paid", nil
			})
			return agent.Set("answer", answer).Set("log", []string{"paid:" + answer}), err
		}).
		Node("other", func(agent.Context, board) (agent.Update, error) {
			return agent.Set("log", []string{"other"}), nil
		}).
		Edge(agent.Start, "prepare").Edge("review", agent.End).
		// other is only ever reached by a goto.
		Branch("prepare", func(board) string { return "review" }, "review", "other").Edge("other", agent.End)
}

// passIfClosed waits at a gate only if the test has made one.
func (w *world) passIfClosed(ctx context.Context, name string) error {
	w.mu.Lock()
	_, closed := w.gates[name]
	w.mu.Unlock()
	if !closed {
		return nil
	}
	return w.pass(ctx, name)
}

// shut makes a gate before anybody comes to it.
func (w *world) shut(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate(name)
}

// pair runs two nodes side by side: one asks at once, the other works at a gate.
func (w *world) pair() agent.Agent {
	return agent.NewGraph[board]("pair").
		Node("ask", func(ctx agent.Context, s board) (agent.Update, error) {
			answer, err := agent.Interrupt[string](ctx, "ok?")
			if err != nil {
				return nil, err
			}
			w.effect("answered:" + ctx.ThreadID())
			return agent.Set("log", []string{"ask:" + answer}), nil
		}).
		Node("work", func(ctx agent.Context, s board) (agent.Update, error) {
			w.effect("work:" + ctx.ThreadID())
			if err := w.pass(ctx, "work:"+ctx.ThreadID()); err != nil {
				return nil, err
			}
			return agent.Set("log", []string{"work"}), nil
		}).
		Edge(agent.Start, "ask").Edge(agent.Start, "work").Edge("ask", agent.End).Edge("work", agent.End)
}

// gated does a first step, waits at a gate, and finishes.
func (w *world) gated() agent.Agent {
	return agent.NewGraph[board]("gated").
		Node("first", func(ctx agent.Context, s board) (agent.Update, error) {
			w.effect("first:" + ctx.ThreadID())
			return agent.Set("log", []string{"first:" + s.Note}), nil
		}).
		Node("second", func(ctx agent.Context, s board) (agent.Update, error) {
			if _, err := agent.Step(ctx, "once", func(agent.StepContext) (int, error) {
				w.effect("once:" + ctx.RunID())
				return 1, nil
			}); err != nil {
				return nil, err
			}
			ctx.Write(map[string]string{"at": "gate"})
			if err := w.pass(ctx, "gate:"+ctx.ThreadID()); err != nil {
				return nil, err
			}
			return agent.Set("log", []string{"second:" + s.Note}), nil
		}).
		Node("third", func(ctx agent.Context, s board) (agent.Update, error) {
			w.effect("third:" + ctx.ThreadID())
			return agent.Set("log", []string{"third:" + s.Note}), nil
		}).
		Edge(agent.Start, "first").Edge("first", "second").Edge("second", "third").Edge("third", agent.End)
}

// chain is three nodes with a step each and a question in the middle.
func (w *world) chain() agent.Agent {
	step := func(name string) func(agent.Context, board) (agent.Update, error) {
		return func(ctx agent.Context, s board) (agent.Update, error) {
			_, err := agent.Step(ctx, name, func(agent.StepContext) (string, error) {
				w.effect(name + ":" + ctx.ThreadID())
				return name, nil
			})
			return agent.Set("log", []string{name}), err
		}
	}
	return agent.NewGraph[board]("chain").
		Node("a", step("a")).
		Node("ask", func(ctx agent.Context, s board) (agent.Update, error) {
			answer, err := agent.Interrupt[string](ctx, "go on?")
			return agent.Set("log", []string{"ask:" + answer}), err
		}).
		Node("b", step("b")).
		Edge(agent.Start, "a").Edge("a", "ask").Edge("ask", "b").Edge("b", agent.End)
}

// twice asks two questions in one node.
func (w *world) twice() agent.Agent {
	return agent.NewGraph[board]("twice").
		Node("ask", func(ctx agent.Context, s board) (agent.Update, error) {
			one, err := agent.Interrupt[string](ctx, "one?")
			if err != nil {
				return nil, err
			}
			two, err := agent.Interrupt[string](ctx, "two?")
			return agent.Set("log", []string{one + two}), err
		}).
		Edge(agent.Start, "ask").Edge("ask", agent.End)
}

// straight is two nodes that leave their names.
func (w *world) straight() agent.Agent {
	say := func(name string) func(agent.Context, board) (agent.Update, error) {
		return func(agent.Context, board) (agent.Update, error) { return agent.Set("log", []string{name}), nil }
	}
	return agent.NewGraph[board]("straight").
		Node("one", say("one")).Node("two", say("two")).
		Edge(agent.Start, "one").Edge("one", "two").Edge("two", agent.End)
}

// panel asks three people at once; b wants an object with a boolean ok.
func (w *world) panel() agent.Agent {
	ask := func(name string, opts ...agent.InterruptOption) func(agent.Context, board) (agent.Update, error) {
		return func(ctx agent.Context, s board) (agent.Update, error) {
			answer, err := agent.Interrupt[any](ctx, name, opts...)
			if err != nil {
				return nil, err
			}
			w.effect(name + ":" + ctx.ThreadID())
			return agent.Set("log", []string{fmt.Sprint(name, "=", answer)}), nil
		}
	}
	schema := agent.ResponseSchema([]byte(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`))
	return agent.NewGraph[board]("panel").
		Node("a", ask("a")).Node("b", ask("b", schema)).Node("c", ask("c")).
		Edge(agent.Start, "a").Edge(agent.Start, "b").Edge(agent.Start, "c").
		Edge("a", agent.End).Edge("b", agent.End).Edge("c", agent.End)
}

// nested asks in a graph within the graph.
func (w *world) nested() agent.Agent {
	inner := agent.NewGraph[board]("inner").
		Node("before", func(agent.Context, board) (agent.Update, error) { return agent.Values{}, nil }).
		Node("ask", func(ctx agent.Context, s board) (agent.Update, error) {
			answer, err := agent.Interrupt[string](ctx, "inner?")
			return agent.Set("answer", answer), err
		}).
		Edge(agent.Start, "before").Edge("before", "ask").Edge("ask", agent.End).MustCompile()
	return agent.NewGraph[board]("nested").
		Subgraph("inner", inner).
		Edge(agent.Start, "inner").Edge("inner", agent.End)
}

var errBoo = &agent.NamedError{Name: "CustomError", Message: "Boo!"}

// failing fails unless note is "well".
func (w *world) failing() agent.Agent {
	return agent.NewGraph[board]("failing").
		Node("boom", func(ctx agent.Context, s board) (agent.Update, error) {
			if s.Note == "well" {
				return agent.Set("log", []string{"well"}), nil
			}
			return nil, errBoo
		}).
		Edge(agent.Start, "boom").Edge("boom", agent.End)
}

// configured names its only node after the configuration.
func (w *world) configured() agent.Agent {
	return agent.Factory{ID: "configured", Build: func(ctx context.Context, cfg agent.Config) (*agent.Graph, error) {
		name := cfg.String("node_name")
		if name == "" {
			name = "plain"
		}
		if name == "broken" {
			return nil, errors.New("can't be built")
		}
		return agent.NewGraph[board]("configured").
			Node(name, func(ctx agent.Context, s board) (agent.Update, error) {
				return agent.Set("log", []string{name + ":" + string(ctx.Config().Context)}), nil
			}).
			Edge(agent.Start, name).Edge(name, agent.End).Compile()
	}}
}

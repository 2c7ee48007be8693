package chaostest

import (
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// job is the state of the suite's graph. Log says, word by word, what the thread has
// been through: "begin:TAG:NONCE", "talk:TAG:NONCE", "ask:TAG:i:ANSWER:NONCE:NONCE",
// "once:TAG:NONCE", "extra:TAG", "end:TAG". Nonces are those of the witness.
type job struct {
	Messages message.List `json:"messages"`
	Log      []string     `json:"log" agent:"append"`
	Notes    []string     `json:"notes" agent:"append"` // of answers
	order
}

// order is what a run is asked for.
type order struct {
	Tag    string `json:"tag"`
	Tokens int    `json:"tokens"` // to be streamed
	Asks   int    `json:"asks"`   // questions at once
	Pause  int    `json:"pause"`  // ms that each node takes
}

// question is the input of one of several tasks that ask at once.
type question struct {
	Tag   string `json:"tag"`
	Index int    `json:"index"`
	Pause int    `json:"pause"`
}

// did is the result of a step.
type did struct {
	Key   string `json:"key"`
	Nonce string `json:"nonce"`
}

func agents(w *witness) []agent.Agent {
	step := func(ctx agent.Context, name string, opts ...agent.StepOption) (string, error) {
		did, err := agent.Step(ctx, name, func(sc agent.StepContext) (did, error) {
			nonce, err := w.did(sc.IdempotencyKey(), ctx.ThreadID(), name)
			return did{sc.IdempotencyKey(), nonce}, err
		}, opts...)
		if err == nil && did.Key != "" { // else a person said what came of it
			err = w.got(did.Key, did.Nonce, ctx.ThreadID(), name)
		}
		return did.Nonce, err
	}
	wait := func(ctx agent.Context, ms int) error { return ctx.Sleep(time.Duration(ms) * time.Millisecond) }
	says := func(format string, args ...any) agent.Values {
		return agent.Values{"log": []string{fmt.Sprintf(format, args...)}}
	}
	b := agent.NewGraph[job]("job").
		Node("begin", func(ctx agent.Context, s job) (agent.Update, error) {
			nonce, err := step(ctx, "begin")
			if err != nil {
				return nil, err
			}
			ctx.Write(map[string]string{"began": s.Tag})
			if err := wait(ctx, s.Pause); err != nil {
				return nil, err
			}
			return says("begin:%s:%s", s.Tag, nonce), nil
		}).
		Node("talk", func(ctx agent.Context, s job) (agent.Update, error) {
			nonce, err := step(ctx, "talk")
			if err != nil {
				return nil, err
			}
			out := agent.StreamMessage(ctx, agent.MessageOptions{})
			for i := range s.Tokens {
				out.Chunk(message.Chunk{Text: fmt.Sprintf("%d ", i)})
				if err := wait(ctx, s.Pause/8); err != nil {
					return nil, err
				}
			}
			update := says("talk:%s:%s", s.Tag, nonce)
			update["messages"] = []message.Message{out.Finish()}
			return update, nil
		}).
		Node("gather", func(_ agent.Context, s job) (agent.Update, error) { return nil, nil }).
		Node("once", func(ctx agent.Context, s job) (agent.Update, error) {
			nonce, err := step(ctx, "once", agent.AtMostOnce())
			if err != nil {
				return nil, err
			}
			return says("once:%s:%s", s.Tag, nonce), nil
		}).
		Node("extra", func(_ agent.Context, s job) (agent.Update, error) { return says("extra:%s", s.Tag), nil }).
		Node("end", func(_ agent.Context, s job) (agent.Update, error) { return says("end:%s", s.Tag), nil })
	agent.NodeOf(b, "ask", func(ctx agent.Context, q question) (agent.Update, error) {
		before, err := step(ctx, "before")
		if err != nil {
			return nil, err
		}
		answer, err := agent.Interrupt[string](ctx, map[string]any{"tag": q.Tag, "index": q.Index})
		if err != nil {
			return nil, err
		}
		after, err := step(ctx, "after")
		if err != nil {
			return nil, err
		}
		if err := wait(ctx, q.Pause); err != nil {
			return nil, err
		}
		return says("ask:%s:%d:%s:%s:%s", q.Tag, q.Index, answer, before, after), nil
	})
	b.Edge(agent.Start, "begin").Edge("begin", "talk").
		BranchTo("talk", func(_ agent.Context, s job) ([]agent.Target, error) {
			if s.Asks == 0 {
				return []agent.Target{{Node: "gather"}}, nil
			}
			var tasks []agent.Target
			for i := range s.Asks {
				tasks = append(tasks, agent.Send("ask", question{s.Tag, i, s.Pause}))
			}
			return tasks, nil
		}, "ask", "gather", "extra"). // clients lead to extra
		Edge("ask", "gather").Edge("gather", "once").Edge("once", "end").Edge("end", agent.End).Edge("extra", agent.End)
	return []agent.Agent{b.MustCompile()}
}

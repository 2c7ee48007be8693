package conformance

import (
	"encoding/json"
	"maps"

	"github.com/parley-dev/parley/agent"
)

type multiInterruptState struct {
	Prompts   []string                   `json:"prompts" agent:"default=[]"`
	Decisions map[string]json.RawMessage `json:"decisions"`
	Completed bool                       `json:"completed" agent:"default=false"`
}

// multiInterruptGraph asks several questions at once, each in a task of its own
// (spec/conformance-frontends.md 4.5).
func multiInterruptGraph() agent.Agent {
	b := agent.NewGraph[multiInterruptState]("multi_interrupt_graph", agent.Reducer("decisions", newRecord, mergeRecords))
	type question struct {
		Prompt string `json:"prompt"`
	}
	agent.NodeOf(b, "review", func(ctx agent.Context, q question) (agent.Update, error) {
		answer, err := agent.Interrupt[json.RawMessage](ctx, struct {
			Prompt string `json:"prompt"`
			Action string `json:"action"`
		}{"Approve action " + q.Prompt + "?", q.Prompt})
		if err != nil {
			return nil, err
		}
		return agent.Set("decisions", map[string]any{q.Prompt: answer}), nil
	})
	return b.
		Node("aggregate", func(_ agent.Context, s multiInterruptState) (agent.Update, error) {
			completed := true
			for _, p := range s.Prompts {
				_, decided := s.Decisions[p]
				completed = completed && decided
			}
			return agent.Set("completed", completed), nil
		}).
		BranchTo(agent.Start, func(_ agent.Context, s multiInterruptState) ([]agent.Target, error) {
			var tasks []agent.Target
			for _, p := range s.Prompts {
				tasks = append(tasks, agent.Send("review", question{p}))
			}
			return tasks, nil
		}, "review").
		Edge("review", "aggregate").
		Edge("aggregate", agent.End).
		MustCompile()
}

type record = map[string]json.RawMessage

func newRecord() record { return record{} }

// mergeRecords is the reducer of an object: new keys are added, known ones replaced.
func mergeRecords(old, update record) (record, error) {
	merged := maps.Clone(old)
	if merged == nil {
		merged = record{}
	}
	maps.Copy(merged, update)
	return merged, nil
}

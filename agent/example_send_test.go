package agent_test

import (
	"github.com/parley-dev/parley/agent"
)

// Survey asks several questions at once.
type Survey struct {
	Questions []string `json:"questions"`
	Answers   []string `json:"answers" agent:"append"`
}

// Question is what one task of the survey gets instead of the whole state.
type Question struct {
	Text string `json:"text"`
}

// NewSurvey runs one task per question, in parallel, and continues when all are done.
func NewSurvey() *agent.Graph {
	b := agent.NewGraph[Survey]("survey")
	agent.NodeOf(b, "ask", func(_ agent.Context, q Question) (agent.Update, error) {
		return agent.Set("answers", []string{"the answer to " + q.Text}), nil
	})
	return b.
		BranchTo(agent.Start, func(_ agent.Context, s Survey) ([]agent.Target, error) {
			var tasks []agent.Target
			for _, text := range s.Questions {
				tasks = append(tasks, agent.Send("ask", Question{Text: text}))
			}
			return tasks, nil
		}, "ask").
		Edge("ask", agent.End).
		MustCompile()
}

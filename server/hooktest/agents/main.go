// Command agents serves the agents that the browser tests need beside the
// conformance sets. It takes the flags of parley serve.
package main

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

func main() { server.Main(server.Options{Agents: []agent.Agent{questions()}}) }

// questionsState is what the agent was asked to do, and what came of it.
type questionsState struct {
	// Count is the number of questions.
	Count int `json:"count"`
	// DelayMillis is how long the agent thinks before each.
	DelayMillis int `json:"delay_ms"`
	// Tokens were made one before each question, in a step.
	Tokens  []string          `json:"tokens"`
	Answers []json.RawMessage `json:"answers"`
}

type question struct {
	Number int `json:"number"`
	// Tokens are those made so far: a step that ran twice would change them.
	Tokens []string `json:"tokens"`
}

// questions asks one question after the other in a single node of a single run.
func questions() agent.Agent {
	return agent.NewGraph[questionsState]("questions").
		Node("ask", ask).
		Edge(agent.Start, "ask").
		Edge("ask", agent.End).
		MustCompile()
}

func ask(ctx agent.Context, s questionsState) (agent.Update, error) {
	var tokens []string
	var answers []json.RawMessage
	for number := 1; number <= s.Count; number++ {
		token, err := agent.Step(ctx, "think", func(step agent.StepContext) (string, error) {
			select {
			case <-time.After(time.Duration(s.DelayMillis) * time.Millisecond):
				return time.Now().Format(time.RFC3339Nano), nil
			case <-step.Done():
				return "", step.Err()
			}
		})
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
		answer, err := agent.Interrupt[json.RawMessage](ctx, question{number, tokens})
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return agent.Values{"tokens": tokens, "answers": answers}, nil
}

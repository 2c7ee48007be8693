package agent_test

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

// Post is a text that a person has to release.
type Post struct {
	Text     string `json:"text"`
	Released bool   `json:"released"`
	URL      string `json:"url"`
}

// Release is the person's answer.
type Release struct {
	Approved bool   `json:"approved"`
	Text     string `json:"text,omitempty"` // replaces the draft
}

// releaseSchema refuses other answers before anything is stored.
var releaseSchema = json.RawMessage(`{
	"type": "object",
	"required": ["approved"],
	"properties": {"approved": {"type": "boolean"}, "text": {"type": "string"}}
}`)

func review(ctx agent.Context, s Post) (agent.Update, error) {
	answer, err := agent.Interrupt[Release](ctx,
		map[string]string{"question": "May I publish this?", "text": s.Text},
		agent.ResponseSchema(releaseSchema))
	if err != nil {
		return nil, err // suspended: nothing waits, the node starts again with the answer
	}
	update := agent.Set("released", answer.Approved)
	if answer.Text != "" {
		update.Set("text", answer.Text)
	}
	return update, nil
}

func publish(ctx agent.Context, s Post) (agent.Update, error) {
	url, err := agent.Step(ctx, "publish", func(step agent.StepContext) (string, error) {
		return website.Publish(step, s.Text, step.IdempotencyKey())
	})
	if err != nil {
		return nil, err
	}
	return agent.Set("url", url), nil
}

// NewPost publishes what a person has released.
func NewPost() *agent.Graph {
	return agent.NewGraph[Post]("post").
		Node("review", review).
		Node("publish", publish).
		Edge(agent.Start, "review").
		Branch("review", func(s Post) string {
			if s.Released {
				return "publish"
			}
			return agent.End
		}, "publish", agent.End).
		Edge("publish", agent.End).
		MustCompile()
}

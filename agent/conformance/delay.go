package conformance

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type delayState struct {
	Messages message.List `json:"messages"`
	Delay    json.Number  `json:"delay" jsonschema:"type=number"`
}

// Delay sleeps for as many milliseconds as its input says (spec/conformance-agents.md 3.7).
func Delay() agent.Agent {
	return agent.NewGraph[delayState]("delay").
		Node("long_running", func(ctx agent.Context, s delayState) (agent.Update, error) {
			ms, err := s.Delay.Float64()
			if err != nil {
				return nil, err
			}
			if err := ctx.Sleep(time.Duration(ms * float64(time.Millisecond))); err != nil {
				return nil, err
			}
			// A string in messages becomes a human message.
			return agent.Set("messages", []string{"finished after " + s.Delay.String() + "ms"}), nil
		}).
		Edge(agent.Start, "long_running").
		Edge("long_running", agent.End).
		MustCompile()
}

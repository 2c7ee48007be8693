package conformance

import (
	"context"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

type dynamicState struct {
	Node     string   `json:"node"`
	Messages []string `json:"messages"`
}

// oneOrMany is a string or a list of strings.
type oneOrMany []string

// UnmarshalJSON reads either form.
func (o *oneOrMany) UnmarshalJSON(raw []byte) error {
	var one string
	if err := json.Unmarshal(raw, &one); err == nil {
		*o = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(o))
}

// Dynamic names its node after the configuration (spec/conformance-agents.md 3.8).
func Dynamic() agent.Agent {
	return agent.Factory{ID: "dynamic", Build: func(_ context.Context, cfg agent.Config) (*agent.Graph, error) {
		name := cfg.String("nodeName")
		if name == "" {
			name = "default"
		}
		return agent.NewGraph[dynamicState]("dynamic", appendStrings()).
			Node(name, func(agent.Context, dynamicState) (agent.Update, error) {
				return agent.Values{"node": name, "messages": []string{name}}, nil
			}).
			Edge(agent.Start, name).
			Edge(name, agent.End).
			Compile()
	}}
}

func appendStrings() agent.GraphOption {
	return agent.Reducer("messages", func() []string { return []string{} },
		func(old []string, update oneOrMany) ([]string, error) {
			return append(old[:len(old):len(old)], update...), nil
		})
}

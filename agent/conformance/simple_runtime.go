package conformance

import "github.com/parley-dev/parley/agent"

type (
	runtimeState struct {
		Message string `json:"message"`
		Model   string `json:"model"`
	}
	runtimeContext struct {
		Model string `json:"model" jsonschema:"enum=anthropic,enum=openai,enum=unknown"`
	}
)

// SimpleRuntime copies the run's context into its state (spec/conformance-agents.md 3.9).
func SimpleRuntime() agent.Agent {
	return agent.NewGraph[runtimeState]("simple_runtime", agent.ContextType[runtimeContext]()).
		Node("use_context", func(ctx agent.Context, _ runtimeState) (agent.Update, error) {
			c, err := agent.ContextOf[runtimeContext](ctx)
			if err != nil {
				return nil, err
			}
			if c.Model == "" {
				return agent.Values{}, nil
			}
			return agent.Set("model", c.Model), nil
		}).
		Edge(agent.Start, "use_context").
		MustCompile()
}

package conformance

import "github.com/parley-dev/parley/agent"

// MainSet returns the graphs of the main suite (spec/conformance-agents.md 1.1).
func MainSet() []agent.Agent {
	return []agent.Agent{
		Agent(), AgentSimple(), Nested(), Weather(), Error(), Delay(), Dynamic(),
		SimpleRuntime(), StateSchemaGraph(), ZodRegistryGraph(), PlainZodGraph(),
	}
}

// AuthSet returns the graphs of the auth suite (spec/conformance-agents.md 1.2).
func AuthSet() []agent.Agent { return []agent.Agent{Agent(), AgentSimple()} }

// EmbedSet returns the graphs of the embedded server's suites (spec/conformance-agents.md 1.3).
func EmbedSet() []agent.Agent {
	return []agent.Agent{
		Agent(), AgentWithTools(), AgentWithStats(), Nested(), Weather(), Error(), Delay(), SimpleRuntime(),
	}
}

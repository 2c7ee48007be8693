package thread

import (
	"context"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

// graph returns a registered graph, compiled for a configuration. Errors: *NotFoundError.
func (s *Service) graph(ctx context.Context, id string, cfg agent.Config) (*agent.Graph, error) {
	return s.registry.Load().graph(ctx, id, cfg)
}

// GraphOf returns the assistant's graph, compiled with its configuration. Errors: *NotFoundError.
func (s *Service) GraphOf(ctx context.Context, a Assistant) (*agent.Graph, error) {
	c, err := parseConfig("config", a.Config)
	if err != nil {
		return nil, err
	}
	return s.graph(ctx, a.GraphID, agent.Config{Configurable: c.configurable, Context: a.Context})
}

// threadGraph returns the graph of a thread, compiled with the configuration that
// the thread remembers; nil when its metadata names no graph.
func (s *Service) threadGraph(ctx context.Context, t Thread) (*agent.Graph, agent.Config, error) {
	id := graphID(t.Metadata)
	if id == "" {
		return nil, agent.Config{}, nil
	}
	c, err := parseConfig("config", t.Config)
	if err != nil {
		return nil, agent.Config{}, err
	}
	cfg := agent.Config{Configurable: merged(c.configurable, object{
		"thread_id": quoted(t.ID), "graph_id": quoted(id),
	})}
	g, err := s.graph(ctx, id, cfg)
	return g, cfg, err
}

// graphID is the graph that metadata names; "" for none.
func graphID(m map[string]json.RawMessage) string { return stringIn(m, "graph_id") }

// stringIn is m[key] as a string; "" when it is absent or of another type.
func stringIn(m map[string]json.RawMessage, key string) string {
	var v string
	if raw, ok := m[key]; ok && json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return v
}

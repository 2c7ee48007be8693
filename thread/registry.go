package thread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/parley-dev/parley/agent"
)

// registry is the agents of a service, as they are from one ReplaceAgents to the next.
type registry struct {
	agents map[string]agent.Agent
	// graphs lists the graph ids in their order.
	graphs []string

	mu      sync.Mutex
	runs    int  // that execute here with these agents
	retired bool // others have taken their place
	idle    chan struct{}
}

func newRegistry(agents []agent.Agent) (*registry, error) {
	g := &registry{agents: make(map[string]agent.Agent, len(agents)), idle: make(chan struct{})}
	for _, a := range agents {
		if _, twice := g.agents[a.Name()]; twice {
			return nil, fmt.Errorf("thread: two agents are named %q", a.Name())
		}
		g.agents[a.Name()] = a
		g.graphs = append(g.graphs, a.Name())
	}
	return g, nil
}

// graph returns a registered graph, compiled for a configuration. Errors: *NotFoundError.
func (g *registry) graph(ctx context.Context, id string, cfg agent.Config) (*agent.Graph, error) {
	a, ok := g.agents[id]
	if !ok {
		return nil, &NotFoundError{Kind: "graph", ID: id}
	}
	return a.Graph(ctx, cfg)
}

// begin counts a run; false once others have taken the agents' place.
func (g *registry) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return false
	}
	g.runs++
	return true
}

func (g *registry) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs--; g.retired && g.runs == 0 {
		close(g.idle)
	}
}

// retire makes idle close with the last run.
func (g *registry) retire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired = true; g.runs == 0 {
		close(g.idle)
	}
}

// using returns the agents for a run that begins; the caller ends it.
func (s *Service) using() *registry {
	for {
		if g := s.registry.Load(); g.begin() {
			return g
		}
	}
}

// ReplaceAgents puts other agents in the place of the service's, all at once. Runs that
// begin from now on have them, and so do resumes; runs that execute keep the graph
// that they began with, until idle is closed. Threads of agents that are gone can be read as before, and get no
// new runs (*NotFoundError, graph). New agents get their system assistants; those of agents that are gone
// are removed, unless somebody has changed them. Review policies that change are audited. Errors: two agents of one name, what the store fails
// with; then nothing has changed. Calls must not overlap.
func (s *Service) ReplaceAgents(ctx context.Context, agents []agent.Agent) (idle <-chan struct{}, err error) {
	next, err := newRegistry(agents)
	if err != nil {
		return nil, err
	}
	if err := s.createSystemAssistants(ctx, next.graphs); err != nil {
		return nil, err
	}
	if err := s.recordPolicies(ctx, next); err != nil {
		return nil, err
	}
	old := s.registry.Swap(next)
	old.retire()
	for _, id := range old.graphs {
		if !slices.Contains(next.graphs, id) {
			s.removeSystemAssistant(ctx, id)
		}
	}
	return old.idle, nil
}

// removeSystemAssistant removes the assistant of a graph that is gone; one that was changed is
// somebody's work and stays.
func (s *Service) removeSystemAssistant(ctx context.Context, graphID string) {
	id := SystemAssistantID(graphID)
	a, err := s.store.GetAssistant(ctx, id)
	if err == nil && a.Version == 1 {
		err = s.store.DeleteAssistant(ctx, id)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.log.Warn("remove the assistant of an agent that is gone", "graph", graphID, "err", err)
	}
}

// unregistered reports whether a graph isn't there (any more).
func unregistered(err error) bool {
	var missing *NotFoundError
	return errors.As(err, &missing) && missing.Kind == "graph"
}

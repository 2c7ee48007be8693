package server

import (
	"context"
	"fmt"

	"github.com/parley-dev/parley/agent"
)

// ReplaceAgents puts other agents in the place of the server's, all at once and while it
// serves: lists, schemas and new runs have them. Runs that execute keep theirs until
// the returned channel is closed, which is when what only the old agents need can be
// released. A suspended thread goes on with the new agent if that has the node
// which waits; else its answer is refused (graph_changed). Threads of agents that are gone stay
// readable. An error leaves the agents as they are. Calls must not overlap.
func (s *Server) ReplaceAgents(ctx context.Context, agents []agent.Agent) (idle <-chan struct{}, err error) {
	if err := checkAgents(agents); err != nil {
		return nil, err
	}
	idle, err = s.svc.ReplaceAgents(ctx, agents)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return idle, nil
}

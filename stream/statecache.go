package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// stateCache reads the states that entries refer to. The one read last is kept:
// values and what follows them show the same one.
type stateCache struct {
	source   Source
	threadID string
	key      string
	state    *agent.State
}

// get returns the state of a checkpoint; nil for no id and for a state that is gone.
func (c *stateCache) get(ctx context.Context, ns, checkpointID string) (*agent.State, error) {
	if checkpointID == "" {
		return nil, nil
	}
	if key := ns + "\n" + checkpointID; c.key != key {
		state, err := c.source.Materialize(ctx, c.threadID, ns, checkpointID)
		if err != nil && !errors.Is(err, thread.ErrNotFound) {
			return nil, fmt.Errorf("stream: state of checkpoint %s: %w", checkpointID, err)
		}
		c.key, c.state = key, state
	}
	return c.state, nil
}

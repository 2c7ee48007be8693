package feeds_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/feeds"
	"github.com/parley-dev/parley/thread"
)

// audience notes what it is told.
type audience struct{ heard []string }

func (a *audience) Publish(threadID string, entries []thread.Entry) {
	a.heard = append(a.heard, fmt.Sprint(threadID, " ", len(entries)))
}

func (a *audience) Stored(threadID string, pos int64) {
	a.heard = append(a.heard, fmt.Sprint(threadID, " up to ", pos))
}

func (a *audience) RunEnded(threadID, runID string) {
	a.heard = append(a.heard, threadID+" "+runID+" ended")
}

func TestStartsAndEndsOfRunsAreChanges(t *testing.T) {
	t.Parallel()
	entries := func(kinds ...agent.Kind) (out []thread.Entry) {
		for _, k := range kinds {
			out = append(out, thread.Entry{Event: agent.Event{Kind: k}})
		}
		return out
	}
	next := &audience{}
	p := feeds.WatchRuns(next, func(threadID string) { next.heard = append(next.heard, threadID+" changed") })
	p.Publish("t", entries(agent.RunStarted, agent.BlockDelta))
	p.Publish("t", entries(agent.BlockDelta, agent.CheckpointAnnounced))
	p.Publish("u", entries(agent.BlockDelta, agent.RunFinished, agent.RunStarted))
	p.Stored("u", 7)
	p.RunEnded("u", "r")
	p.Publish("t", nil)
	require.Equal(t, []string{"t 2", "t changed", "t 2", "u 3", "u changed", "u up to 7", "u r ended", "u changed", "t 0"}, next.heard,
		"the readers of streams come first, and one change is enough")
}

package thread_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// timed is a store that has the system's time, and tells one that is ahead of it.
type timed struct {
	thread.Store
	ahead time.Duration
}

func (s timed) Time(context.Context) (time.Time, error) { return time.Now().Add(s.ahead), nil }

// wrong is a clock that is off.
type wrong struct {
	thread.SystemClock
	by time.Duration
}

func (c wrong) Now() time.Time { return time.Now().Add(c.by) }

// TestTheStoresClockCounts: a process whose clock is ahead doesn't make its runs
// wait until the store's has come so far, and one whose clock is behind doesn't let
// delayed runs wait longer.
func TestTheStoresClockCounts(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, wrapping(func(s thread.Store) thread.Store { return timed{Store: s} }), with(func(o *thread.Options) { o.Clock = wrong{by: by} }))
			for _, after := range []float64{0, 0.2} {
				r := input(b.thread(), "echo", `{}`)
				r.AfterSeconds = after
				run := b.begin(r)
				if after == 0 {
					require.Zero(t, run.NotBefore)
				} else {
					require.WithinDuration(t, time.Now().Add(time.Duration(after*float64(time.Second))), run.NotBefore, time.Minute)
				}
				require.Equal(t, thread.RunSuccess, b.wait(run).Status)
			}
		})
	}
}

// TestARunStartsAtOnceAlthoughTheStoresTimeIsAGuess: that the comparison of the clocks
// came out a little ahead must not make a run wait for a time that nobody looks out for.
func TestARunStartsAtOnceAlthoughTheStoresTimeIsAGuess(t *testing.T) {
	t.Parallel()
	b := setup(t, wrapping(func(s thread.Store) thread.Store { return timed{s, time.Hour} }), with(func(o *thread.Options) { o.Clock = wrong{} }))
	require.Equal(t, thread.RunSuccess, b.wait(b.begin(input(b.thread(), "echo", `{}`))).Status)
}

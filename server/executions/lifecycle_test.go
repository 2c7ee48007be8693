package executions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// follows are the statuses that can be seen behind a status (EX 1): pending → running → suspended → resuming → …,
// some of them too short to be seen.
var follows = map[thread.ExecutionStatus][]thread.ExecutionStatus{
	thread.ExecutionPending:   {thread.ExecutionRunning, thread.ExecutionSuspended, thread.ExecutionResuming, thread.ExecutionCompleted},
	thread.ExecutionRunning:   {thread.ExecutionSuspended, thread.ExecutionResuming, thread.ExecutionCompleted},
	thread.ExecutionSuspended: {thread.ExecutionResuming, thread.ExecutionCompleted},
	thread.ExecutionResuming:  {thread.ExecutionSuspended, thread.ExecutionCompleted},
}

// EX 1: whoever looks at any moment sees the statuses in their order, and never one that isn't so.
func TestStatusesFollowOneAnother(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		for range 3 {
			id := c.begin("", "twice", "x")
			seen := make(chan []thread.ExecutionStatus, len(w.servers))
			for _, s := range w.servers {
				go func() {
					var list []thread.ExecutionStatus
					for len(list) == 0 || !list[len(list)-1].Ended() {
						e, err := s.Service().Execution(t.Context(), id)
						if err != nil {
							break
						}
						if len(list) == 0 || list[len(list)-1] != e.Status {
							list = append(list, e.Status)
						}
					}
					seen <- list
				}()
			}
			for generation := 1.0; generation <= 2; generation++ {
				c.until("it asks", func() bool {
					e := c.execution(id)
					return e["status"] == "suspended" && e["suspend_generation"] == generation
				})
				c.resume(id, `{"decision":"approve"}`).ok()
			}
			for range w.servers {
				list := <-seen
				require.Equal(t, thread.ExecutionCompleted, list[len(list)-1], list)
				for i, status := range list[1:] {
					require.Contains(t, follows[list[i]], status, list)
				}
			}
		}
	})
}

package local

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// TestASuperstepThatAsksNothingHasNothingToDoWithReviews: neither it nor the run's admission
// and end carries out a statement for reviews, questions or the audit log.
func TestASuperstepThatAsksNothingHasNothingToDoWithReviews(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, Options{Ephemeral: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	statements := func() (list []string) {
		require.NoError(t, s.read(ctx, func(c *conn) error {
			for sql := range c.stmts {
				for _, table := range []string{"reviews", "review_ids", "audit", "api_keys", "interrupts"} {
					if strings.Contains(sql, " "+table) {
						list = append(list, sql)
					}
				}
			}
			return nil
		}))
		return list
	}
	lease := func(id string, change func(*thread.Admission)) thread.Lease {
		a := thread.Admission{CreateThread: &thread.Thread{ID: "t"}, Run: thread.Run{ID: id, ThreadID: "t", Project: "p"}, Claim: &thread.Claim{Worker: "w"}}
		change(&a)
		admitted, err := s.AdmitRun(ctx, a)
		require.NoError(t, err)
		return *admitted.Lease
	}
	commit := func(l thread.Lease, n int, change func(*thread.Commit)) {
		id := fmt.Sprint(n)
		c := thread.Commit{ID: "c/" + id, Checkpoints: []agent.CheckpointRecord{{ID: id, Metadata: []byte("{}"), State: []byte("{}")}},
			Tasks: []agent.TaskRecord{{CheckpointID: id, TaskID: "t", Status: agent.TaskDone}}}
		change(&c)
		_, err := s.Commit(ctx, l, c)
		require.NoError(t, err)
	}
	l := lease("r1", func(*thread.Admission) {})
	commit(l, 1, func(*thread.Commit) {})
	commit(l, 2, func(c *thread.Commit) { c.Finish = &thread.Finish{Status: thread.RunSuccess, At: time.Now()} })
	l = lease("r2", func(a *thread.Admission) { a.DropsPending = true })
	require.Empty(t, statements())
	commit(l, 3, func(c *thread.Commit) {
		c.Tasks[0].Status, c.Tasks[0].Interrupts = agent.TaskInterrupted, []agent.InterruptInfo{{ID: "q", Value: json.RawMessage("1")}}
		c.Reviews = []thread.ReviewDraft{{InterruptID: "q"}}
	})
	require.NotEmpty(t, statements(), "the test sees them")
}

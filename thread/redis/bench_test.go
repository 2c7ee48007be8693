package redis_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// BenchmarkCommit is a superstep with a checkpoint of 4 KiB and ten events of 200
// bytes (spec/libraries.md 6.3).
func BenchmarkCommit(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := setup(b, slow)
			text := strings.Repeat("x", 180)
			state := []byte(`{"v":1,"s":"` + strings.Repeat("y", 4096) + `"}`)
			b.SetParallelism(max(1, workers/2)) // of two cores
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				l := s.started(b)
				pos := l.NextPos
				for n := 1; pb.Next(); n++ {
					c := thread.Commit{ID: fmt.Sprintf("%s/%d/%d", l.RunID, l.Token, n),
						Checkpoints: []agent.CheckpointRecord{{ID: newID(), RunID: l.RunID, Metadata: []byte(`{}`), State: state}}}
					for range 10 {
						c.Entries = append(c.Entries, thread.Entry{Pos: pos, Seq: pos, RunID: l.RunID,
							Event: agent.Event{Kind: agent.CustomWritten, At: 1, Payload: agent.Custom{Value: raw("%q", text)}}})
						pos++
					}
					if _, err := s.Commit(b.Context(), l, c); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkRun is a whole run: admitted and claimed, one superstep, its end.
func BenchmarkRun(b *testing.B) {
	s := setup(b, slow)
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l := s.started(b)
			if _, err := s.Commit(b.Context(), l, finish(superstep(l, 1))); err != nil {
				b.Error(err)
				return
			}
			n.Add(1)
		}
	})
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkSearch finds a page of the newest among ten thousand threads of one owner.
func BenchmarkSearch(b *testing.B) {
	s := setup(b, slow)
	begin := time.Now()
	for i := range 10_000 {
		require.NoError(b, s.CreateThread(b.Context(), thread.Thread{ID: newID(), CreatedAt: begin.Add(time.Duration(i) * time.Millisecond),
			Metadata: thread.Metadata{"owner": raw(`"ann"`), "n": raw("%d", i)}}))
	}
	for _, by := range []string{"created_at", "updated_at"} {
		b.Run(by, func(b *testing.B) {
			for b.Loop() {
				q := thread.ThreadQuery{Limit: 10, SortBy: by}
				if by == "created_at" {
					q.Metadata = thread.Metadata{"owner": raw(`"ann"`)}
				}
				list, total, err := s.SearchThreads(b.Context(), q)
				require.NoError(b, err)
				require.Len(b, list, 10)
				require.Equal(b, 10_000, total)
			}
		})
	}
}

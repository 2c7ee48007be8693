package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

func openBench(b *testing.B) *local.Store {
	b.Helper()
	s, err := local.Open(b.Context(), local.Options{Dir: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// parallel spreads b.N calls over workers.
func parallel(b *testing.B, workers int, f func(worker, i int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := f(w, int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

func benchThread(bucket int) thread.Thread {
	return thread.Thread{ID: newUUID(), CreatedAt: time.Now(), Metadata: thread.Metadata{
		"tag": json.RawMessage(`"bench"`), "bucket": json.RawMessage(fmt.Sprint(bucket)),
	}}
}

func BenchmarkCreateThread(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := openBench(b)
			parallel(b, workers, func(_, i int) error {
				return s.CreateThread(context.Background(), benchThread(i%100))
			})
		})
	}
}

// leased is a run that a worker holds, with the numbers it gives next.
type leased struct {
	lease    thread.Lease
	pos, seq int64
	commits  int
}

func startRun(ctx context.Context, s thread.Store) (*leased, error) {
	t := benchThread(0)
	run := thread.Run{ID: newUUID(), ThreadID: t.ID, GraphID: "echo", AssistantID: newUUID(), CreatedAt: time.Now()}
	admitted, err := s.AdmitRun(ctx, thread.Admission{Run: run, CreateThread: &t, Strategy: "reject", Claim: &thread.Claim{Worker: "bench"}})
	if err != nil {
		return nil, err
	}
	l := *admitted.Lease
	return &leased{lease: l, pos: l.NextPos, seq: l.NextSeq}, nil
}

func (l *leased) deltas(n int) []thread.Entry {
	entries := make([]thread.Entry, n)
	for i := range entries {
		entries[i] = thread.Entry{Pos: l.pos, Seq: l.seq, RunID: l.lease.RunID, Event: agent.Event{
			Kind: agent.BlockDelta, At: time.Now().UnixMilli(), NS: "echo:8c3cf5c2-4d7e-4b68-a3a9-6f0f5a3c9f10",
			Payload: agent.Delta{ID: "run-8c3cf5c2", Type: "text", Text: "0000 "},
		}}
		l.pos++
		l.seq++
	}
	return entries
}

func (l *leased) events(n, size int) []thread.Entry {
	value, _ := json.Marshal(string(make([]byte, size/6)))
	entries := make([]thread.Entry, n)
	for i := range entries {
		entries[i] = thread.Entry{Pos: l.pos, Seq: l.seq, RunID: l.lease.RunID, Event: agent.Event{
			Kind: agent.CustomWritten, At: time.Now().UnixMilli(), Payload: agent.Custom{Value: value},
		}}
		l.pos++
		l.seq++
	}
	return entries
}

// commit is a superstep: a checkpoint, the record of its one task, entries.
func (l *leased) commit(state []byte, entries []thread.Entry) thread.Commit {
	l.commits++
	id := newUUID()
	return thread.Commit{
		ID:   fmt.Sprintf("%s/%d", l.lease.RunID, l.commits),
		Sync: true,
		Checkpoints: []agent.CheckpointRecord{{
			ID: id, RunID: l.lease.RunID, Source: agent.SourceLoop, AtMillis: time.Now().UnixMilli(),
			Metadata: []byte(`{"source":"loop","step":1,"run_id":"` + l.lease.RunID + `","graph_id":"echo"}`), State: state,
		}},
		Tasks:   []agent.TaskRecord{{CheckpointID: id, TaskID: newUUID(), Name: "echo", Status: agent.TaskDone, Path: "~echo"}},
		Entries: entries,
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := openBench(b)
			runs := make([]*leased, workers)
			for i := range runs {
				var err error
				runs[i], err = startRun(b.Context(), s)
				require.NoError(b, err)
			}
			state := make([]byte, 4096)
			parallel(b, workers, func(w, _ int) error {
				l := runs[w]
				_, err := s.Commit(context.Background(), l.lease, l.commit(state, l.events(10, 200)))
				return err
			})
		})
	}
}

func BenchmarkAppendDeltas(b *testing.B) {
	for _, batch := range []int{1, 50} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			s := openBench(b)
			runs := make([]*leased, 16)
			for i := range runs {
				var err error
				runs[i], err = startRun(b.Context(), s)
				require.NoError(b, err)
			}
			parallel(b, len(runs), func(w, _ int) error {
				l := runs[w]
				return s.AppendLog(context.Background(), l.lease, l.deltas(batch))
			})
		})
	}
}

// BenchmarkRun is the store's part of a run of 200 tokens: admission on a new
// thread, claim, input and step 0, the last superstep with the end.
func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := openBench(b)
			state := make([]byte, 500)
			parallel(b, workers, func(int, int) error {
				ctx := context.Background()
				l, err := startRun(ctx, s)
				if err != nil {
					return err
				}
				if _, err := s.Commit(ctx, l.lease, l.commit(state, l.events(4, 100))); err != nil {
					return err
				}
				last := l.commit(state, append(l.deltas(200), l.events(6, 100)...))
				last.Finish = &thread.Finish{Status: thread.RunSuccess, At: time.Now()}
				_, err = s.Commit(ctx, l.lease, last)
				return err
			})
		})
	}
}

func BenchmarkClaimCycle(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	for range b.N {
		t := benchThread(0)
		run := thread.Run{ID: newUUID(), ThreadID: t.ID, CreatedAt: time.Now()}
		_, err := s.AdmitRun(ctx, thread.Admission{Run: run, CreateThread: &t, Strategy: "reject"})
		require.NoError(b, err)
	}
	parallel(b, 16, func(int, int) error {
		_, lease, ok, err := s.ClaimRun(ctx, thread.Claim{Worker: "bench"})
		if err != nil || !ok {
			return errors.Join(err, fmt.Errorf("claim: %v", ok))
		}
		_, err = s.Commit(ctx, lease, thread.Commit{ID: lease.RunID + "/1", Sync: true, Finish: &thread.Finish{Status: thread.RunSuccess, At: time.Now()}})
		return err
	})
}

func BenchmarkSearch(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	for i := range 10_000 {
		require.NoError(b, s.CreateThread(ctx, benchThread(i%100)))
	}
	tag := thread.Metadata{"tag": json.RawMessage(`"bench"`)}
	both := thread.Metadata{"tag": json.RawMessage(`"bench"`), "bucket": json.RawMessage(`7`)}
	for name, q := range map[string]thread.ThreadQuery{
		"newest":   {Metadata: tag, Limit: 10},
		"deep":     {Metadata: tag, Limit: 10, Offset: 9990},
		"metadata": {Metadata: both, Limit: 1000},
		"updated":  {Metadata: tag, Limit: 10, SortBy: "updated_at"},
		"all":      {Limit: 10},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				_, n, err := s.SearchThreads(ctx, q)
				require.NoError(b, err)
				require.Positive(b, n)
			}
		})
	}
}

func BenchmarkReplay10k(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	l, err := startRun(ctx, s)
	require.NoError(b, err)
	for range 100 {
		require.NoError(b, s.AppendLog(ctx, l.lease, l.deltas(100)))
	}
	b.ResetTimer()
	for range b.N {
		list, err := s.ReadRunLog(ctx, l.lease.ThreadID, l.lease.RunID, 0, 1<<20)
		require.NoError(b, err)
		require.Len(b, list, 10_000)
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, fresh := range []bool{true, false} {
		b.Run(map[bool]string{true: "fresh", false: "existing"}[fresh], func(b *testing.B) {
			dir := b.TempDir()
			for i := range b.N {
				if fresh {
					dir = filepath.Join(b.TempDir(), fmt.Sprint(i))
				}
				s, err := local.Open(b.Context(), local.Options{Dir: dir})
				require.NoError(b, err)
				require.NoError(b, s.Close())
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	l, err := startRun(ctx, s)
	require.NoError(b, err)
	_, err = s.Commit(ctx, l.lease, l.commit(make([]byte, 4096), l.events(10, 200)))
	require.NoError(b, err)
	b.Run("thread", func(b *testing.B) {
		for range b.N {
			_, err := s.GetThread(ctx, l.lease.ThreadID)
			require.NoError(b, err)
		}
	})
	b.Run("run", func(b *testing.B) {
		for range b.N {
			_, err := s.GetRun(ctx, l.lease.ThreadID, l.lease.RunID)
			require.NoError(b, err)
		}
	})
	b.Run("head", func(b *testing.B) {
		for range b.N {
			_, err := s.Checkpoint(ctx, l.lease.ThreadID, "", "")
			require.NoError(b, err)
		}
	})
}

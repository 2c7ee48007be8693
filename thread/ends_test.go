package thread_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// M-19, D-09, D-57: whatever is cancelled, rolled back, queued and overtaken at
// once, and although a worker dies over it: every run has one end in the log, as
// its last event, and readers are told of each.
func TestEveryRunHasOneEnd(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var m *mortal
	lease := with(func(o *thread.Options) { o.Lease, o.Workers, o.MaxAttempts = 300*time.Millisecond, 8, 100 })
	first := setup(t, lease, wrapping(func(s thread.Store) thread.Store {
		m = &mortal{Store: s}
		return m
	}))
	second := setup(t, lease, sharing(first))
	services := []*thread.Service{first.svc, second.svc}
	ids := []string{first.thread(), first.thread(), first.thread()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var mu sync.Mutex
	started := map[string][]string{} // runs by thread
	var wg sync.WaitGroup
	for n := range uint64(6) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, n))
			for i := range 25 {
				id := ids[random.IntN(len(ids))]
				if n == 0 && i == 12 {
					m.dead.Store(true)
				}
				svc := services[random.IntN(2)]
				if m.dead.Load() {
					svc = second.svc
				}
				if random.IntN(3) == 0 {
					cancelOne(ctx, t, svc, random, id)
					continue
				}
				r := input(id, []string{"echo", "gated"}[random.IntN(2)], `{"note":"x"}`)
				r.MultitaskStrategy = []string{"enqueue", "enqueue", "interrupt", "rollback"}[random.IntN(4)]
				s, err := svc.StartRun(ctx, r)
				if err != nil {
					t.Errorf("start: %v", err)
					continue
				}
				mu.Lock()
				started[id] = append(started[id], s.Run.ID)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		for {
			inflight, err := second.store.Inflight(ctx, id)
			require.NoError(t, err)
			if len(inflight) == 0 {
				break
			}
			if err := second.svc.CancelRun(ctx, id, inflight[len(inflight)-1].ID, thread.CancelInterrupt); !errors.Is(err, thread.ErrNotFound) {
				require.NoError(t, err)
			}
			time.Sleep(5 * time.Millisecond) // until a lease of the dead worker has run out, too
		}
		over := map[string]bool{}
		for _, e := range first.log(id) {
			require.False(t, over[e.RunID], "nothing of run %s follows its end", e.RunID)
			over[e.RunID] = e.Event.Kind == agent.RunFinished
		}
		require.Len(t, over, len(started[id]), "every run has said something")
		for _, run := range started[id] {
			require.True(t, over[run], "run %s has an end", run)
		}
		for run := range over {
			second.events.until(t, "readers are told of the end of "+run, func() bool {
				return ended(first.events.of(id), run) || ended(second.events.of(id), run)
			})
		}
	}
}

func ended(entries []thread.Entry, run string) bool {
	return slices.ContainsFunc(entries, func(e thread.Entry) bool { return e.RunID == run && e.Event.Kind == agent.RunFinished })
}

func cancelOne(ctx context.Context, t *testing.T, svc *thread.Service, random *rand.Rand, id string) {
	inflight, err := svc.Store().Inflight(ctx, id)
	if err != nil || len(inflight) == 0 {
		return
	}
	run := inflight[random.IntN(len(inflight))]
	err = svc.CancelRun(ctx, id, run.ID, []string{thread.CancelInterrupt, thread.CancelRollback}[random.IntN(2)])
	if err != nil && !errors.Is(err, thread.ErrNotFound) { // removed meanwhile
		t.Errorf("cancel: %v", err)
	}
}

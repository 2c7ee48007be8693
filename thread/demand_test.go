package thread_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// fuse is a store whose process dies at a chosen transition: before it is
// applied, or after it was applied and before anybody learned of it.
type fuse struct {
	thread.Store
	mu      sync.Mutex
	lit     bool
	admit   bool // dies at the admission, else at a commit
	commits int  // that are left
	after   bool
	blown   chan struct{}
	dead    bool
}

// light lets the process die at the n-th commit from now, or, with 0, at the next admission.
func (f *fuse) light(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lit, f.admit, f.commits, f.after, f.blown = true, n == 0, n, after, make(chan struct{})
}

// step does one transition, unless the process is dead or dies at it.
func (f *fuse) step(admission bool, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errDead
	}
	if !f.lit || f.admit != admission {
		return do()
	}
	if f.commits--; f.commits > 0 {
		return do()
	}
	f.dead = true
	close(f.blown)
	if f.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errDead
}

func (f *fuse) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *fuse) Commit(ctx context.Context, l thread.Lease, c thread.Commit) (told []thread.Entry, err error) {
	err = f.step(false, func() error {
		told, err = f.Store.Commit(ctx, l, c)
		return err
	})
	return told, err
}

func (f *fuse) AdmitRun(ctx context.Context, a thread.Admission) (admitted thread.Admitted, err error) {
	failure := f.step(true, func() error {
		admitted, err = f.Store.AdmitRun(ctx, a)
		return err
	})
	if failure != nil {
		return thread.Admitted{}, failure
	}
	return admitted, nil
}

func (f *fuse) AppendLog(ctx context.Context, l thread.Lease, e []thread.Entry) error {
	if f.isDead() {
		return errDead
	}
	return f.Store.AppendLog(ctx, l, e)
}

func (f *fuse) Renew(ctx context.Context, l thread.Lease, d time.Duration) (time.Time, string, error) {
	if f.isDead() {
		return time.Time{}, "", errDead
	}
	return f.Store.Renew(ctx, l, d)
}

func (f *fuse) ClaimRun(ctx context.Context, c thread.Claim) (thread.Run, thread.Lease, bool, error) {
	if f.isDead() {
		return thread.Run{}, thread.Lease{}, false, nil
	}
	return f.Store.ClaimRun(ctx, c)
}

// D-41: an answer with an update and a goto is one transition and one superstep.
// Whenever the process dies on the way, the next one finds neither or both.
func TestResumeWithUpdateAndGotoIsWholeWhereverTheProcessDies(t *testing.T) {
	t.Parallel()
	const body = `{"resume":"yes","update":{"note":"updated","messages":[{"type":"ai","id":"card","content":"card"}]},"goto":"other"}`
	world := func(t *testing.T) (*bundle, *fuse, string, []*agent.Snapshot) {
		f := &fuse{}
		b := setup(t, withClock(newManualClock()), wrapping(func(s thread.Store) thread.Store {
			f.Store = s
			return f
		}))
		id, _ := b.suspend("approve")
		return b, f, id, b.history(id)
	}
	whole := func(t *testing.T, b *bundle, id string, before []*agent.Snapshot) {
		after := b.history(id)
		require.Len(t, after, len(before)+1, "one checkpoint")
		require.Equal(t, before[0].CheckpointID, after[0].ParentID)
		var state board
		require.NoError(t, json.Unmarshal([]byte(b.values(id)), &state))
		require.Equal(t, "updated", state.Note)
		require.Equal(t, "yes", state.Answer)
		require.ElementsMatch(t, []string{"prepared", "paid:yes", "other"}, state.Log, "answer, update and goto once each")
		require.Equal(t, 1, state.Messages.Len())
		require.Equal(t, 1, b.world.count("look:"+id))
		require.Equal(t, thread.Idle, b.get(id).Status)
		require.Empty(t, b.pending(id))
	}
	t.Run("before the admission", func(t *testing.T) {
		t.Parallel()
		b, f, id, before := world(t)
		question, values := b.pending(id), b.values(id)
		f.light(0, false)
		_, err := b.svc.StartRun(context.Background(), command(id, "approve", body))
		require.ErrorIs(t, err, errDead)
		next := setup(t, sharing(b))
		require.Equal(t, question, next.pending(id), "neither")
		require.Equal(t, values, next.values(id))
		require.Len(t, must(next.svc.ListRuns(context.Background(), id, thread.RunQuery{})), 1)
		next.run(command(id, "approve", body))
		whole(t, next, id, before)
	})
	t.Run("behind the admission", func(t *testing.T) {
		t.Parallel()
		b, f, id, before := world(t)
		f.light(0, true)
		_, err := b.svc.StartRun(context.Background(), command(id, "approve", body))
		require.ErrorIs(t, err, errDead)
		next := setup(t, sharing(b), notStarted())
		require.Empty(t, next.pending(id), "both")
		require.Contains(t, next.values(id), `"note":"updated"`)
		next.start()
		next.clock.advance(11 * time.Second) // the dead worker's lease runs out
		runs := must(next.svc.ListRuns(context.Background(), id, thread.RunQuery{}))
		require.Len(t, runs, 2)
		require.Equal(t, thread.RunSuccess, next.wait(runs[1]).Status)
		whole(t, next, id, before)
	})
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprint("at a commit, applied: ", after), func(t *testing.T) {
			t.Parallel()
			died := 0
			for n := 1; ; n++ {
				b, f, id, before := world(t)
				f.light(n, after)
				run := b.begin(command(id, "approve", body))
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() {
					_, err := b.svc.WaitRun(ctx, id, run.ID)
					ended <- err
				}()
				select {
				case <-f.blown:
					died++
					cancel()
					<-ended
				case err := <-ended:
					cancel()
					require.NoError(t, err)
				}
				if !f.isDead() {
					whole(t, b, id, before)
					require.Greater(t, died, 1)
					return // it has no more commits
				}
				next := setup(t, sharing(b))
				next.clock.advance(11 * time.Second)
				require.Equal(t, thread.RunSuccess, next.wait(run).Status)
				whole(t, next, id, before)
				require.LessOrEqual(t, b.world.count("pay:"+id), 2, "again only if it wasn't recorded")
				next.stop()
				b.stop()
			}
		})
	}
}

// D-04: ten thousand events in one and the same millisecond, each with its own
// position and number, live and stored.
func TestEventsOfOneMillisecondAreNumberedApart(t *testing.T) {
	t.Parallel()
	const burst = 10_000
	clock := newManualClock() // nobody moves it
	b := setup(t, withClock(clock), with(func(o *thread.Options) {
		o.Agents = append(o.Agents, agent.NewGraph[board]("burst").
			Node("write", func(ctx agent.Context, _ board) (agent.Update, error) {
				for i := range burst {
					ctx.Write(i)
				}
				return agent.Set("note", "done"), nil
			}).Edge(agent.Start, "write").Edge("write", agent.End))
	}))
	id := b.thread()
	run := b.run(input(id, "burst", `{}`))
	b.events.until(t, "the end", func() bool { return b.events.hasEnded(run.ID) })
	var stored []thread.Entry
	for after := int64(0); ; {
		page, err := b.store.ReadLog(context.Background(), id, after, 1000)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		stored = append(stored, page...)
		after = page[len(page)-1].Pos
	}
	for name, entries := range map[string][]thread.Entry{"live": b.events.of(id), "stored": stored} {
		written, pos, seq := 0, int64(0), int64(0)
		for _, e := range entries {
			require.Equal(t, clock.Now().UnixMilli(), e.Event.At, name)
			require.Greater(t, e.Pos, pos, name)
			pos = e.Pos
			if e.Event.Kind.Numbered() {
				require.Equal(t, seq+1, e.Seq, name)
				seq = e.Seq
			}
			if c, ok := e.Event.Payload.(agent.Custom); ok {
				require.JSONEq(t, fmt.Sprint(written), string(c.Value), name)
				written++
			}
		}
		require.Equal(t, burst, written, name)
	}
}

package redis_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// watcher counts the round trips of a client, and fails the commands that it is told to fail.
type watcher struct {
	mu    sync.Mutex
	trips []string
	// fail returns the error that a command gets in place of a reply.
	fail func(cmd string) error
}

func (w *watcher) note(cmds ...rds.Cmder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]string, len(cmds))
	for i, c := range cmds {
		names[i] = c.Name()
		if len(c.Args()) > 1 {
			names[i] += " " + cmp.Or(redis.ScriptName(fmt.Sprint(c.Args()[1])), fmt.Sprint(c.Args()[1]))
		}
		if w.fail != nil {
			if err := w.fail(names[i]); err != nil {
				return err
			}
		}
	}
	w.trips = append(w.trips, strings.Join(names, ", "))
	return nil
}

// during lists the round trips that f makes.
func (w *watcher) during(f func()) []string {
	w.mu.Lock()
	w.trips = nil
	w.mu.Unlock()
	f()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trips
}

func (w *watcher) DialHook(next rds.DialHook) rds.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (w *watcher) ProcessHook(next rds.ProcessHook) rds.ProcessHook {
	return func(ctx context.Context, cmd rds.Cmder) error {
		if err := w.note(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (w *watcher) ProcessPipelineHook(next rds.ProcessPipelineHook) rds.ProcessPipelineHook {
	return func(ctx context.Context, cmds []rds.Cmder) error {
		if err := w.note(cmds...); err != nil {
			for _, c := range cmds {
				c.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

// bundle is a store with its client.
type bundle struct {
	*redis.Store
	*watcher
	client *rds.Client
	prefix string
	ctx    context.Context
}

func setup(t testing.TB, change ...func(*redis.Options)) *bundle {
	t.Helper()
	b := &bundle{watcher: &watcher{}, prefix: "test:" + uuid.NewString()[:8] + ":", ctx: t.Context()}
	b.client = rds.NewClient(&rds.Options{Addr: sharedServer(t).Addr(), DisableIdentity: true})
	b.client.AddHook(b.watcher)
	o := redis.Options{Logger: quiet, Client: b.client, Prefix: b.prefix}
	for _, f := range change {
		f(&o)
	}
	var err error
	b.Store, err = redis.Open(b.ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Store.Close())
		require.NoError(t, b.client.Close())
	})
	return b
}

// keys lists all keys of the store.
func (b *bundle) keys(t testing.TB) (keys []string) {
	t.Helper()
	iter := b.client.Scan(context.Background(), 0, b.prefix+"*", 1000).Iterator()
	for iter.Next(context.Background()) {
		keys = append(keys, iter.Val())
	}
	require.NoError(t, iter.Err())
	return keys
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func raw(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

func admission(threadID string) thread.Admission {
	id := newID()
	return thread.Admission{
		Strategy: "enqueue", CreateThread: &thread.Thread{ID: threadID, Metadata: thread.Metadata{"owner": raw(`"ann"`)}},
		Run: thread.Run{ID: id, ThreadID: threadID, AssistantID: "a", GraphID: "g", ExecutionID: id, Kwargs: thread.RunKwargs{Input: raw("{}")}},
	}
}

// started admits a run on a new thread and claims it with its admission.
func (b *bundle) started(t testing.TB) thread.Lease {
	t.Helper()
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	admitted, err := b.AdmitRun(b.ctx, a)
	require.NoError(t, err)
	require.NotNil(t, admitted.Lease)
	return *admitted.Lease
}

// superstep is a commit with all that the lease's superstep n, from 1, stores. Each has ten entries.
func superstep(l thread.Lease, n int64) thread.Commit {
	cp := agent.CheckpointRecord{ID: newID(), RunID: l.RunID, Source: agent.SourceLoop, Metadata: []byte(`{}`), State: []byte(`{"v":1}`),
		Blobs: []agent.Blob{{ID: newID(), Data: []byte("x")}},
		Lists: []message.SegmentAppend{{Segment: newID(), Entries: []json.RawMessage{raw("1")}}}}
	return thread.Commit{
		ID: fmt.Sprintf("%s/%d/%d", l.RunID, l.Token, n), Sync: true, Checkpoints: []agent.CheckpointRecord{cp},
		Tasks:   []agent.TaskRecord{{CheckpointID: cp.ID, TaskID: newID(), Name: "n", Status: agent.TaskDone}},
		Steps:   []agent.StepRecord{{Origin: cp.ID, Name: "s", Status: agent.StepDone}},
		Entries: notes(l, l.NextPos+10*(n-1), 10),
	}
}

func notes(l thread.Lease, pos int64, n int) (list []thread.Entry) {
	for i := range int64(n) {
		list = append(list, thread.Entry{Pos: pos + i, Seq: pos + i, RunID: l.RunID,
			Event: agent.Event{Kind: agent.CustomWritten, At: 1, Payload: agent.Custom{Value: raw("%d", i)}}})
	}
	return list
}

func finish(c thread.Commit) thread.Commit {
	c.Finish = &thread.Finish{Status: thread.RunSuccess, At: time.Now()}
	return c
}

// TestSuperstepTakesTwoRoundTrips: its tokens and its commit (decisions 5).
func TestSuperstepTakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.started(t)
	trips := b.during(func() {
		require.NoError(t, b.AppendLog(b.ctx, l, notes(l, l.NextPos, 10)))
		_, err := b.Commit(b.ctx, l, superstep(l, 2))
		require.NoError(t, err)
	})
	require.Equal(t, []string{"evalsha append", "evalsha step"}, trips)
	require.Equal(t, []string{"evalsha renew"}, b.during(func() {
		_, _, err := b.Renew(b.ctx, l, time.Minute)
		require.NoError(t, err)
	}))
	require.Equal(t, []string{"evalsha commit", "evalsha derive"}, b.during(func() {
		_, err := b.Commit(b.ctx, l, finish(superstep(l, 3)))
		require.NoError(t, err)
	}))
	require.Equal(t, []string{"evalsha mark, evalsha own, evalsha row", "evalsha admit", "evalsha derive"}, b.during(func() {
		_, err := b.AdmitRun(b.ctx, admission(l.ThreadID))
		require.NoError(t, err)
	}))
}

// TestCheckpointIsReadWithItsAnswersAtOnce: an answer that comes while a checkpoint is
// read is seen with the update that came with it, or not at all.
func TestCheckpointIsReadWithItsAnswersAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.started(t)
	c := superstep(l, 1)
	c.Tasks[0].Status, c.Tasks[0].Interrupts = agent.TaskInterrupted, []agent.InterruptInfo{{ID: "i", Value: raw("1")}}
	head := c.Checkpoints[0].ID
	_, err := b.Commit(b.ctx, l, c)
	require.NoError(t, err)
	other, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: sharedServer(t).URL(), Prefix: b.prefix})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	a := admission(l.ThreadID)
	a.Run.Resumes = []string{"i"}
	a.Resume = &thread.ResumeAdmission{
		Answers: []agent.Answer{{InterruptID: "i", Value: raw("1")}},
		Writes:  &agent.TaskRecord{CheckpointID: head, TaskID: agent.NullTask, Status: agent.TaskDone, Writes: []agent.Write{{Channel: "x", Value: raw("1")}}},
	}
	reads := 0
	b.mu.Lock()
	b.fail = func(string) error {
		if reads++; reads == 2 {
			_, err = other.AdmitRun(t.Context(), a)
		}
		return nil
	}
	b.mu.Unlock()
	tuple, failed := b.Checkpoint(b.ctx, l.ThreadID, "", "")
	require.NoError(t, failed)
	require.NoError(t, err)
	require.GreaterOrEqual(t, reads, 2)
	require.Contains(t, tuple.Answers, "i")
	require.Len(t, tuple.Tasks, 2, "the update is there, too")
	b.mu.Lock()
	b.fail = nil
	b.mu.Unlock()
}

// TestDeletedThreadLeavesNoKey: the number of keys, and what the shards know,
// is as it was before (D-83).
func TestDeletedThreadLeavesNoKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.keys(t)
	l := b.started(t)
	c := superstep(l, 1)
	c.Tasks[0].Status, c.Tasks[0].Interrupts = agent.TaskInterrupted, []agent.InterruptInfo{{ID: "i", Value: raw("1")}}
	_, err := b.Commit(b.ctx, l, c)
	require.NoError(t, err)
	hook := &thread.Delivery{ID: newID(), ThreadID: l.ThreadID, RunID: l.RunID, URL: "/x", Due: time.Now()}
	c = finish(superstep(l, 2))
	c.Finish.Webhook = hook
	_, err = b.Commit(b.ctx, l, c)
	require.NoError(t, err)
	a := admission(l.ThreadID)
	a.IdempotencyKey, a.KeyTTL = "k", time.Hour
	_, err = b.AdmitRun(b.ctx, a)
	require.NoError(t, err)
	waiting := admission(l.ThreadID)
	_, err = b.AdmitRun(b.ctx, waiting)
	require.NoError(t, err)
	_, _, err = b.RequestCancel(b.ctx, l.ThreadID, waiting.Run.ID, "interrupt", time.Now())
	require.NoError(t, err)
	expires := time.Now().Add(time.Hour)
	_, err = b.PatchThread(b.ctx, l.ThreadID, thread.ThreadPatch{ExpiresAt: &expires, Metadata: thread.Metadata{"k": raw("1")}})
	require.NoError(t, err)
	require.Greater(t, len(b.keys(t)), len(before)+10)
	require.NoError(t, b.DeleteThread(b.ctx, l.ThreadID))
	require.ElementsMatch(t, before, b.keys(t))
}

// TestScriptsComeBackAfterAFlush: a restart or fail-over empties the script cache (pitfall 5).
func TestScriptsComeBackAfterAFlush(t *testing.T) {
	t.Parallel()
	p := redistest.Start(t)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: p.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	admin := rds.NewClient(&rds.Options{Addr: p.Addr(), DisableIdentity: true})
	defer admin.Close()
	for range 2 {
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		a := admission(newID())
		admitted, err := s.AdmitRun(t.Context(), a)
		require.NoError(t, err)
		require.False(t, admitted.Repeat)
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		_, l, ok, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w", RunID: a.Run.ID})
		require.NoError(t, err)
		require.True(t, ok)
		_, err = s.Commit(t.Context(), l, finish(superstep(l, 1)))
		require.NoError(t, err)
	}
}

// TestHistoryOfALongThread: a page costs what the page has (D-91).
func TestHistoryOfALongThread(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ten thousand checkpoints")
	}
	b := setup(t)
	l := b.started(t)
	const n = 10_000
	var ids []string
	for i := 0; i < n; {
		c := thread.Commit{ID: fmt.Sprintf("%s/%d/%d", l.RunID, l.Token, i+1)}
		for range 500 {
			cp := agent.CheckpointRecord{ID: newID(), RunID: l.RunID, Metadata: []byte(`{}`), State: []byte(`{"v":1}`)}
			c.Checkpoints = append(c.Checkpoints, cp)
			ids = append(ids, cp.ID)
			i++
		}
		_, err := b.Commit(b.ctx, l, c)
		require.NoError(t, err)
	}
	best := time.Hour
	for range 5 {
		begin := time.Now()
		list, err := b.ListCheckpoints(b.ctx, l.ThreadID, "", agent.CheckpointQuery{Limit: 20, Before: ids[n/2]})
		best = min(best, time.Since(begin))
		require.NoError(t, err)
		require.Len(t, list, 20)
		require.Equal(t, ids[n/2-1], list[0].Record.ID)
	}
	require.Less(t, best, 10*time.Millisecond)
}

// slow keeps the sweeper from coming by itself.
func slow(o *redis.Options) { o.SweepEvery = time.Hour }

// customOf is a payload of n bytes.
func customOf(n int) agent.Custom { return agent.Custom{Value: raw("%q", strings.Repeat("x", n))} }

// TestLogBeyondItsBoundIsCut: a thread's memory is bounded, whatever its runs say (D-85).
func TestLogBeyondItsBoundIsCut(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *redis.Options) { o.LogBytes = 50_000 })
	id := newID()
	for range 10 {
		a := admission(id)
		a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
		admitted, err := b.AdmitRun(b.ctx, a)
		require.NoError(t, err)
		l := *admitted.Lease
		list := notes(l, l.NextPos, 12)
		for i := range list {
			list[i].Event.Payload = customOf(1000)
		}
		require.NoError(t, b.AppendLog(b.ctx, l, list))
		c := thread.Commit{ID: "c/1", Entries: notes(l, list[11].Pos+1, 1)}
		_, err = b.Commit(b.ctx, l, finish(c))
		require.NoError(t, err)
		size, err := b.client.MemoryUsage(b.ctx, b.prefix+"{"+id+"}:log").Result()
		if err == nil {
			require.Less(t, size, int64(100_000))
		}
	}
	entries, err := b.ReadLog(b.ctx, id, 0, 0)
	require.NoError(t, err)
	require.True(t, entries[0].Snapshot, "what was cut is told")
	require.Equal(t, entries[len(entries)-1].Pos, int64(130))
}

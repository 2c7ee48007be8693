package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

var threadCases = []testCase{
	{"a created thread reads back as it was stored", func(e *env) {
		t := e.newThread(func(t *thread.Thread) {
			t.Metadata = thread.Metadata{"owner": raw(`"ann"`), "n": raw(`1`), "deep": raw(`{"a":[1,2]}`)}
			t.Config = raw(`{"configurable":{"model":"m"}}`)
			t.ExpiresAt = now().Add(time.Hour)
			t.TTLStrategy = "delete"
		})
		got := e.getThread(t.ID)
		require.Equal(e, t.ID, got.ID)
		require.Equal(e, t.CreatedAt, got.CreatedAt.UTC())
		require.Equal(e, t.CreatedAt, got.UpdatedAt.UTC())
		require.Equal(e, t.Metadata, got.Metadata)
		require.JSONEq(e, string(t.Config), string(got.Config))
		require.Equal(e, thread.Idle, got.Status)
		require.True(e, t.ExpiresAt.Equal(got.ExpiresAt))
		require.Equal(e, "delete", got.TTLStrategy)
		require.Zero(e, got.StateUpdatedAt)
		require.False(e, got.Ended)
		require.Empty(e, got.Head)
		require.EqualValues(e, 1, got.NextSeq)
		require.EqualValues(e, 1, got.NextPos)
	}},
	{"an id is taken once", func(e *env) {
		t := e.newThread()
		require.ErrorIs(e, e.CreateThread(e.ctx, t), thread.ErrExists)
	}},
	{"ids need not be UUIDs", func(e *env) {
		t := e.newThread(func(t *thread.Thread) { t.ID = "thread of " + newID() })
		require.Equal(e, t.ID, e.getThread(t.ID).ID)
		_, err := e.GetThread(e.ctx, "THREAD of nobody")
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"an unknown thread is not found", func(e *env) {
		_, err := e.GetThread(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.PatchThread(e.ctx, newID(), thread.ThreadPatch{})
		require.ErrorIs(e, err, thread.ErrNotFound)
		require.ErrorIs(e, e.DeleteThread(e.ctx, newID()), thread.ErrNotFound)
		require.ErrorIs(e, e.TrimThread(e.ctx, newID()), thread.ErrNotFound)
		_, err = e.CopyThread(e.ctx, newID(), newID(), now())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"a patch merges metadata and sets what it names", func(e *env) {
		t := e.newThread(func(t *thread.Thread) { t.Metadata = thread.Metadata{"a": raw("1"), "b": raw(`{"x":1}`)} })
		at := now().Add(time.Second)
		expires, ttl := at.Add(time.Minute), "keep_latest"
		got, err := e.PatchThread(e.ctx, t.ID, thread.ThreadPatch{
			Metadata: thread.Metadata{"b": raw(`{"y":2}`), "c": raw("3")}, Config: raw(`{"tags":["t"]}`),
			ExpiresAt: &expires, TTLStrategy: &ttl, At: at,
		})
		require.NoError(e, err)
		for _, got := range []thread.Thread{got, e.getThread(t.ID)} {
			require.Equal(e, thread.Metadata{"a": raw("1"), "b": raw(`{"y":2}`), "c": raw("3")}, got.Metadata)
			require.JSONEq(e, `{"tags":["t"]}`, string(got.Config))
			require.True(e, at.Equal(got.UpdatedAt))
			require.True(e, expires.Equal(got.ExpiresAt))
			require.Equal(e, ttl, got.TTLStrategy)
			require.True(e, t.CreatedAt.Equal(got.CreatedAt))
		}
		never := time.Time{}
		got, err = e.PatchThread(e.ctx, t.ID, thread.ThreadPatch{ExpiresAt: &never, At: at})
		require.NoError(e, err)
		require.Zero(e, got.ExpiresAt)
		require.Equal(e, ttl, got.TTLStrategy)
	}},
	{"a deleted thread leaves nothing", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		cp, ids := w.ask(1)
		w.commit(func(c *thread.Commit) {
			c.Entries = []thread.Entry{w.note("x")}
			c.Steps = []agent.StepRecord{{Origin: "o", Name: "s", Status: agent.StepDone}}
		})
		require.NoError(e, e.DeleteThread(e.ctx, id))
		_, err := e.GetThread(e.ctx, id)
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.FindRun(e.ctx, w.run.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		// A thread of the same id starts from nothing.
		e.newThread(func(t *thread.Thread) { t.ID = id })
		_, err = e.Checkpoint(e.ctx, id, "", cp)
		require.ErrorIs(e, err, thread.ErrNotFound)
		require.Empty(e, e.log(id))
		require.Empty(e, e.pending(id))
		steps, err := e.Steps(e.ctx, id, "o")
		require.NoError(e, err)
		require.Empty(e, steps)
		answers, err := e.Answers(e.ctx, id, ids)
		require.NoError(e, err)
		require.Empty(e, answers)
		runs, err := e.ListRuns(e.ctx, id, thread.RunQuery{})
		require.NoError(e, err)
		require.Empty(e, runs)
	}},
	{"expired threads are listed, earliest first", func(e *env) {
		at := now().Add(-time.Hour)
		second := e.newThread(func(t *thread.Thread) { t.ExpiresAt = at.Add(time.Minute) })
		first := e.newThread(func(t *thread.Thread) { t.ExpiresAt = at })
		later := e.newThread(func(t *thread.Thread) { t.ExpiresAt = at.Add(2 * time.Hour) })
		never := e.newThread()
		list, err := e.ExpiredThreads(e.ctx, now(), 1000)
		require.NoError(e, err)
		ids := only(threadIDs(list), first.ID, second.ID, later.ID, never.ID)
		require.Equal(e, []string{first.ID, second.ID}, ids)
	}},
}

// only keeps the ids that are among wanted.
func only(ids []string, wanted ...string) (kept []string) {
	for _, id := range ids {
		for _, w := range wanted {
			if id == w {
				kept = append(kept, id)
			}
		}
	}
	return kept
}

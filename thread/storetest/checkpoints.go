package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

// checkpointIDs lists the checkpoints of a namespace.
func (e *env) checkpointIDs(threadID, ns string, q agent.CheckpointQuery) (ids []string) {
	e.Helper()
	list, err := e.ListCheckpoints(e.ctx, threadID, ns, q)
	require.NoError(e, err)
	for _, t := range list {
		ids = append(ids, t.Record.ID)
	}
	return ids
}

var checkpointCases = []testCase{
	{"history is newest first, bounded, of one namespace", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		var root, nested []string
		for range 4 {
			root = append(root, w.save())
			nested = append(nested, w.save(namespace("sub:1")))
		}
		require.Equal(e, reversed(root), e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 10}))
		require.Equal(e, reversed(nested), e.checkpointIDs(id, "sub:1", agent.CheckpointQuery{Limit: 10}))
		require.Equal(e, []string{root[3], root[2]}, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 2}))
		require.Equal(e, []string{root[1], root[0]}, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 10, Before: root[2]}))
		require.Equal(e, []string{nested[0]}, e.checkpointIDs(id, "sub:1", agent.CheckpointQuery{Limit: 10, Before: nested[1]}))
		require.Empty(e, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 0}))
		require.Empty(e, e.checkpointIDs(id, "none:1", agent.CheckpointQuery{Limit: 10}))
		_, err := e.ListCheckpoints(e.ctx, newID(), "", agent.CheckpointQuery{Limit: 10})
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"namespaces: the root first, then those written last", func(e *env) {
		w := e.started()
		names := func(limit int) []string {
			list, err := e.Namespaces(e.ctx, w.run.ThreadID, limit)
			require.NoError(e, err)
			return list
		}
		require.Empty(e, names(10))
		w.save(namespace("b:1"))
		w.save()
		w.save(namespace("a:1"))
		w.save(namespace("b:1|c:1"))
		require.Equal(e, []string{"", "b:1|c:1", "a:1", "b:1"}, names(10))
		w.save(namespace("b:1"))
		require.Equal(e, []string{"", "b:1", "b:1|c:1"}, names(3))
		_, err := e.Namespaces(e.ctx, newID(), 10)
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"history by metadata", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		var ids []string
		for i := range 4 {
			ids = append(ids, w.save(func(c *agent.CheckpointRecord) {
				c.Metadata = []byte(fmt.Sprintf(`{"step":%d,"parity":{"odd":%v}}`, i, i%2 == 1))
			}))
		}
		odd := map[string]json.RawMessage{"parity": raw(`{"odd":true}`)}
		require.Equal(e, []string{ids[3], ids[1]}, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 10, Metadata: odd}))
		require.Equal(e, []string{ids[3]}, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 1, Metadata: odd}))
		require.Equal(e, []string{ids[1]}, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 1, Metadata: odd, Before: ids[3]}))
	}},
	{"the newest is the one stored last, whatever its id", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		w.save()
		late, early := w.checkpoint(namespace("sub:1")), w.checkpoint(namespace("sub:1"))
		late.ID, early.ID = early.ID, late.ID // minted by graphs that ran at the same time
		w.commit(func(c *thread.Commit) { c.Checkpoints = []agent.CheckpointRecord{late} })
		w.commit(func(c *thread.Commit) { c.Checkpoints = []agent.CheckpointRecord{early} })
		got, err := e.Checkpoint(e.ctx, id, "sub:1", "")
		require.NoError(e, err)
		require.Equal(e, early.ID, got.Record.ID)
		require.Equal(e, []string{early.ID, late.ID}, e.checkpointIDs(id, "sub:1", agent.CheckpointQuery{Limit: 10}))
	}},
	{"each comes with its tasks", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		want := map[string]string{}
		for range 3 {
			cp := w.save()
			task := agent.TaskRecord{CheckpointID: cp, TaskID: newID(), Name: "n", Status: agent.TaskDone}
			w.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
			want[cp] = task.TaskID
		}
		list, err := e.ListCheckpoints(e.ctx, id, "", agent.CheckpointQuery{Limit: 10})
		require.NoError(e, err)
		require.Len(e, list, 3)
		for i, t := range list {
			require.Len(e, t.Tasks, 1)
			require.Equal(e, want[t.Record.ID], t.Tasks[0].TaskID)
			if i > 0 {
				require.Less(e, t.Seq, list[i-1].Seq)
			}
		}
	}},
	{"no checkpoint, no namespace, no thread", func(e *env) {
		t := e.newThread()
		for _, ns := range []string{"", "sub:1"} {
			_, err := e.Checkpoint(e.ctx, t.ID, ns, "")
			require.ErrorIs(e, err, thread.ErrNotFound)
			_, err = e.Checkpoint(e.ctx, t.ID, ns, newID())
			require.ErrorIs(e, err, thread.ErrNotFound)
			_, err = e.Checkpoint(e.ctx, newID(), ns, "")
			require.ErrorIs(e, err, thread.ErrNotFound)
		}
	}},
	{"trimming keeps the newest of each namespace", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		var root, nested string
		for range 3 {
			root = w.save(func(c *agent.CheckpointRecord) {
				c.Lists = []message.SegmentAppend{{Segment: newID(), Entries: []json.RawMessage{raw("1")}}}
			})
			nested = w.save(namespace("sub:1"))
			w.commit(func(c *thread.Commit) {
				c.Tasks = []agent.TaskRecord{{CheckpointID: root, TaskID: newID(), Status: agent.TaskDone}}
			})
		}
		w.finish()
		require.NoError(e, e.TrimThread(e.ctx, id))
		require.Equal(e, []string{root}, e.checkpointIDs(id, "", agent.CheckpointQuery{Limit: 10}))
		require.Equal(e, []string{nested}, e.checkpointIDs(id, "sub:1", agent.CheckpointQuery{Limit: 10}))
		require.Equal(e, root, e.getThread(id).Head)
		tuple, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Len(e, tuple.Tasks, 1)
		require.NotEmpty(e, e.log(id), "the log is no history of states")
	}},
}

var copyCases = []testCase{
	{"a copy has the state and none of the runs", func(e *env) {
		t := e.newThread(func(t *thread.Thread) {
			t.Metadata = thread.Metadata{"a": raw("1")}
			t.Config = raw(`{"configurable":{"k":1}}`)
		})
		w := e.claim(e.admit(t.ID).Run.ID)
		first := w.save(func(c *agent.CheckpointRecord) {
			c.Metadata = []byte(fmt.Sprintf(`{"thread_id":%q,"step":1}`, t.ID))
			c.Blobs = []agent.Blob{{ID: "b", Data: []byte("x")}}
			c.Lists = []message.SegmentAppend{{Segment: "s", Entries: []json.RawMessage{raw("1"), raw("2")}}}
		})
		w.save(namespace("sub:1"))
		head, _ := w.suspend(1)
		to := newID()
		at := now().Add(time.Second)
		copied, err := e.CopyThread(e.ctx, t.ID, to, at)
		require.NoError(e, err)
		for _, got := range []thread.Thread{copied, e.getThread(to)} {
			require.Equal(e, to, got.ID)
			require.Equal(e, thread.Idle, got.Status)
			require.Equal(e, thread.Metadata{"a": raw("1"), "thread_id": raw("%q", to)}, got.Metadata)
			require.JSONEq(e, "{}", string(got.Config))
			require.Equal(e, head, got.Head)
			require.True(e, at.Equal(got.CreatedAt))
			require.EqualValues(e, 1, got.NextSeq)
			require.Zero(e, got.Generation)
		}
		runs, err := e.ListRuns(e.ctx, to, thread.RunQuery{})
		require.NoError(e, err)
		require.Empty(e, runs)
		require.Empty(e, e.log(to))
		require.Empty(e, e.pending(to))
		for _, ns := range []string{"", "sub:1"} {
			q := agent.CheckpointQuery{Limit: 10}
			require.Equal(e, e.checkpointIDs(t.ID, ns, q), e.checkpointIDs(to, ns, q))
		}
		got, err := e.Checkpoint(e.ctx, to, "", first)
		require.NoError(e, err)
		require.JSONEq(e, fmt.Sprintf(`{"thread_id":%q,"step":1}`, to), string(got.Record.Metadata))
		original, err := e.Checkpoint(e.ctx, t.ID, "", head)
		require.NoError(e, err)
		got, err = e.Checkpoint(e.ctx, to, "", head)
		require.NoError(e, err)
		require.Equal(e, original.Tasks, got.Tasks)
		blobs, err := e.Blobs(e.ctx, to, []string{"b"})
		require.NoError(e, err)
		require.Equal(e, []byte("x"), blobs["b"])
		seg, err := e.Segment(e.ctx, to, "s", 2)
		require.NoError(e, err)
		require.Len(e, seg.Entries, 2)
		// Each goes on by itself.
		next := e.claim(e.admit(to).Run.ID)
		next.save()
		require.Equal(e, head, e.getThread(t.ID).Head)
		require.NoError(e, e.DeleteThread(e.ctx, t.ID))
		seg, err = e.Segment(e.ctx, to, "s", 2)
		require.NoError(e, err)
		require.Len(e, seg.Entries, 2)
		_, err = e.CopyThread(e.ctx, to, to, at)
		require.ErrorIs(e, err, thread.ErrExists)
	}},
}

package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// edit edits a state and returns what the log has of it.
func (e *env) edit(edit thread.StateEdit) []thread.Entry {
	e.Helper()
	entries, err := e.EditState(e.ctx, edit)
	require.NoError(e, err)
	return entries
}

func (e *env) refuseEdit(edit thread.StateEdit, want error) {
	e.Helper()
	_, err := e.EditState(e.ctx, edit)
	require.ErrorIs(e, err, want)
}

// told is an edit of a thread's root with the events that tell of it, of which one takes no seq.
func told(threadID, head string, at time.Time) thread.StateEdit {
	cp := newCheckpoint("")
	cp.ParentID = head
	return thread.StateEdit{ThreadID: threadID, ExpectHead: head, Checkpoints: []agent.CheckpointRecord{cp}, At: at, Events: []agent.Event{
		{Kind: agent.CheckpointAnnounced, At: at.UnixMilli(), Payload: agent.CheckpointNote{ID: cp.ID, ParentID: head, Step: 1, Source: agent.SourceUpdate}},
		{Kind: agent.ValuesEmitted, At: at.UnixMilli(), Payload: &agent.ValuesNote{CheckpointID: cp.ID}},
		{Kind: agent.BreakpointHit, At: at.UnixMilli()},
	}}
}

var editCases = []testCase{
	{"an edit's events lie in the log between the runs around it", func(e *env) {
		t := e.newThread()
		before := e.edit(told(t.ID, "", now()))
		require.Equal(e, []int64{1, 2, 3}, positions(before))
		require.Equal(e, []int64{1, 2, 0}, seqs(before))
		w := e.claim(e.admit(t.ID).Run.ID)
		require.EqualValues(e, 4, w.lease.NextPos)
		require.EqualValues(e, 3, w.lease.NextSeq)
		w.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{w.note("a")} })
		e.refuseEdit(told(t.ID, e.getThread(t.ID).Head, now()), thread.ErrBusy)
		w.finish()
		between := e.edit(told(t.ID, e.getThread(t.ID).Head, now()))
		require.Equal(e, []int64{6, 7, 8}, positions(between))
		require.Equal(e, []int64{5, 6, 0}, seqs(between))
		pos, seq, err := e.LogEnd(e.ctx, t.ID)
		require.NoError(e, err)
		require.Equal(e, []int64{8, 6}, []int64{pos, seq})
		next := e.claim(e.admit(t.ID).Run.ID)
		next.finish()

		all := e.log(t.ID)
		require.Equal(e, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}, positions(all))
		require.Equal(e, []int64{1, 2, 0, 3, 4, 5, 6, 0, 7}, seqs(all))
		require.Equal(e, between, all[5:8])
		for i, en := range all {
			require.Equal(e, []string{"", "", "", w.run.ID, w.run.ID, "", "", "", next.run.ID}[i], en.RunID)
		}
		own, err := e.ReadRunLog(e.ctx, t.ID, w.run.ID, 0, 100)
		require.NoError(e, err)
		require.Equal(e, all[3:5], own, "no run has an edit in its log")
		own, err = e.ReadRunLog(e.ctx, t.ID, next.run.ID, 0, 100)
		require.NoError(e, err)
		require.Equal(e, all[8:], own)
		_, err = e.ReadRunLog(e.ctx, t.ID, "", 0, 100)
		require.ErrorIs(e, err, thread.ErrNotFound)
		e.deleteRun(t.ID, w.run.ID)
		require.Equal(e, []int64{1, 2, 3, 6, 7, 8, 9}, positions(e.log(t.ID)))
	}},
	{"a refused edit tells nothing", func(e *env) {
		t := e.newThread()
		edit := told(t.ID, newID(), now())
		e.refuseEdit(edit, thread.ErrConflict)
		require.Empty(e, e.log(t.ID))
		require.EqualValues(e, 1, e.edit(told(t.ID, "", now()))[0].Seq)
	}},
	{"an edit stores checkpoints and leaves the status", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(1)
		a, b := newCheckpoint(""), newCheckpoint("")
		a.ParentID, b.ParentID = head, a.ID
		task := agent.TaskRecord{CheckpointID: b.ID, TaskID: newID(), Name: "n", Status: agent.TaskDone}
		at := now().Add(time.Second)
		e.edit(thread.StateEdit{ThreadID: id, ExpectHead: head, At: at,
			Checkpoints: []agent.CheckpointRecord{a, b}, Tasks: []agent.TaskRecord{task}})
		t := e.getThread(id)
		require.Equal(e, b.ID, t.Head)
		require.Equal(e, thread.Interrupted, t.Status)
		require.True(e, at.Equal(t.UpdatedAt))
		require.True(e, at.Equal(t.StateUpdatedAt))
		require.Empty(e, e.pending(id), "what was asked at the old head is superseded")
		require.NotEmpty(e, ids)
		tuple, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Equal(e, []agent.TaskRecord{task}, tuple.Tasks)
	}},
	{"a new thread gets its first checkpoints", func(e *env) {
		t := e.newThread()
		cp := newCheckpoint("")
		e.edit(thread.StateEdit{ThreadID: t.ID, Checkpoints: []agent.CheckpointRecord{cp}, At: now()})
		got := e.getThread(t.ID)
		require.Equal(e, cp.ID, got.Head)
		require.True(e, got.Ended, "its values are shown from now on")
		require.Equal(e, thread.Idle, got.Status)
	}},
	{"a moved head is a conflict", func(e *env) {
		t := e.newThread()
		cp := newCheckpoint("")
		edit := thread.StateEdit{ThreadID: t.ID, Checkpoints: []agent.CheckpointRecord{cp}, At: now()}
		e.edit(edit)
		edit.Checkpoints = []agent.CheckpointRecord{newCheckpoint("")}
		e.refuseEdit(edit, thread.ErrConflict)
		edit.ExpectHead = newID()
		e.refuseEdit(edit, thread.ErrConflict)
		require.Equal(e, cp.ID, e.getThread(t.ID).Head)
	}},
	{"no edit while a run is inflight", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		edit := thread.StateEdit{ThreadID: t.ID, Checkpoints: []agent.CheckpointRecord{newCheckpoint("")}, At: now()}
		e.refuseEdit(edit, thread.ErrBusy)
		w := e.claim(run.ID)
		e.refuseEdit(edit, thread.ErrBusy)
		w.finish()
		e.edit(edit)
	}},
	{"an unknown thread is not found", func(e *env) {
		e.refuseEdit(thread.StateEdit{ThreadID: newID()}, thread.ErrNotFound)
	}},
	{"a nested graph has a head of its own", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		root := w.save()
		nested := w.save(namespace("sub:1"))
		w.finish()
		cp := newCheckpoint("", namespace("sub:1"))
		edit := thread.StateEdit{ThreadID: id, NS: "sub:1", ExpectHead: root, Checkpoints: []agent.CheckpointRecord{cp}, At: now()}
		e.refuseEdit(edit, thread.ErrConflict)
		edit.ExpectHead = nested
		e.edit(edit)
		require.Equal(e, root, e.getThread(id).Head)
		got, err := e.Checkpoint(e.ctx, id, "sub:1", "")
		require.NoError(e, err)
		require.Equal(e, cp.ID, got.Record.ID)
	}},
}

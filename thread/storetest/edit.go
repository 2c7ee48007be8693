package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

var editCases = []testCase{
	{"an edit stores checkpoints and leaves the status", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(1)
		a, b := newCheckpoint(""), newCheckpoint("")
		a.ParentID, b.ParentID = head, a.ID
		task := agent.TaskRecord{CheckpointID: b.ID, TaskID: newID(), Name: "n", Status: agent.TaskDone}
		at := now().Add(time.Second)
		require.NoError(e, e.EditState(e.ctx, thread.StateEdit{ThreadID: id, ExpectHead: head, At: at,
			Checkpoints: []agent.CheckpointRecord{a, b}, Tasks: []agent.TaskRecord{task}}))
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
		require.NoError(e, e.EditState(e.ctx, thread.StateEdit{ThreadID: t.ID, Checkpoints: []agent.CheckpointRecord{cp}, At: now()}))
		got := e.getThread(t.ID)
		require.Equal(e, cp.ID, got.Head)
		require.True(e, got.Ended, "its values are shown from now on")
		require.Equal(e, thread.Idle, got.Status)
	}},
	{"a moved head is a conflict", func(e *env) {
		t := e.newThread()
		cp := newCheckpoint("")
		edit := thread.StateEdit{ThreadID: t.ID, Checkpoints: []agent.CheckpointRecord{cp}, At: now()}
		require.NoError(e, e.EditState(e.ctx, edit))
		edit.Checkpoints = []agent.CheckpointRecord{newCheckpoint("")}
		require.ErrorIs(e, e.EditState(e.ctx, edit), thread.ErrConflict)
		edit.ExpectHead = newID()
		require.ErrorIs(e, e.EditState(e.ctx, edit), thread.ErrConflict)
		require.Equal(e, cp.ID, e.getThread(t.ID).Head)
	}},
	{"no edit while a run is inflight", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		edit := thread.StateEdit{ThreadID: t.ID, Checkpoints: []agent.CheckpointRecord{newCheckpoint("")}, At: now()}
		require.ErrorIs(e, e.EditState(e.ctx, edit), thread.ErrBusy)
		w := e.claim(run.ID)
		require.ErrorIs(e, e.EditState(e.ctx, edit), thread.ErrBusy)
		w.finish()
		require.NoError(e, e.EditState(e.ctx, edit))
	}},
	{"an unknown thread is not found", func(e *env) {
		require.ErrorIs(e, e.EditState(e.ctx, thread.StateEdit{ThreadID: newID()}), thread.ErrNotFound)
	}},
	{"a nested graph has a head of its own", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		root := w.save()
		nested := w.save(namespace("sub:1"))
		w.finish()
		cp := newCheckpoint("", namespace("sub:1"))
		edit := thread.StateEdit{ThreadID: id, NS: "sub:1", ExpectHead: root, Checkpoints: []agent.CheckpointRecord{cp}, At: now()}
		require.ErrorIs(e, e.EditState(e.ctx, edit), thread.ErrConflict)
		edit.ExpectHead = nested
		require.NoError(e, e.EditState(e.ctx, edit))
		require.Equal(e, root, e.getThread(id).Head)
		got, err := e.Checkpoint(e.ctx, id, "sub:1", "")
		require.NoError(e, err)
		require.Equal(e, cp.ID, got.Record.ID)
	}},
}

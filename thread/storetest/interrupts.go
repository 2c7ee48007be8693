package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

var interruptCases = []testCase{
	{"a question is open from the commit that asks it", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		require.Zero(e, e.getThread(id).Generation)
		cp := w.checkpoint()
		info := agent.InterruptInfo{ID: newInterruptID(), Value: raw(`{"q":1}`), ResponseSchema: raw(`{"type":"object"}`)}
		task := agent.TaskRecord{CheckpointID: cp.ID, TaskID: newID(), Name: "n", Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{info}}
		w.commit(func(c *thread.Commit) {
			c.Checkpoints, c.Tasks = []agent.CheckpointRecord{cp}, []agent.TaskRecord{task}
		})
		open, err := e.PendingInterrupts(e.ctx, id)
		require.NoError(e, err)
		require.Len(e, open, 1)
		require.False(e, open[0].CreatedAt.IsZero())
		open[0].CreatedAt = now()
		require.Equal(e, thread.OpenInterrupt{
			InterruptInfo: info, ThreadID: id, RunID: w.run.ID, CheckpointID: cp.ID, TaskID: task.TaskID,
			Generation: 1, CreatedAt: open[0].CreatedAt, Status: "pending",
		}, open[0])
		require.EqualValues(e, 1, e.getThread(id).Generation)
	}},
	{"the generation grows once for each run that asks", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		cp, ids := w.ask(2)
		task := agent.TaskRecord{CheckpointID: cp, TaskID: newID(), Status: agent.TaskInterrupted,
			Interrupts: []agent.InterruptInfo{{ID: newInterruptID(), Value: raw("1")}}}
		w.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
		require.EqualValues(e, 1, e.getThread(id).Generation)
		require.Len(e, e.pending(id), 3)
		w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
		next := e.claim(e.admit(id, resume("f", answer(ids[0], "1"))).Run.ID)
		require.EqualValues(e, 1, e.getThread(id).Generation)
		next.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
		require.EqualValues(e, 2, e.getThread(id).Generation)
		require.Len(e, e.pending(id), 2)
	}},
	{"a task asks again after its answer", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		cp := w.checkpoint()
		task := agent.TaskRecord{CheckpointID: cp.ID, TaskID: newID(), Name: "n", Status: agent.TaskInterrupted,
			Interrupts: []agent.InterruptInfo{{ID: newInterruptID(), Value: raw("1")}}}
		w.commit(func(c *thread.Commit) {
			c.Checkpoints, c.Tasks = []agent.CheckpointRecord{cp}, []agent.TaskRecord{task}
		})
		w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
		first := task.Interrupts[0].ID
		next := e.claim(e.admit(id, resume("f", answer(first, `"a"`))).Run.ID)
		second := agent.InterruptInfo{ID: newInterruptID(), Value: raw("2")}
		task.Interrupts = append(task.Interrupts, second)
		next.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
		require.Equal(e, []string{second.ID}, e.pending(id))
		tuple, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Equal(e, []agent.TaskRecord{task}, tuple.Tasks)
		require.Len(e, tuple.Answers, 1)
		require.JSONEq(e, `"a"`, string(tuple.Answers[first].Value))
		task.Status = agent.TaskDone
		next.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
		require.Empty(e, e.pending(id), "a finished task waits for nobody")
	}},
	{"questions of a replaced checkpoint are superseded", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		_, ids := w.ask(2)
		require.Equal(e, sorted(ids), e.pending(id))
		w.save(namespace("other:1"))
		require.Equal(e, sorted(ids), e.pending(id), "another graph's checkpoint replaces nothing")
		_, more := w.ask(1)
		require.Equal(e, more, e.pending(id))
	}},
	{"questions of nested graphs go with the enclosing superstep", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		root := w.save()
		nested := w.checkpoint(namespace("sub:1"))
		q := agent.InterruptInfo{ID: newInterruptID(), Value: raw("1")}
		inner := agent.TaskRecord{NS: "sub:1", CheckpointID: nested.ID, TaskID: newID(), Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{q}}
		outer := agent.TaskRecord{CheckpointID: root, TaskID: newID(), Status: agent.TaskInterrupted, Nested: true, Interrupts: []agent.InterruptInfo{q}}
		w.commit(func(c *thread.Commit) {
			c.Checkpoints, c.Tasks = []agent.CheckpointRecord{nested}, []agent.TaskRecord{inner, outer}
		})
		open, err := e.PendingInterrupts(e.ctx, id)
		require.NoError(e, err)
		require.Len(e, open, 1)
		require.Equal(e, "sub:1", open[0].NS)
		require.Equal(e, nested.ID, open[0].CheckpointID)
		w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
		next := e.claim(e.admit(id, resume("f", answer(q.ID, "1"))).Run.ID)
		for ns, cp := range map[string]string{"": root, "sub:1": nested.ID} {
			tuple, err := e.Checkpoint(e.ctx, id, ns, cp)
			require.NoError(e, err)
			require.Contains(e, tuple.Answers, q.ID, "the answer is found from %q", ns)
		}
		_, ids := next.ask(1)
		again := agent.TaskRecord{NS: "sub:2", CheckpointID: newID(), TaskID: newID(), Status: agent.TaskInterrupted,
			Interrupts: []agent.InterruptInfo{{ID: newInterruptID()}}}
		next.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{again} })
		require.Len(e, e.pending(id), 2)
		next.save()
		require.Empty(e, e.pending(id))
		require.NotEmpty(e, ids)
	}},
	{"an unknown thread has no questions to read", func(e *env) {
		_, err := e.PendingInterrupts(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
}

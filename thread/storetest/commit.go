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

var commitCases = []testCase{
	{"all of a commit is stored", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		cp := w.checkpoint(func(c *agent.CheckpointRecord) {
			c.Step, c.Source = 3, agent.SourceInput
			c.State = []byte{0, 1, 2, 255}
			c.Blobs = []agent.Blob{{ID: "blob", Data: []byte("large")}}
			c.Lists = []message.SegmentAppend{{Segment: "seg", Entries: []json.RawMessage{raw(`{"m":0}`), raw(`{"m":1}`)}}}
		})
		task := agent.TaskRecord{CheckpointID: cp.ID, TaskID: newID(), Name: "n", Status: agent.TaskDone, Path: "~n",
			Writes: []agent.Write{{Channel: "c", Value: raw(`{"v":1}`)}, {Channel: "d", Value: raw("null")}}}
		failed := agent.TaskRecord{CheckpointID: cp.ID, TaskID: newID(), Name: "f", Status: agent.TaskFailed,
			Error: &agent.ErrorInfo{Name: "E", Message: "m"}}
		step := agent.StepRecord{Origin: "o", Name: "s", Occurrence: 2, Status: agent.StepFailed, Attempt: 3, Result: raw(`1`),
			Error: &agent.ErrorInfo{Name: "E", Message: "m"}}
		entries := []thread.Entry{w.note("a"), w.note("b")}
		w.commit(func(c *thread.Commit) {
			c.Checkpoints, c.Tasks, c.Steps = []agent.CheckpointRecord{cp}, []agent.TaskRecord{task, failed}, []agent.StepRecord{step}
			c.Entries = entries
		})
		for _, byID := range []string{"", cp.ID} {
			got, err := e.Checkpoint(e.ctx, id, "", byID)
			require.NoError(e, err)
			want := cp
			want.Blobs, want.Lists = nil, nil
			require.Equal(e, want, got.Record)
			require.ElementsMatch(e, []agent.TaskRecord{task, failed}, got.Tasks)
			require.Positive(e, got.Seq)
		}
		steps, err := e.Steps(e.ctx, id, "o")
		require.NoError(e, err)
		require.Equal(e, []agent.StepRecord{step}, steps)
		require.Equal(e, entries, e.log(id))
		blobs, err := e.Blobs(e.ctx, id, []string{"blob", "none"})
		require.NoError(e, err)
		require.Equal(e, map[string][]byte{"blob": []byte("large")}, blobs)
		seg, err := e.Segment(e.ctx, id, "seg", 2)
		require.NoError(e, err)
		require.Equal(e, message.Segment{ID: "seg", Entries: []json.RawMessage{raw(`{"m":0}`), raw(`{"m":1}`)}}, seg)
		t := e.getThread(id)
		require.Equal(e, cp.ID, t.Head)
		require.WithinDuration(e, time.Now(), t.StateUpdatedAt, time.Minute)
		require.Equal(e, thread.Busy, t.Status)
	}},
	{"a repeated commit is stored once", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		var commits []thread.Commit
		for i := range 3 {
			cp := w.checkpoint()
			commits = append(commits, w.newCommit(func(c *thread.Commit) {
				c.Checkpoints = []agent.CheckpointRecord{cp}
				c.Entries = []thread.Entry{w.note(fmt.Sprint(i))}
			}))
			require.NoError(e, e.Commit(e.ctx, w.lease, commits[i]))
			require.NoError(e, e.Commit(e.ctx, w.lease, commits[i]))
		}
		require.NoError(e, e.Commit(e.ctx, w.lease, commits[0]), "an older one")
		require.Len(e, e.log(id), 3)
		list, err := e.ListCheckpoints(e.ctx, id, "", agent.CheckpointQuery{Limit: 10})
		require.NoError(e, err)
		require.Len(e, list, 3)
		last := w.newCommit(func(c *thread.Commit) {
			c.Entries = []thread.Entry{w.entry(agent.Event{Kind: agent.RunFinished, Payload: agent.RunFinish{Status: "success"}})}
			c.Finish = &thread.Finish{Status: thread.RunSuccess, At: now()}
		})
		require.NoError(e, e.Commit(e.ctx, w.lease, last))
		require.NoError(e, e.Commit(e.ctx, w.lease, last), "the commit that ended the run")
		require.Len(e, e.log(id), 4)
		next := e.claim(e.admit(id).Run.ID)
		require.NoError(e, e.Commit(e.ctx, w.lease, last), "also when another run has started")
		require.Len(e, e.log(id), 4)
		next.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{next.note("x")} })
	}},
	{"a checkpoint id must be above the head", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		early := w.checkpoint()
		head := w.save()
		for _, cp := range []agent.CheckpointRecord{early, w.checkpoint(func(c *agent.CheckpointRecord) { c.ID = head })} {
			err := e.Commit(e.ctx, w.lease, w.newCommit(func(c *thread.Commit) {
				c.Checkpoints = []agent.CheckpointRecord{w.checkpoint(), cp}
				c.Entries = []thread.Entry{w.note("x")}
			}))
			require.ErrorIs(e, err, thread.ErrConflict)
		}
		require.Equal(e, head, e.getThread(id).Head)
		require.Empty(e, e.log(id), "nothing of a refused commit is stored")
		w.save()
	}},
	{"nested checkpoints don't move the thread's head", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		root := w.save()
		nested := w.save(namespace("sub:1"))
		deeper := w.save(namespace("sub:1|x:2"))
		require.Equal(e, root, e.getThread(id).Head)
		for ns, want := range map[string]string{"": root, "sub:1": nested, "sub:1|x:2": deeper} {
			got, err := e.Checkpoint(e.ctx, id, ns, "")
			require.NoError(e, err)
			require.Equal(e, want, got.Record.ID, ns)
		}
		_, err := e.Checkpoint(e.ctx, id, "", nested)
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"a task's later record takes the place of the earlier", func(e *env) {
		w := e.started()
		cp := w.save()
		task := agent.TaskRecord{CheckpointID: cp, TaskID: newID(), Name: "n", Status: agent.TaskFailed}
		w.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
		task.Status, task.Writes = agent.TaskDone, []agent.Write{{Channel: "c", Value: raw("1")}}
		w.commit(func(c *thread.Commit) { c.Tasks = []agent.TaskRecord{task} })
		got, err := e.Checkpoint(e.ctx, w.run.ThreadID, "", cp)
		require.NoError(e, err)
		require.Equal(e, []agent.TaskRecord{task}, got.Tasks)
	}},
	{"a step's later record takes the place of the earlier", func(e *env) {
		w := e.started()
		one := agent.StepRecord{Origin: "o", Name: "a", Status: agent.StepStarted, Attempt: 1}
		other := agent.StepRecord{Origin: "p", Name: "a", Status: agent.StepDone, Result: raw("2")}
		w.commit(func(c *thread.Commit) { c.Steps = []agent.StepRecord{one, other} })
		one.Status, one.Result = agent.StepDone, raw("1")
		w.commit(func(c *thread.Commit) { c.Steps = []agent.StepRecord{one} })
		steps, err := e.Steps(e.ctx, w.run.ThreadID, "o")
		require.NoError(e, err)
		require.Equal(e, []agent.StepRecord{one}, steps)
	}},
	{"message lists grow and share what they continue", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		app := func(a message.SegmentAppend) {
			w.save(func(c *agent.CheckpointRecord) { c.Lists = []message.SegmentAppend{a} })
		}
		app(message.SegmentAppend{Segment: "a", Entries: []json.RawMessage{raw("0"), raw("1")}})
		app(message.SegmentAppend{Segment: "a", From: 2, Entries: []json.RawMessage{raw("2")}})
		app(message.SegmentAppend{Segment: "b", Base: message.Ref{Segment: "a", Len: 2}, Entries: []json.RawMessage{raw("9")}})
		a, err := e.Segment(e.ctx, id, "a", 2)
		require.NoError(e, err)
		require.Equal(e, []json.RawMessage{raw("0"), raw("1")}, a.Entries)
		a, err = e.Segment(e.ctx, id, "a", 3)
		require.NoError(e, err)
		require.Len(e, a.Entries, 3)
		b, err := e.Segment(e.ctx, id, "b", 1)
		require.NoError(e, err)
		require.Equal(e, message.Segment{ID: "b", Base: message.Ref{Segment: "a", Len: 2}, Entries: []json.RawMessage{raw("9")}}, b)
		_, err = e.Segment(e.ctx, id, "none", 1)
		require.ErrorIs(e, err, thread.ErrNotFound)
		app(message.SegmentAppend{Segment: "a", From: 2, Entries: []json.RawMessage{raw("2")}}) // equal: harmless
		err = e.Commit(e.ctx, w.lease, w.newCommit(func(c *thread.Commit) {
			c.Checkpoints = []agent.CheckpointRecord{w.checkpoint(func(c *agent.CheckpointRecord) {
				c.Lists = []message.SegmentAppend{{Segment: "a", From: 2, Entries: []json.RawMessage{raw("other")}}}
			})}
		}))
		require.ErrorIs(e, err, thread.ErrConflict, "what checkpoints refer to never changes")
	}},
	{"equal blobs are one", func(e *env) {
		w := e.started()
		for range 2 {
			w.save(func(c *agent.CheckpointRecord) { c.Blobs = []agent.Blob{{ID: "b", Data: []byte("x")}} })
		}
		blobs, err := e.Blobs(e.ctx, w.run.ThreadID, []string{"b"})
		require.NoError(e, err)
		require.Len(e, blobs, 1)
	}},
}

var finishCases = []testCase{
	{"statuses of run and thread", func(e *env) {
		for name, c := range map[string]struct {
			finish thread.Finish
			thread thread.Status
		}{
			"success":     {thread.Finish{Status: thread.RunSuccess}, thread.Idle},
			"breakpoint":  {thread.Finish{Status: thread.RunSuccess, HasNext: true}, thread.Interrupted},
			"suspended":   {thread.Finish{Status: thread.RunSuccess, HasNext: true, Suspended: true}, thread.Interrupted},
			"error":       {thread.Finish{Status: thread.RunError, Error: raw(`{"error":"E","message":"m"}`)}, thread.Failed},
			"error, next": {thread.Finish{Status: thread.RunError, HasNext: true, Error: raw(`{"error":"E"}`)}, thread.Failed},
			"timeout":     {thread.Finish{Status: thread.RunTimeout}, thread.Failed},
			"cancelled":   {thread.Finish{Status: thread.RunInterrupted}, thread.Idle},
		} {
			w := e.started()
			before := e.getThread(w.run.ThreadID)
			w.save()
			w.finish(func(f *thread.Finish) {
				at := f.At
				*f = c.finish
				f.At = at.Add(time.Second)
			})
			run, t := e.getRun(w.run.ThreadID, w.run.ID), e.getThread(w.run.ThreadID)
			require.Equal(e, c.finish.Status, run.Status, name)
			require.Equal(e, c.thread, t.Status, name)
			require.Equal(e, c.finish.Suspended, run.Suspended, name)
			require.Equal(e, string(c.finish.Error), string(run.Error), name)
			require.Equal(e, string(c.finish.Error), string(t.Error), name)
			require.True(e, t.Ended, name)
			require.False(e, before.Ended)
			require.Equal(e, 1, run.Attempt)
			require.True(e, run.StartedAt.Equal(w.run.StartedAt), name)
			require.False(e, run.EndedAt.IsZero(), name)
			require.True(e, t.UpdatedAt.Equal(run.EndedAt), name)
		}
	}},
	{"an error is gone with the next run", func(e *env) {
		w := e.started()
		w.finish(func(f *thread.Finish) { f.Status, f.Error = thread.RunError, raw(`{"error":"E"}`) })
		next := e.admit(w.run.ThreadID)
		require.Equal(e, thread.Busy, next.Thread.Status)
		e.claim(next.Run.ID).finish()
		require.Empty(e, e.getThread(w.run.ThreadID).Error)
	}},
	{"busy while others wait, unless a person has to see something", func(e *env) {
		for _, c := range []struct {
			finish thread.Finish
			want   thread.Status
		}{
			{thread.Finish{Status: thread.RunSuccess}, thread.Busy},
			{thread.Finish{Status: thread.RunInterrupted}, thread.Busy},
			{thread.Finish{Status: thread.RunSuccess, HasNext: true}, thread.Interrupted},
			{thread.Finish{Status: thread.RunError}, thread.Failed},
		} {
			w := e.started()
			waiting := e.admit(w.run.ThreadID, strategy("enqueue")).Run
			w.finish(func(f *thread.Finish) { at := f.At; *f = c.finish; f.At = at })
			require.Equal(e, c.want, e.getThread(w.run.ThreadID).Status)
			next := e.claim(waiting.ID)
			require.Equal(e, thread.Busy, e.getThread(w.run.ThreadID).Status)
			next.finish()
			require.Equal(e, thread.Idle, e.getThread(w.run.ThreadID).Status)
		}
	}},
	{"a webhook goes to the outbox with the end", func(e *env) {
		w := e.started()
		d := thread.Delivery{ID: newID(), ThreadID: w.run.ThreadID, RunID: w.run.ID, URL: "/hook", Due: now()}
		w.finish(func(f *thread.Finish) { f.Webhook = &d })
		due, err := e.DueDeliveries(e.ctx, now().Add(time.Second), 10)
		require.NoError(e, err)
		require.Len(e, due, 1)
		require.True(e, d.Due.Equal(due[0].Due))
		due[0].Due = d.Due
		require.Equal(e, []thread.Delivery{d}, due)
	}},
	{"a stateless run's thread is due for removal, once its webhook is delivered", func(e *env) {
		t := e.newThread(func(t *thread.Thread) { t.Temporary = true })
		w := e.claim(e.admit(t.ID).Run.ID)
		d := thread.Delivery{ID: newID(), ThreadID: t.ID, RunID: w.run.ID, URL: "/hook", Due: now()}
		w.finish(func(f *thread.Finish) { f.DropThread, f.Webhook = true, &d })
		expired := func() []string {
			list, err := e.ExpiredThreads(e.ctx, now().Add(time.Second), 10)
			require.NoError(e, err)
			return threadIDs(list)
		}
		require.Empty(e, expired())
		other := e.newThread(func(t *thread.Thread) { t.ExpiresAt = now().Add(time.Millisecond) })
		list, err := e.ExpiredThreads(e.ctx, now().Add(time.Second), 1)
		require.NoError(e, err)
		require.Equal(e, []string{other.ID}, threadIDs(list), "what waits for its webhook takes nobody's place")
		require.NoError(e, e.DeleteThread(e.ctx, other.ID))
		require.NoError(e, e.FinishDelivery(e.ctx, d.ID))
		require.Equal(e, []string{t.ID}, expired())
		require.Equal(e, thread.RunSuccess, e.getRun(t.ID, w.run.ID).Status, "until then it can be read")
	}},
}

package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

var resumeCases = []testCase{
	{"an answer is stored with its run", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(1)
		t := e.getThread(id)
		a := answer(ids[0], `{"ok":true}`)
		writes := agent.TaskRecord{CheckpointID: head, TaskID: agent.NullTask, Status: agent.TaskDone,
			Writes: []agent.Write{{Channel: "x", Value: raw("1")}}}
		admitted := e.admit(id, resume("f", a), func(ad *thread.Admission) {
			ad.Resume.ExpectHead, ad.Resume.ExpectGeneration, ad.Resume.Writes = head, t.Generation, &writes
		})
		require.False(e, admitted.Repeat)
		require.Equal(e, ids, admitted.Run.Resumes)
		require.Equal(e, head, admitted.Run.BaseCheckpoint)
		require.Equal(e, thread.Busy, admitted.Thread.Status)
		answers, err := e.Answers(e.ctx, id, append(ids, newInterruptID()))
		require.NoError(e, err)
		require.Len(e, answers, 1)
		got := answers[ids[0]]
		require.JSONEq(e, string(a.Value), string(got.Value))
		require.Equal(e, "ann", got.By)
		require.True(e, a.At.Equal(got.At))
		require.Equal(e, admitted.Run.ID, got.RunID)
		require.Empty(e, e.pending(id))
		tuple, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Len(e, tuple.Tasks, 2)
		require.Contains(e, tuple.Tasks, writes)
		require.Equal(e, got, tuple.Answers[ids[0]])
	}},
	{"writes that come with an answer don't undo those of another one", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(3)
		write := func(i int, merged *agent.TaskRecord, values ...string) (agent.TaskRecord, error) {
			rec := agent.TaskRecord{CheckpointID: head, TaskID: agent.NullTask, Status: agent.TaskDone}
			for _, v := range values {
				rec.Writes = append(rec.Writes, agent.Write{Channel: "x", Value: raw("%s", v)})
			}
			_, err := e.AdmitRun(e.ctx, newAdmission(id, strategy("enqueue"), resume(fmt.Sprint("f", i), answer(ids[i], "1")), func(ad *thread.Admission) {
				ad.Resume.ExpectHead, ad.Resume.Writes, ad.Resume.Merged = head, &rec, merged
			}))
			return rec, err
		}
		_, err := write(0, nil, "1")
		require.NoError(e, err)
		_, err = write(1, nil, "2") // both had read the checkpoint before either was stored
		require.ErrorIs(e, err, thread.ErrConflict)
		stored := func() *agent.TaskRecord {
			tuple, err := e.Checkpoint(e.ctx, id, "", "")
			require.NoError(e, err)
			i := slices.IndexFunc(tuple.Tasks, func(t agent.TaskRecord) bool { return t.TaskID == agent.NullTask })
			require.GreaterOrEqual(e, i, 0)
			return &tuple.Tasks[i]
		}
		both, err := write(1, stored(), "1", "2")
		require.NoError(e, err)
		require.Equal(e, both, *stored())
		_, err = write(2, stored(), "1", "2", "3")
		require.NoError(e, err)
	}},
	{"an equal answer again is the first run again, also after its end", func(e *env) {
		w := e.started()
		_, ids := w.suspend(2)
		both := []agent.Answer{answer(ids[0], "1"), answer(ids[1], "2")}
		run := e.admit(w.run.ThreadID, resume("f", both...)).Run
		again := e.admit(w.run.ThreadID, resume("f", both...))
		require.True(e, again.Repeat)
		require.Equal(e, run.ID, again.Run.ID)
		e.claim(run.ID).finish()
		again = e.admit(w.run.ThreadID, resume("f", both...))
		require.True(e, again.Repeat)
		require.Equal(e, thread.RunSuccess, again.Run.Status)
		runs, err := e.ListRuns(e.ctx, w.run.ThreadID, thread.RunQuery{})
		require.NoError(e, err)
		require.Len(e, runs, 2)
	}},
	{"answers come before input that waits, in their order", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		later := e.admit(id, func(a *thread.Admission) { a.Strategy = "enqueue" }).Run
		_, ids := w.suspend(2)
		first := e.admit(id, resume("f", answer(ids[0], "1"))).Run
		second := e.admit(id, resume("g", answer(ids[1], "2"))).Run
		for _, run := range []thread.Run{first, second, later} {
			e.claim(run.ID).finish() // only if it is its turn
			require.Equal(e, thread.RunSuccess, e.getRun(id, run.ID).Status)
		}
	}},
	{"an answer to what the next run is about to drop is refused", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		later := e.admit(id, func(a *thread.Admission) { a.Strategy = "enqueue" }).Run
		_, ids := w.suspend(1)
		next := e.claim(later.ID) // it has stored nothing yet
		late := thread.Admission{Run: thread.Run{ID: newID(), ThreadID: id}, Strategy: "enqueue"}
		resume("f", answer(ids[0], "1"))(&late)
		_, err := e.AdmitRun(e.ctx, late)
		require.ErrorIs(e, err, thread.ErrConflict)
		require.Equal(e, ids, e.pending(id))
		next.finish() // and nothing until its end
		require.NotEmpty(e, e.admit(id, resume("f", answer(ids[0], "1"))).Run.ID)
	}},
	{"a different answer learns who decided what", func(e *env) {
		w := e.started()
		_, ids := w.suspend(1)
		run := e.admit(w.run.ThreadID, resume("f", answer(ids[0], `"yes"`))).Run
		check := func() {
			_, err := e.AdmitRun(e.ctx, newAdmission(w.run.ThreadID, resume("g", answer(ids[0], `"no"`))))
			var decided *thread.AlreadyDecidedError
			require.ErrorAs(e, err, &decided)
			require.NotErrorIs(e, err, thread.ErrConflict)
			require.Equal(e, ids[0], decided.InterruptID)
			require.JSONEq(e, `"yes"`, string(decided.Answer.Value))
			require.Equal(e, "ann", decided.Answer.By)
			require.Equal(e, run.ID, decided.Answer.RunID)
		}
		check()
		e.claim(run.ID).save() // also when the head has moved since
		check()
	}},
	{"one answer too late spoils all of them", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		_, ids := w.suspend(2)
		e.admit(id, resume("f", answer(ids[0], "1")))
		_, err := e.AdmitRun(e.ctx, newAdmission(id, resume("g", answer(ids[1], "2"), answer(ids[0], "3"))))
		var decided *thread.AlreadyDecidedError
		require.ErrorAs(e, err, &decided)
		require.Equal(e, ids[1:], e.pending(id), "nothing is stored")
		answers, err := e.Answers(e.ctx, id, ids)
		require.NoError(e, err)
		require.Len(e, answers, 1)
	}},
	{"part of the questions can be answered", func(e *env) {
		w := e.started()
		_, ids := w.suspend(3)
		e.admit(w.run.ThreadID, resume("f", answer(ids[1], "null")))
		require.Equal(e, sorted([]string{ids[0], ids[2]}), e.pending(w.run.ThreadID))
		second := e.admit(w.run.ThreadID, resume("g", answer(ids[0], "1")))
		require.False(e, second.Repeat)
	}},
	{"a resume waits behind the active run and never conflicts with it", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		_, ids := w.ask(2)
		first := e.admit(id, resume("f", answer(ids[0], "1"))).Run
		second := e.admit(id, resume("g", answer(ids[1], "1"))).Run
		require.Empty(e, e.getRun(id, w.run.ID).Cancel)
		w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
		got := e.eventually(thread.Claim{Worker: "w"})
		require.Equal(e, first.ID, got.run.ID)
		got.finish()
		e.claim(second.ID)
	}},
	{"a moved head or generation is a conflict", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(1)
		generation := e.getThread(id).Generation
		for _, change := range []func(*thread.ResumeAdmission){
			func(r *thread.ResumeAdmission) { r.ExpectHead = newID() },
			func(r *thread.ResumeAdmission) { r.ExpectGeneration = generation + 1 },
		} {
			_, err := e.AdmitRun(e.ctx, newAdmission(id, resume("f", answer(ids[0], "1")), func(a *thread.Admission) { change(a.Resume) }))
			require.ErrorIs(e, err, thread.ErrConflict)
		}
		require.Equal(e, ids, e.pending(id))
		e.admit(id, resume("f", answer(ids[0], "1")), func(a *thread.Admission) {
			a.Resume.ExpectHead, a.Resume.ExpectGeneration = head, generation
		})
	}},
	{"a superseded question is a conflict", func(e *env) {
		w := e.started()
		_, ids := w.ask(1)
		w.save()
		_, err := e.AdmitRun(e.ctx, newAdmission(w.run.ThreadID, resume("f", answer(ids[0], "1"))))
		require.ErrorIs(e, err, thread.ErrConflict)
	}},
	{"a question that only task records know can be answered once", func(e *env) {
		w := e.started()
		_, ids := w.suspend(1)
		copied, err := e.CopyThread(e.ctx, w.run.ThreadID, newID(), now())
		require.NoError(e, err)
		run := e.admit(copied.ID, resume("f", answer(ids[0], "1"))).Run
		tuple, err := e.Checkpoint(e.ctx, copied.ID, "", "")
		require.NoError(e, err)
		require.Equal(e, run.ID, tuple.Answers[ids[0]].RunID)
		_, err = e.AdmitRun(e.ctx, newAdmission(copied.ID, resume("g", answer(ids[0], "2"))))
		var decided *thread.AlreadyDecidedError
		require.True(e, errors.As(err, &decided), "%v", err)
		require.Equal(e, ids, e.pending(w.run.ThreadID), "the original still waits")
	}},
}

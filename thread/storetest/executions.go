package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// executions lists those of a project, by pages.
func (e *reviewEnv) executions(project string, page int) (ids []string) {
	e.Helper()
	q := thread.ExecutionQuery{Project: project, Limit: page}
	for {
		list, err := e.ListExecutions(e.ctx, q)
		require.NoError(e, err)
		for _, run := range list {
			require.Equal(e, run.ID, run.ExecutionID)
			require.Equal(e, e.getRun(run.ThreadID, run.ID), run)
		}
		ids = append(ids, runIDs(list)...)
		if len(list) < page {
			return ids
		}
		q.Before = ids[len(ids)-1]
	}
}

var executionCases = []testCase{
	reviewCase("the first runs of a project's executions, newest first", func(e *reviewEnv) {
		var want []string
		at := now()
		of := func(project string, i int) func(*thread.Admission) {
			return func(a *thread.Admission) {
				a.Run.Project, a.Run.Workspace, a.Run.CreatedAt = project, "w", at.Add(time.Duration(i/2)*time.Second) // two of each time
			}
		}
		for i := range 9 {
			w := e.claim(e.admit(e.newThread().ID, of(e.project, i)).Run.ID)
			want = append(want, w.run.ID)
			_, ids := e.question(w, 1)
			w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
			e.admit(w.run.ThreadID, decide("f", "approve", answer(ids[0], "1")), of(e.project, i), func(a *thread.Admission) { a.Run.ExecutionID = w.run.ID })
		}
		e.admit(e.newThread().ID, of(e.project+"-2", 0))
		slices.Reverse(want)
		all := e.executions(e.project, 50)
		require.ElementsMatch(e, want, all)
		for i := range all {
			require.LessOrEqual(e, slices.Index(want, all[i]), i+1, "newest first")
			require.GreaterOrEqual(e, slices.Index(want, all[i]), i-1, "newest first")
		}
		for page := 1; page <= 10; page++ {
			require.Equal(e, all, e.executions(e.project, page))
		}
		newer := e.admit(e.newThread().ID, of(e.project, 99)).Run.ID
		list, err := e.ListExecutions(e.ctx, thread.ExecutionQuery{Project: e.project, Before: all[2], Limit: 3})
		require.NoError(e, err)
		require.Equal(e, all[3:6], runIDs(list), "what is new moves nothing")
		require.Equal(e, newer, e.executions(e.project, 5)[0])
		_, err = e.ListExecutions(e.ctx, thread.ExecutionQuery{Project: e.project, Before: newID()})
		require.ErrorIs(e, err, thread.ErrNotFound)
	}),
	reviewCase("a run that names no project is of the default one, a removed one of none", func(e *reviewEnv) {
		w := e.started()
		require.Empty(e, w.run.Project)
		require.Equal(e, []string{w.run.ID}, e.executions("", 5))
		require.Equal(e, []string{w.run.ID}, e.executions(thread.DefaultProject, 5))
		w.finish()
		require.Equal(e, []string{w.run.ID}, e.executions(thread.DefaultProject, 5))
		other := e.admit(e.newThread().ID, func(a *thread.Admission) { a.Run.Project = thread.DefaultProject }).Run
		require.Len(e, e.executions("", 5), 2)
		e.deleteRun(other.ThreadID, other.ID)
		require.NoError(e, e.DeleteThread(e.ctx, w.run.ThreadID))
		require.Empty(e, e.executions("", 5))
	}),
	reviewCase("50 unless more are asked for", func(e *reviewEnv) {
		for range 52 {
			e.admit(e.newThread().ID, func(a *thread.Admission) { a.Run.Project = e.project })
		}
		list, err := e.ListExecutions(e.ctx, thread.ExecutionQuery{Project: e.project})
		require.NoError(e, err)
		require.Len(e, list, 50)
		require.Len(e, e.executions(e.project, 100), 52)
	}),
}

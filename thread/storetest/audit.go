package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// chain is the verified audit chain of a thread.
func (e *reviewEnv) chain(threadID string) []thread.AuditEntry {
	e.Helper()
	list, err := e.ThreadAudit(e.ctx, threadID)
	require.NoError(e, err)
	require.NoError(e, thread.VerifyThreadAudit(list))
	return list
}

func (e *reviewEnv) bodies(list []thread.AuditEntry) (bodies []thread.AuditBody) {
	e.Helper()
	for _, en := range list {
		var b thread.AuditBody
		require.NoError(e, json.Unmarshal(en.Body, &b))
		kept, err := b.Canonical()
		require.NoError(e, err)
		require.Equal(e, string(kept), string(en.Body), "a body is kept in its canonical form")
		bodies = append(bodies, b)
	}
	return bodies
}

// audited are the bodies of a thread's chain.
func (e *reviewEnv) audited(threadID string) []thread.AuditBody {
	e.Helper()
	return e.bodies(e.chain(threadID))
}

// actions are those of a thread's chain, in order.
func (e *reviewEnv) actions(threadID string) (list []string) {
	e.Helper()
	for _, b := range e.audited(threadID) {
		list = append(list, b.Action)
	}
	return list
}

// last is the newest body of a thread's chain.
func (e *reviewEnv) lastAudit(threadID string) thread.AuditBody {
	e.Helper()
	all := e.audited(threadID)
	require.NotEmpty(e, all)
	return all[len(all)-1]
}

// sealed is a project's verified chain, once nothing waits to be sealed.
func (e *reviewEnv) sealed(project string) (list []thread.AuditEntry) {
	e.Helper()
	require.Eventually(e, func() bool {
		_, err := e.SealAudit(e.ctx)
		require.NoError(e, err)
		left, err := e.Unsealed(e.ctx, time.Now().Add(time.Hour), 10)
		require.NoError(e, err)
		return len(left) == 0
	}, patience, lookEach)
	var v thread.AuditVerifier
	for {
		page, err := e.ProjectAudit(e.ctx, project, v.Last().Seq, 7)
		require.NoError(e, err)
		for _, en := range page {
			require.NoError(e, v.Add(en))
		}
		list = append(list, page...)
		if len(page) < 7 {
			break
		}
	}
	end, err := e.AuditEnd(e.ctx, project)
	require.NoError(e, err)
	require.Equal(e, v.Last().Seq, end)
	require.NoError(e, thread.VerifyProjectAudit(list))
	return list
}

var auditCases = []testCase{
	reviewCase("entries of a thread and of the project alone are chained, sealed and kept", func(e *reviewEnv) {
		begin := time.Now()
		t := e.newThread()
		body := thread.AuditBody{Action: thread.AuditRefused, Cause: "invalid_answer", Notes: "<ü>", Detail: raw(`{"b":1.0,"a":[1e2,"<"]}`)}
		require.NoError(e, e.AppendAudit(e.as("ann"), e.project, t.ID, body))
		named := body
		named.Actor = e.actor("bea")
		require.NoError(e, e.AppendAudit(e.as("ann"), e.project, "", named))
		require.NoError(e, e.AppendAudit(e.ctx, e.project, t.ID, thread.AuditBody{Action: thread.AuditPolicy}))
		list := e.chain(t.ID)
		require.Len(e, list, 2)
		first := list[0]
		e.nearly(begin, first.At)
		require.Equal(e, e.project, first.Project)
		require.Equal(e, t.ID, first.ThreadID)
		require.EqualValues(e, 1, first.ThreadSeq)
		require.Empty(e, first.Prev)
		require.Equal(e, `{"action":"review.refused","actor":{"address":"192.0.2.1","kind":"user","principal":"ann","request_id":"q-ann","roles":["reviewer"],"via":"reviews"},`+
			`"cause":"invalid_answer","detail":{"a":[1e2,"<"],"b":1.0},"notes":"<ü>"}`, string(first.Body))
		require.Equal(e, first.Hash, list[1].Prev)
		require.Equal(e, first.At, first.At.Truncate(time.Microsecond))

		all := e.sealed(e.project)
		require.Len(e, all, 3)
		require.Equal(e, e.chain(t.ID)[0], all[slices.IndexFunc(all, func(en thread.AuditEntry) bool { return en.Hash == first.Hash })])
		alone := all[slices.IndexFunc(all, func(en thread.AuditEntry) bool { return en.ThreadID == "" })]
		require.Zero(e, alone.ThreadSeq)
		require.Empty(e, alone.Prev)
		require.Equal(e, "bea", e.bodies([]thread.AuditEntry{alone})[0].Actor.Principal)
		part, err := e.ProjectAudit(e.ctx, e.project, 1, 1)
		require.NoError(e, err)
		require.Equal(e, all[1:2], part)
	}),
	reviewCase("projects have chains of their own, and what names none is of the default one", func(e *reviewEnv) {
		other := "p-" + newID()
		for i := range 3 {
			require.NoError(e, e.AppendAudit(e.ctx, e.project, "", thread.AuditBody{Action: thread.AuditPolicy, Notes: fmt.Sprint(i)}))
			require.NoError(e, e.AppendAudit(e.ctx, other, e.newThread().ID, thread.AuditBody{Action: thread.AuditRefused}))
		}
		require.NoError(e, e.AppendAudit(e.ctx, "", "", thread.AuditBody{Action: thread.AuditPolicy}))
		require.Len(e, e.sealed(e.project), 3)
		require.Len(e, e.sealed(other), 3)
		require.Len(e, e.sealed(thread.DefaultProject), 1)
		require.Empty(e, e.sealed("p-"+newID()))
	}),
	reviewCase("all entries of a thread are of the project that its first one named", func(e *reviewEnv) {
		t := e.newThread()
		other := "p-" + newID()
		require.NoError(e, e.AppendAudit(e.ctx, e.project, t.ID, thread.AuditBody{Action: thread.AuditRefused}))
		require.NoError(e, e.AppendAudit(e.ctx, other, t.ID, thread.AuditBody{Action: thread.AuditRefused}))
		require.Len(e, e.sealed(e.project), 2)
		require.Empty(e, e.sealed(other))
	}),
	reviewCase("an unknown thread is not found, and nothing is written", func(e *reviewEnv) {
		require.ErrorIs(e, e.AppendAudit(e.ctx, e.project, newID(), thread.AuditBody{Action: thread.AuditRefused}), thread.ErrNotFound)
		_, err := e.ThreadAudit(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
		require.Error(e, e.AppendAudit(e.ctx, e.project, "", thread.AuditBody{Action: thread.AuditRefused, Detail: json.RawMessage("{")}))
		require.Empty(e, e.sealed(e.project))
	}),
	reviewCase("entries of a commit are of the run's project, behind those of its reviews", func(e *reviewEnv) {
		t := e.newThread()
		w := e.claim(e.admit(t.ID, func(a *thread.Admission) { a.Run.Project, a.Run.Workspace = e.project, "w" }).Run.ID)
		require.Equal(e, e.project, e.getRun(t.ID, w.run.ID).Project)
		require.Equal(e, "w", w.run.Workspace)
		w.commit(func(c *thread.Commit) {
			c.Audit = []thread.AuditBody{{Action: thread.AuditExecuted, Tool: "send"}, {Action: thread.AuditExecuted, Tool: "pay", RunID: "other", Actor: e.actor("x")}}
		})
		want := []thread.AuditBody{
			{Action: thread.AuditExecuted, Tool: "send", RunID: w.run.ID, ExecutionID: w.run.ExecutionID},
			{Action: thread.AuditExecuted, Tool: "pay", RunID: "other", ExecutionID: w.run.ExecutionID, Actor: e.actor("x")},
		}
		require.Equal(e, want, e.audited(t.ID))
		require.Len(e, e.sealed(e.project), 2)
	}),
	reviewCase("entries of removed threads stay, and their end is told", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		id := w.run.ThreadID
		before := e.chain(id)
		require.NoError(e, e.DeleteThread(e.as("dan"), id))
		all := e.sealed(e.project)
		bodies := e.bodies(all)
		require.Len(e, all, 3)
		require.Equal(e, before[0].Hash, all[0].Hash)
		require.Equal(e, []string{thread.AuditRequested, thread.AuditSuperseded, thread.AuditDeleted}, []string{bodies[0].Action, bodies[1].Action, bodies[2].Action})
		require.Equal(e, thread.CauseDelete, bodies[1].Cause)
		require.Equal(e, ids[0], bodies[1].InterruptID)
		require.Equal(e, e.actor("dan"), bodies[1].Actor)
		require.Equal(e, thread.AuditBody{Action: thread.AuditDeleted, Actor: e.actor("dan")}, bodies[2])
		_, err := e.ThreadAudit(e.ctx, id)
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.GetReview(e.ctx, bodies[0].ReviewID)
		require.ErrorIs(e, err, thread.ErrNotFound)

		require.NoError(e, e.CreateThread(e.ctx, thread.Thread{ID: id, CreatedAt: now()}))
		require.Empty(e, e.chain(id), "a thread of the same id has a chain of its own")
		require.NoError(e, e.AppendAudit(e.ctx, e.project, id, thread.AuditBody{Action: thread.AuditRefused}))
		require.Len(e, e.chain(id), 1)
		require.Len(e, e.sealed(e.project), 4)
	}),
	reviewCase("the removal of a thread that has no entries isn't told", func(e *reviewEnv) {
		w := e.started()
		w.finish()
		require.NoError(e, e.DeleteThread(e.as("dan"), w.run.ThreadID))
		require.Empty(e, e.sealed(thread.DefaultProject))
	}),
	reviewCase("transitions of many threads at once give one chain without gaps", func(e *reviewEnv) {
		const threads, entries = 8, 12
		ids := make([]string, threads)
		for i := range ids {
			ids[i] = e.newThread().ID
		}
		together(threads*2, func(i int) {
			for j := range entries {
				id := ids[i%threads]
				if j%4 == 3 {
					id = ""
				}
				if err := e.AppendAudit(e.ctx, e.project, id, thread.AuditBody{Action: thread.AuditRefused, Notes: fmt.Sprint(i, j)}); err != nil {
					e.Error(err)
				}
				if _, err := e.SealAudit(e.ctx); err != nil {
					e.Error(err)
				}
			}
		})
		require.Len(e, e.sealed(e.project), threads*2*entries)
		for _, id := range ids {
			require.Len(e, e.chain(id), 2*entries*3/4)
			for _, en := range e.chain(id) {
				require.NotZero(e, en.Seq)
			}
		}
	}),
	reviewCase("whatever is changed in a chain is found", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		e.admit(id, resume("f", answer(ids[0], "1")))
		require.NoError(e, e.AppendAudit(e.ctx, e.project, "", thread.AuditBody{Action: thread.AuditPolicy}))
		project := e.sealed(e.project)
		chain := e.chain(id)
		require.Len(e, chain, 3)
		require.Len(e, project, 4)
		for name, change := range map[string]func(*thread.AuditEntry){
			"body":    func(en *thread.AuditEntry) { en.Body = raw(`{"action":"review.decided"}`) },
			"time":    func(en *thread.AuditEntry) { en.At = en.At.Add(time.Microsecond) },
			"hash":    func(en *thread.AuditEntry) { en.Hash = thread.AuditHash(en.Prev, en.ThreadSeq, en.At, []byte("{}")) },
			"place":   func(en *thread.AuditEntry) { en.ThreadSeq++ },
			"prev":    func(en *thread.AuditEntry) { en.Prev = en.Hash },
			"seal":    func(en *thread.AuditEntry) { en.Seal = en.Hash },
			"seq":     func(en *thread.AuditEntry) { en.Seq++ },
			"project": func(en *thread.AuditEntry) { en.Project = "x" },
			"thread":  func(en *thread.AuditEntry) { en.ThreadID = "x" },
		} {
			for i := range project {
				bad := slices.Clone(project)
				change(&bad[i])
				var wrong *thread.AuditError
				err := thread.VerifyProjectAudit(bad)
				if name == "project" && i == 0 { // told by the one behind it
					i++
				}
				require.True(e, errors.As(err, &wrong), "%s of entry %d: %v", name, i, err)
				require.Equal(e, bad[i], wrong.Entry, "%s of entry %d", name, i)
			}
			for i := range chain {
				if name == "seal" || name == "seq" || (name == "project" || name == "thread") && i == 0 {
					continue
				}
				bad := slices.Clone(chain)
				change(&bad[i])
				require.Error(e, thread.VerifyThreadAudit(bad), "%s of entry %d", name, i)
			}
		}
		for i := range chain[:len(chain)-1] {
			require.Error(e, thread.VerifyThreadAudit(slices.Delete(slices.Clone(chain), i, i+1)), "entry %d is missing", i)
		}
		for i := range project[:len(project)-1] {
			require.Error(e, thread.VerifyProjectAudit(slices.Delete(slices.Clone(project), i, i+1)), "entry %d is missing", i)
		}
	}),
}

package storetest

import (
	"encoding/json"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// crashProject is the project of the victim's reviews.
const crashProject = "crash"

// auditOf is the verified chain of a thread.
func auditOf(e *env, threadID string) (bodies []thread.AuditBody) {
	e.Helper()
	list, err := e.ThreadAudit(e.ctx, threadID)
	require.NoError(e, err)
	require.NoError(e, thread.VerifyThreadAudit(list))
	for _, en := range list {
		var b thread.AuditBody
		require.NoError(e, json.Unmarshal(en.Body, &b))
		bodies = append(bodies, b)
	}
	return bodies
}

// reviewParts tells whether the review that a commit requested, and its audit entries, are there.
func reviewParts(e *env, w *entryOf, parts map[string]bool) {
	e.Helper()
	bodies := auditOf(e, w.Thread)
	if w.Interrupt == "" {
		return
	}
	reviews, err := e.ThreadReviews(e.ctx, w.Thread)
	require.NoError(e, err)
	parts["review"] = len(reviews) == 1 && reviews[0].InterruptID == w.Interrupt
	requested, executed := 0, 0
	for _, b := range bodies {
		switch {
		case b.Action == thread.AuditRequested && b.InterruptID == w.Interrupt:
			requested++
		case b.Action == thread.AuditExecuted && b.Notes == w.ID:
			executed++
		}
	}
	require.LessOrEqual(e, max(requested, executed), 1, "an entry is written once")
	parts["audit of the request"], parts["audit of the commit"] = requested == 1, executed == 1
}

// checkDecided requires that the review of an answered question was decided by its run, and audited so once.
func checkDecided(e *env, threadID, interruptID, runID string) {
	e.Helper()
	bodies := auditOf(e, threadID)
	reviews, err := e.ThreadReviews(e.ctx, threadID)
	require.NoError(e, err)
	require.Len(e, reviews, 1)
	require.Equal(e, interruptID, reviews[0].InterruptID)
	require.NotNil(e, reviews[0].Decided)
	require.Equal(e, runID, reviews[0].Decided.RunID)
	n := 0
	for _, b := range bodies {
		if b.Action == thread.AuditDecided {
			n++
			require.Equal(e, runID, b.RunID)
		}
	}
	require.Equal(e, 1, n)
}

// checkReviews requires that a review is open as long as its question is.
func checkReviews(e *env, threadID string) {
	e.Helper()
	reviews, err := e.ThreadReviews(e.ctx, threadID)
	require.NoError(e, err)
	open := []string{}
	for _, r := range reviews {
		if r.Status.Open() {
			open = append(open, r.InterruptID)
		}
	}
	require.Equal(e, e.pending(threadID), sorted(open))
}

// checkAudit verifies what was added to the project's chain, behind what was there
// before the kill.
func (l *ledger) checkAudit(e *env) {
	e.Helper()
	require.Eventually(e, func() bool {
		_, err := e.SealAudit(e.ctx)
		require.NoError(e, err)
		left, err := e.Unsealed(e.ctx, time.Now().Add(time.Hour), 1)
		require.NoError(e, err)
		return len(left) == 0
	}, patience, lookEach)
	for {
		page, err := e.ProjectAudit(e.ctx, crashProject, l.audit.Last().Seq, 100)
		require.NoError(e, err)
		for _, en := range page {
			require.NoError(e, l.audit.Add(en))
		}
		if len(page) < 100 {
			break
		}
	}
	end, err := e.AuditEnd(e.ctx, crashProject)
	require.NoError(e, err)
	require.Equal(e, l.audit.Last().Seq, end)
}

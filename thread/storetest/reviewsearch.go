package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// found lists the interrupt ids that a query selects, by pages of the given size.
func (e *reviewEnv) found(q thread.ReviewQuery, page int) (ids []string) {
	e.Helper()
	q.Limit = page
	for {
		list, next, err := e.SearchReviews(e.ctx, q)
		require.NoError(e, err)
		require.LessOrEqual(e, len(list), page)
		for _, r := range list {
			ids = append(ids, r.InterruptID)
		}
		if next == "" {
			return ids
		}
		q.Cursor = next
	}
}

var reviewSearchCases = []testCase{
	reviewCase("open ones come oldest first, then ended ones newest first, in pages of any size", func(e *reviewEnv) {
		var ids, open, ended []string
		for i := range 7 {
			w, _, q := e.suspended(1)
			ids = append(ids, q[0])
			if i%2 == 0 {
				open = append(open, q[0])
				continue
			}
			e.admit(w.run.ThreadID, decide("f", "approve", answer(q[0], "1")))
			ended = append(ended, q[0])
		}
		slices.Reverse(ended)
		q := thread.ReviewQuery{Project: e.project}
		for page := 1; page <= 9; page++ {
			require.Equal(e, append(slices.Clone(open), ended...), e.found(q, page))
			q.Statuses = []thread.ReviewStatus{thread.ReviewPending, thread.ReviewClaimed}
			require.Equal(e, open, e.found(q, page))
			q.Statuses = []thread.ReviewStatus{thread.ReviewDecided}
			require.Equal(e, ended, e.found(q, page))
			q.Statuses = nil
		}
		list, next, err := e.SearchReviews(e.ctx, thread.ReviewQuery{Project: e.project})
		require.NoError(e, err)
		require.Empty(e, next)
		require.Len(e, list, len(ids))
		for _, r := range list {
			require.Equal(e, e.review(r.ThreadID, r.InterruptID), r)
		}
		_, _, err = e.SearchReviews(e.ctx, thread.ReviewQuery{Project: e.project, Cursor: "~no cursor"})
		var invalid *thread.InvalidInputError
		require.ErrorAs(e, err, &invalid)
	}),
	reviewCase("paging is stable while others come, go and are asked again", func(e *reviewEnv) {
		type asked struct{ thread, head, id string }
		var all []asked
		for range 6 {
			w, head, q := e.suspended(1)
			all = append(all, asked{w.run.ThreadID, head, q[0]})
		}
		q := thread.ReviewQuery{Project: e.project, Statuses: []thread.ReviewStatus{thread.ReviewPending}, Limit: 2}
		var ids []string
		for i := 0; ; i++ {
			list, next, err := e.SearchReviews(e.ctx, q)
			require.NoError(e, err)
			for _, r := range list {
				ids = append(ids, r.InterruptID)
			}
			switch i {
			case 0: // what was listed is decided, what is to come is asked again
				e.admit(all[0].thread, decide("f", "approve", answer(all[0].id, "1")))
				e.admit(all[1].thread, decide("f", "approve", answer(all[1].id, "1")))
				e.again(all[3].thread, all[3].head, []string{all[3].id})
			case 1:
				_, _, more := e.suspended(1)
				all = append(all, asked{id: more[0]})
			}
			if q.Cursor = next; next == "" {
				break
			}
		}
		var want []string
		for _, a := range all {
			want = append(want, a.id)
		}
		require.Equal(e, want, ids)
	}),
	reviewCase("filters", func(e *reviewEnv) {
		type question struct{ thread, id string }
		ask := func(change ...func(*thread.ReviewDraft)) question {
			w, _, ids := e.suspended(1, change...)
			return question{w.run.ThreadID, ids[0]}
		}
		a := ask()
		b := ask(func(d *thread.ReviewDraft) {
			d.Agent, d.Tool, d.Tools, d.Text, d.Workspace = "other", "", nil, "ÄPFEL 100%_", "v"
		})
		c := ask(func(d *thread.ReviewDraft) { d.Tool, d.Tools, d.ExecutionID = "pay", []string{"pay"}, "x" })
		foreign := e.project + "-2"
		d := ask(func(d *thread.ReviewDraft) { d.Project = foreign })
		e.changed(e.review(c.thread, c.id), func(ch *thread.ReviewChange) { ch.Terms.Assignee, ch.ClaimFor = "ann", time.Hour })
		e.admit(a.thread, decide("f", "approve", answer(a.id, "1")))
		for name, row := range map[string]struct {
			q    thread.ReviewQuery
			want []string
		}{
			"nothing":            {thread.ReviewQuery{}, []string{b.id, c.id, a.id}},
			"another project":    {thread.ReviewQuery{Project: foreign}, []string{d.id}},
			"workspace":          {thread.ReviewQuery{Workspace: "v"}, []string{b.id}},
			"agent":              {thread.ReviewQuery{Agent: "other"}, []string{b.id}},
			"tool":               {thread.ReviewQuery{Tool: "send"}, []string{a.id}},
			"one of its tools":   {thread.ReviewQuery{Tool: "pay"}, []string{c.id, a.id}},
			"part of a tool":     {thread.ReviewQuery{Tool: "pa"}, nil},
			"execution":          {thread.ReviewQuery{ExecutionID: "x"}, []string{c.id}},
			"thread":             {thread.ReviewQuery{ThreadID: b.thread}, []string{b.id}},
			"thread, as others":  {thread.ReviewQuery{ThreadID: b.thread, Agent: "g"}, nil},
			"no such thread":     {thread.ReviewQuery{ThreadID: uuid.NewString()}, nil},
			"another's thread":   {thread.ReviewQuery{ThreadID: d.thread}, nil},
			"assignee":           {thread.ReviewQuery{Assignee: "ann"}, []string{c.id}},
			"claimed":            {thread.ReviewQuery{Statuses: []thread.ReviewStatus{thread.ReviewClaimed}}, []string{c.id}},
			"pending":            {thread.ReviewQuery{Statuses: []thread.ReviewStatus{thread.ReviewPending}}, []string{b.id}},
			"decided":            {thread.ReviewQuery{Statuses: []thread.ReviewStatus{thread.ReviewDecided, thread.ReviewExpired}}, []string{a.id}},
			"superseded":         {thread.ReviewQuery{Statuses: []thread.ReviewStatus{thread.ReviewSuperseded}}, nil},
			"text in any case":   {thread.ReviewQuery{Text: "order 42, mÜLL"}, []string{c.id, a.id}},
			"text with wildcard": {thread.ReviewQuery{Text: "0%_"}, []string{b.id}},
			"no such text":       {thread.ReviewQuery{Text: "order%"}, nil},
			"old enough":         {thread.ReviewQuery{MinAge: time.Nanosecond}, []string{b.id, c.id, a.id}},
			"not old enough":     {thread.ReviewQuery{MinAge: time.Hour}, nil},
			"asked":              {thread.ReviewQuery{Keep: func(r thread.Review) bool { return r.InterruptID != b.id }}, []string{c.id, a.id}},
			"several":            {thread.ReviewQuery{Agent: "g", Tool: "pay", Text: "refund", Statuses: []thread.ReviewStatus{thread.ReviewClaimed}}, []string{c.id}},
		} {
			if row.q.Project == "" {
				row.q.Project = e.project
			}
			for _, page := range []int{1, 50} {
				require.Equal(e, row.want, e.found(row.q, page), "%s by %d", name, page)
			}
		}
		all := e.found(thread.ReviewQuery{}, 2)
		require.Equal(e, []string{b.id, c.id, d.id, a.id}, all, "without a project: all")
	}),
	reviewCase("those of a thread come in the order of all, in pages of any size", func(e *reviewEnv) {
		w, _, ids := e.suspended(5)
		_, _, _ = e.suspended(3)
		for _, id := range ids[:2] {
			e.admit(w.run.ThreadID, decide("f", "approve", answer(id, "1")))
		}
		q := thread.ReviewQuery{Project: e.project, ThreadID: w.run.ThreadID}
		all := e.found(q, 50)
		require.ElementsMatch(e, ids, all)
		require.ElementsMatch(e, ids[:2], all[3:], "ended ones last")
		for page := 1; page <= 6; page++ {
			require.Equal(e, all, e.found(q, page))
			require.Equal(e, all[:3], e.found(thread.ReviewQuery{ThreadID: q.ThreadID, Statuses: []thread.ReviewStatus{thread.ReviewPending}}, page))
			require.Equal(e, all[3:], e.found(thread.ReviewQuery{ThreadID: q.ThreadID, Statuses: []thread.ReviewStatus{thread.ReviewDecided}}, page))
		}
		_, _, err := e.SearchReviews(e.ctx, thread.ReviewQuery{ThreadID: q.ThreadID, Cursor: "~no cursor"})
		var invalid *thread.InvalidInputError
		require.ErrorAs(e, err, &invalid)
	}),
	reviewCase("a list of more than a page of any size is whole", func(e *reviewEnv) {
		var want []string
		for range 4 {
			_, _, ids := e.suspended(30)
			want = append(want, ids...)
		}
		require.ElementsMatch(e, want, e.found(thread.ReviewQuery{Project: e.project}, 17))
		list, next, err := e.SearchReviews(e.ctx, thread.ReviewQuery{Project: e.project})
		require.NoError(e, err)
		require.Len(e, list, 50)
		require.NotEmpty(e, next)
		require.True(e, slices.IsSortedFunc(list, func(a, b thread.Review) int { return a.CreatedAt.Compare(b.CreatedAt) }))
	}),
}

var reviewTermCases = []testCase{
	reviewCase("terms change as a whole, if nobody was faster", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		id := w.run.ThreadID
		begin := time.Now()
		first := e.review(id, ids[0])
		until := now().Add(3 * time.Hour)
		terms := thread.ReviewTerms{Assignee: "ann", ClaimedUntil: until, ExpiresAt: until.Add(time.Hour), WarnAt: until, Role: "boss", Escalations: 2,
			Comments: []thread.Comment{{By: "ann", Text: "hm"}, {By: "bea", At: until, Text: "<so>"}}}
		r := e.changed(first, func(c *thread.ReviewChange) {
			c.Terms = terms
			c.Audit = thread.AuditBody{Action: thread.AuditClaimed, Notes: "n", Actor: e.actor("carl")}
		})
		e.nearly(begin, r.Comments[0].At)
		terms.Comments[0].At = r.Comments[0].At
		require.Equal(e, terms, r.ReviewTerms)
		require.Equal(e, thread.ReviewClaimed, r.Status)
		require.Equal(e, first.Version+1, r.Version)
		b := e.lastAudit(id)
		require.Equal(e, thread.AuditBody{Action: thread.AuditClaimed, Notes: "n", Actor: e.actor("carl"), ReviewID: r.ID, InterruptID: r.InterruptID, RunID: r.RunID,
			ExecutionID: r.ExecutionID, Agent: r.Agent, Tool: r.Tool, Tools: r.Tools, Generation: 1, Digest: r.Digest}, b)
		_, err := e.change(first, func(c *thread.ReviewChange) { c.Terms.Assignee = "bea" })
		require.ErrorIs(e, err, thread.ErrConflict)
		require.Len(e, e.audited(id), 2)
		require.Equal(e, map[string]int{thread.AuditRequested: 2, thread.AuditClaimed: 2}, e.announced(id))
		e.changed(r, func(c *thread.ReviewChange) { c.Terms, c.Audit.Action = thread.ReviewTerms{}, thread.AuditReleased })
	}),
	reviewCase("comments are not announced", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		e.changed(e.review(w.run.ThreadID, ids[0]), func(c *thread.ReviewChange) {
			c.Terms.Comments, c.Audit.Action = []thread.Comment{{By: "ann", Text: "hm"}}, thread.AuditCommented
		})
		require.Equal(e, map[string]int{thread.AuditRequested: 2}, e.announced(w.run.ThreadID))
		require.Equal(e, thread.AuditCommented, e.lastAudit(w.run.ThreadID).Action)
		require.Equal(e, e.actor("ann"), e.lastAudit(w.run.ThreadID).Actor)
	}),
	reviewCase("claims and extensions count from the store's time, and claims lapse by it", func(e *reviewEnv) {
		w, _, ids := e.suspended(1, expiry(thread.Expiry{After: time.Hour, Warn: 2 * time.Minute, Action: "reject"}))
		r := e.changed(e.review(w.run.ThreadID, ids[0]), func(c *thread.ReviewChange) { c.Extend = 2 * time.Hour })
		require.Equal(e, r.UpdatedAt.Add(2*time.Hour), r.ExpiresAt)
		require.Equal(e, r.ExpiresAt.Add(-2*time.Minute), r.WarnAt)
		r, err := e.change(r, func(c *thread.ReviewChange) { c.Terms.Assignee, c.ClaimFor = "ann", 40*time.Millisecond })
		require.NoError(e, err)
		require.Equal(e, r.UpdatedAt.Add(40*time.Millisecond), r.ClaimedUntil)
		require.Eventually(e, func() bool { return e.review(r.ThreadID, r.InterruptID).Status == thread.ReviewPending }, patience, lookEach)
		lapsed := e.review(r.ThreadID, r.InterruptID)
		require.Empty(e, lapsed.Assignee)
		require.Zero(e, lapsed.ClaimedUntil)
		require.Equal(e, r.Version, lapsed.Version)
		require.Empty(e, e.found(thread.ReviewQuery{Project: e.project, Assignee: "ann"}, 5))
	}),
	reviewCase("an ended review and one that isn't there don't change", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		open := e.review(w.run.ThreadID, ids[0])
		e.admit(w.run.ThreadID, decide("f", "approve", answer(ids[0], "1")))
		_, err := e.change(open, func(*thread.ReviewChange) {})
		require.ErrorIs(e, err, thread.ErrConflict)
		_, err = e.change(e.review(w.run.ThreadID, ids[0]), func(*thread.ReviewChange) {})
		require.ErrorIs(e, err, thread.ErrConflict)
		for _, r := range []thread.Review{{ThreadID: w.run.ThreadID, InterruptID: newInterruptID(), Version: 1}, {ThreadID: newID(), InterruptID: ids[1], Version: 1}} {
			_, err = e.change(r, func(*thread.ReviewChange) {})
			require.ErrorIs(e, err, thread.ErrNotFound)
		}
		require.Len(e, e.audited(w.run.ThreadID), 3)
	}),
	reviewCase("once the deadline has come nobody takes it or puts it off, but it can be escalated", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		r := e.expire(e.review(w.run.ThreadID, ids[0]))
		var expired *thread.ReviewExpiredError
		for name, change := range map[string]func(*thread.ReviewChange){
			"extended": func(c *thread.ReviewChange) { c.Extend = time.Hour },
			"put off":  func(c *thread.ReviewChange) { c.Terms.ExpiresAt = now().Add(time.Hour) },
			"taken":    func(c *thread.ReviewChange) { c.Terms.Assignee, c.ClaimFor = "ann", time.Hour },
		} {
			_, err := e.change(r, change)
			require.ErrorAs(e, err, &expired, name)
		}
		r = e.changed(r, func(c *thread.ReviewChange) {
			c.Terms.Comments, c.Audit.Action = []thread.Comment{{By: "ann", Text: "hm"}}, thread.AuditCommented
		})
		r = e.changed(r, func(c *thread.ReviewChange) {
			c.Terms.Role, c.Terms.Escalations, c.Extend, c.Audit.Action = "boss", 1, time.Hour, thread.AuditEscalated
		})
		require.Equal(e, r.UpdatedAt.Add(time.Hour), r.ExpiresAt)
		require.Equal(e, r.ExpiresAt.Add(-6*time.Minute), r.WarnAt)
		e.admit(w.run.ThreadID, decide("f", "approve", answer(ids[0], "1")))
	}),
	reviewCase("of many that claim at once one gets it", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		r := e.review(w.run.ThreadID, ids[0])
		won := make(chan thread.Review, 50)
		together(50, func(i int) {
			if got, err := e.change(r, func(c *thread.ReviewChange) { c.Terms.Assignee, c.ClaimFor = fmt.Sprint("r", i), time.Hour }); err == nil {
				won <- got
			}
		})
		require.Len(e, won, 1)
		require.Equal(e, <-won, e.review(w.run.ThreadID, ids[0]))
		require.Len(e, e.audited(w.run.ThreadID), 2)
	}),
	reviewCase("warnings and deadlines become due", func(e *reviewEnv) {
		none, err := e.NextReviewDue(e.ctx)
		require.NoError(e, err)
		require.Zero(e, none)
		w, _, ids := e.suspended(3, expiry(thread.Expiry{After: 10 * time.Hour, Action: "reject"}))
		id := w.run.ThreadID
		_, _, _ = e.suspended(1) // never due
		dues := func() (list []string) {
			due, err := e.DueReviews(e.ctx, 10)
			require.NoError(e, err)
			for _, r := range due {
				require.Equal(e, e.review(r.ThreadID, r.InterruptID), r)
				list = append(list, r.InterruptID)
			}
			return list
		}
		next := func() time.Time {
			at, err := e.NextReviewDue(e.ctx)
			require.NoError(e, err)
			return at
		}
		require.Empty(e, dues())
		require.True(e, e.review(id, ids[0]).WarnAt.Equal(next()))
		past := now().Add(-time.Minute)
		e.changed(e.review(id, ids[1]), func(c *thread.ReviewChange) { c.Terms.WarnAt = past })
		e.changed(e.review(id, ids[2]), func(c *thread.ReviewChange) { c.Terms.WarnAt, c.Terms.ExpiresAt = time.Time{}, past.Add(-time.Minute) })
		require.Equal(e, []string{ids[2], ids[1]}, dues())
		require.True(e, past.Add(-time.Minute).Equal(next()))
		due, err := e.DueReviews(e.ctx, 1)
		require.NoError(e, err)
		require.Len(e, due, 1)
		r := e.changed(e.review(id, ids[1]), func(c *thread.ReviewChange) { c.Terms.WarnAt, c.Audit.Action = time.Time{}, thread.AuditExpiring })
		require.Equal(e, ids[2:], dues())
		require.False(e, r.ExpiresAt.IsZero())
		e.admit(id, decide("d", "reject", answer(ids[2], "0")), byDeadline)
		require.Empty(e, dues())
		require.True(e, e.review(id, ids[0]).WarnAt.Equal(next()))
		e.admit(id, func(a *thread.Admission) { a.DropsPending = true; a.Strategy = "enqueue" })
		require.Zero(e, next())
	}),
}

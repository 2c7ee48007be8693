package transfer_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// reviewed is a store with reviews of all kinds, made without a service.
type reviewed struct {
	t *testing.T
	thread.Store
}

func reviewStore(t *testing.T, s thread.Store) reviewed {
	t.Helper()
	return reviewed{t: t, Store: s}
}

func as(t *testing.T, principal string) context.Context {
	t.Helper()
	return thread.WithActor(t.Context(), thread.Actor{Principal: principal, Kind: "user"})
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

// run starts a run on a thread.
func (s reviewed) run(threadID string, change ...func(*thread.Admission)) thread.Admitted {
	s.t.Helper()
	id := newUUID()
	a := thread.Admission{Strategy: "reject", CreateThread: &thread.Thread{ID: threadID, CreatedAt: time.Now()}, Claim: &thread.Claim{Worker: "w", Lease: time.Hour},
		Run: thread.Run{ID: id, ThreadID: threadID, GraphID: "g", Project: "p", Workspace: "w", CreatedAt: time.Now()}}
	for _, f := range change {
		f(&a)
	}
	admitted, err := s.AdmitRun(as(s.t, "ian"), a)
	require.NoError(s.t, err)
	return admitted
}

// ask asks a question for which a review is requested, or asks it again.
func (s reviewed) ask(a thread.Admitted, question, checkpoint string) string {
	s.t.Helper()
	c := thread.Commit{ID: a.Run.ID + "/1", Sync: true}
	if checkpoint == "" {
		checkpoint = newUUID()
		c.Checkpoints = []agent.CheckpointRecord{{ID: checkpoint, RunID: a.Run.ID, Metadata: []byte("{}"), State: []byte("{}")}}
	}
	c.Tasks = []agent.TaskRecord{{CheckpointID: checkpoint, TaskID: "t", Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{{ID: question, Value: json.RawMessage(`"<ok>?"`)}}}}
	c.Reviews = []thread.ReviewDraft{{InterruptID: question, Project: "p", Workspace: "w", ExecutionID: a.Run.ExecutionID, Agent: "g", Tool: "t", Tools: []string{"t"},
		Digest: "d", Text: "<Ask>", Expiry: &thread.Expiry{After: time.Hour, Action: "reject"}, Notify: []string{"/n"}}}
	_, err := s.Commit(s.t.Context(), *a.Lease, c)
	require.NoError(s.t, err)
	return checkpoint
}

func (s reviewed) suspend(a thread.Admitted) {
	s.t.Helper()
	_, err := s.Commit(s.t.Context(), *a.Lease, thread.Commit{ID: a.Run.ID + "/2", Sync: true,
		Finish: &thread.Finish{Status: thread.RunSuccess, Suspended: true, HasNext: true, At: time.Now()}})
	require.NoError(s.t, err)
}

func (s reviewed) asked(threadID, question string) string {
	s.t.Helper()
	a := s.run(threadID)
	checkpoint := s.ask(a, question, "")
	s.suspend(a)
	return checkpoint
}

func (s reviewed) decide(threadID, question string, expired bool) thread.Admitted {
	s.t.Helper()
	return s.run(threadID, func(a *thread.Admission) {
		a.Claim = nil
		a.Resume = &thread.ResumeAdmission{Fingerprint: "f", Expired: expired, Answers: []agent.Answer{{InterruptID: question, Value: json.RawMessage(`{"a": "<1>"}`), By: "ann"}},
			Outcomes: []thread.AnswerOutcome{{Decision: "approve", Notes: "so"}}}
	})
}

func (s reviewed) change(threadID, question string, change func(*thread.ReviewChange)) thread.Review {
	s.t.Helper()
	list, err := s.ThreadReviews(s.t.Context(), threadID)
	require.NoError(s.t, err)
	c := thread.ReviewChange{ThreadID: threadID, InterruptID: question, Version: list[0].Version, Terms: list[0].ReviewTerms, Audit: thread.AuditBody{Action: thread.AuditClaimed}}
	change(&c)
	r, err := s.ChangeReview(as(s.t, "ann"), c)
	require.NoError(s.t, err)
	return r
}

// fill makes reviews in every state, and what goes with them.
func (s reviewed) fill() (threads map[string]string, question string) {
	t := s.t
	t.Helper()
	question = "0123456789abcdef0123456789abcdef"
	threads = map[string]string{}
	for _, name := range []string{"open", "again", "decided", "expired", "superseded", "removed", "marked"} {
		threads[name] = newUUID()
	}
	s.asked(threads["open"], question)
	s.change(threads["open"], question, func(c *thread.ReviewChange) {
		c.Terms.Assignee, c.ClaimFor, c.Terms.Role, c.Terms.Escalations = "ann", time.Hour, "boss", 2
		c.Terms.Comments = []thread.Comment{{By: "ann", Text: "<hm>"}}
	})
	checkpoint := s.asked(threads["again"], question)
	next := s.run(threads["again"])
	s.ask(next, question, checkpoint)
	s.suspend(next)
	s.asked(threads["decided"], question)
	s.decide(threads["decided"], question, false)
	s.asked(threads["expired"], question)
	s.change(threads["expired"], question, func(c *thread.ReviewChange) { c.Terms.ExpiresAt = time.Now().Add(-time.Second) })
	s.decide(threads["expired"], question, true)
	s.asked(threads["superseded"], question)
	s.run(threads["superseded"], func(a *thread.Admission) { a.Claim, a.DropsPending = nil, true })
	s.asked(threads["removed"], question)
	require.NoError(t, s.DeleteThread(as(t, "dan"), threads["removed"]))
	marked := s.run(threads["marked"])
	s.ask(marked, question, "")
	_, _, err := s.RequestCancel(as(t, "rob"), threads["marked"], marked.Run.ID, "rollback", time.Now())
	require.NoError(t, err)
	require.NoError(t, s.ReleaseRun(t.Context(), *marked.Lease)) // a run that somebody leases doesn't move

	require.NoError(t, s.AppendAudit(as(t, "ann"), "p", "", thread.AuditBody{Action: thread.AuditPolicy, Notes: "<n>"}))
	require.NoError(t, s.AppendAudit(as(t, "ann"), "p", threads["decided"], thread.AuditBody{Action: thread.AuditRefused}))
	for i, id := range []string{"k1", "k2"} {
		require.NoError(t, s.CreateKey(as(t, "ann"), thread.Key{ID: id, Project: "p", Name: "<n>", Hash: "ff", Roles: []string{"owner"}, Agent: i == 0,
			ExpiresAt: time.Now().UTC().Truncate(time.Second)}, thread.AuditBody{}))
	}
	_, err = s.RevokeKey(as(t, "ann"), "k2", thread.AuditBody{})
	require.NoError(t, err)
	due, err := s.DueDeliveries(t.Context(), time.Now().Add(time.Hour), 1)
	require.NoError(t, err)
	require.NoError(t, s.FailDelivery(t.Context(), due[0].ID, "gone"))
	return threads, question
}

// seen is what there is to be seen of it.
func (s reviewed) seen(threads map[string]string, question string) map[string]string {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	all := map[string]string{}
	note := func(what string, v any, err error) {
		require.NoError(t, err, what)
		b, err := json.Marshal(v)
		require.NoError(t, err)
		all[what] = string(b)
	}
	_, err := s.SealAudit(ctx)
	require.NoError(t, err)
	for name, id := range threads {
		if name == "removed" {
			continue
		}
		list, err := s.ThreadReviews(ctx, id)
		note(name+" reviews", list, err)
		require.Len(t, list, 1)
		chain, err := s.ThreadAudit(ctx, id)
		note(name+" audit", chain, err)
		require.NoError(t, thread.VerifyThreadAudit(chain))
		for generation := int64(1); generation <= list[0].Generation; generation++ {
			r, err := s.GetReview(ctx, thread.ReviewID(id, question, generation))
			require.NoError(t, err)
			require.Equal(t, list[0], r)
		}
	}
	audit, err := s.ProjectAudit(ctx, "p", 0, 1000)
	note("audit", audit, err)
	require.NoError(t, thread.VerifyProjectAudit(audit))
	found, next, err := s.SearchReviews(ctx, thread.ReviewQuery{Project: "p"})
	note("found", found, err)
	require.Empty(t, next)
	keys, err := s.ListKeys(ctx, "p")
	note("keys", keys, err)
	executions, err := s.ListExecutions(ctx, thread.ExecutionQuery{Project: "p"})
	for i := range executions { // whoever ran it is gone
		executions[i].UpdatedAt = time.Time{}
	}
	note("executions", executions, err)
	dueAt, err := s.NextReviewDue(ctx)
	note("due", dueAt, err)
	dead, err := s.DeadDeliveries(ctx, 10)
	note("dead", dead, err)
	waiting, err := s.DueDeliveries(ctx, time.Now().Add(time.Hour), 1000)
	n := 0
	for _, d := range waiting {
		if d.ThreadID != threads["removed"] { // of which nothing could be told
			n++
		}
	}
	note("deliveries", n, err)
	return all
}

// goesOn does with it what was left to be done.
func (s reviewed) goesOn(threads map[string]string, question string) {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	s.decide(threads["open"], question, false)
	r, err := s.GetReview(ctx, thread.ReviewID(threads["open"], question, 1))
	require.NoError(t, err)
	require.Equal(t, thread.ReviewDecided, r.Status)

	var lease thread.Lease
	runs, err := s.Inflight(ctx, threads["marked"])
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, l, ok, err := s.ClaimRun(ctx, thread.Claim{Worker: "w", Lease: time.Hour, RunID: runs[0].ID, MaxAttempts: 9})
		require.NoError(t, err)
		lease = l
		return ok
	}, within, 10*time.Millisecond)
	_, err = s.Rollback(ctx, lease, nil)
	require.NoError(t, err)
	chain, err := s.ThreadAudit(ctx, threads["marked"])
	require.NoError(t, err)
	var b thread.AuditBody
	require.NoError(t, json.Unmarshal(chain[len(chain)-1].Body, &b))
	require.Equal(t, thread.AuditSuperseded, b.Action)
	require.Equal(t, "rob", b.Actor.Principal, "who asked for it is still known")

	require.NoError(t, s.CreateThread(ctx, thread.Thread{ID: threads["removed"], CreatedAt: time.Now()}))
	s.asked(threads["removed"], question)
	_, err = s.SealAudit(ctx)
	require.NoError(t, err)
	audit, err := s.ProjectAudit(ctx, "p", 0, 1000)
	require.NoError(t, err)
	require.NoError(t, thread.VerifyProjectAudit(audit))
	for name, id := range threads {
		chain, err := s.ThreadAudit(ctx, id)
		require.NoError(t, err)
		require.NotEmpty(t, chain)
		require.NoError(t, thread.VerifyThreadAudit(chain), name)
	}
}

// TestReviewsMove: reviews, the audit log, keys, executions and dead letters are what they were, and go on.
func TestReviewsMove(t *testing.T) {
	t.Parallel()
	for name, places := range map[string]func(*testing.T) [2]place{
		"by a file":      func(t *testing.T) [2]place { return [2]place{localPlace(t), localPlace(t)} },
		"local to Redis": func(t *testing.T) [2]place { return [2]place{localPlace(t), redisPlace(t, sharedRedis(t))} },
		"Redis to local": func(t *testing.T) [2]place { return [2]place{redisPlace(t, sharedRedis(t)), localPlace(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := places(t)
			s, err := p[0].open(t, false)
			require.NoError(t, err)
			threads, question := reviewStore(t, s).fill()
			require.NoError(t, s.Close())
			s, err = p[0].open(t, false)
			require.NoError(t, err)
			before := reviewStore(t, s).seen(threads, question)
			begin := tally(t, source(s))
			for _, kind := range []string{"reviews", "audit entries", "API keys"} {
				require.NotZero(t, begin.Sums[kind].Count, kind)
			}
			file := transfer.NewFile(filepath.Join(t.TempDir(), "dump"))
			_, err = transfer.Copy(t.Context(), source(s), file)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			move(t, file, p[1])
			moved := p[1].opened(t)
			require.Empty(t, begin.Differences(tally(t, source(moved))))
			after := reviewStore(t, moved).seen(threads, question)
			for what := range before {
				require.True(t, before[what] == after[what], "%s: %.2000s, not %.2000s", what, after[what], before[what])
			}
			reviewStore(t, moved).goesOn(threads, question)
		})
	}
}

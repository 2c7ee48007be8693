package redis_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// TestLuaHashesAsGo: the links of audit chains are hashed by scripts.
func TestLuaHashesAsGo(t *testing.T) {
	t.Parallel()
	client := rds.NewClient(&rds.Options{Addr: sharedServer(t).Addr(), DisableIdentity: true})
	defer client.Close()
	hash := rds.NewScript(redis.LuaSHA256())
	texts := []any{""}
	for n := range 200 { // every length around the ends of blocks
		texts = append(texts, strings.Repeat("x", n))
	}
	check := func(t require.TestingT, texts []any) {
		got, err := hash.Run(context.Background(), client, nil, texts...).StringSlice()
		require.NoError(t, err)
		for i, text := range texts {
			want := sha256.Sum256([]byte(text.(string)))
			require.Equal(t, hex.EncodeToString(want[:]), got[i])
		}
	}
	check(t, texts)
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(t, "bytes")
		check(t, []any{string(b)})
	})
}

// review is a question of a superstep, with a draft for it.
func review(c thread.Commit, ids ...string) thread.Commit {
	c.Tasks[0].Status = agent.TaskInterrupted
	for _, id := range ids {
		c.Tasks[0].Interrupts = append(c.Tasks[0].Interrupts, agent.InterruptInfo{ID: id, Value: raw(`{"q":"<ok>?"}`)})
		c.Reviews = append(c.Reviews, thread.ReviewDraft{InterruptID: id, Project: "p", Agent: "g", Tool: "send", Digest: "d", Text: "ok?",
			Expiry: &thread.Expiry{After: time.Hour, Action: "reject"}, Notify: []string{"/n"}})
	}
	return c
}

// asked asks questions on a new thread.
func (b *bundle) asked(t testing.TB, ids ...string) thread.Lease {
	t.Helper()
	l := b.started(t)
	_, err := b.Commit(b.ctx, l, review(superstep(l, 1), ids...))
	require.NoError(t, err)
	return l
}

func answers(l thread.Lease, id string) thread.Admission {
	a := admission(l.ThreadID)
	a.Run.Resumes = []string{id}
	a.Resume = &thread.ResumeAdmission{Fingerprint: "f", Answers: []agent.Answer{{InterruptID: id, Value: raw(`{"a":"<1>"}`), By: "ann"}}}
	return a
}

// project is the verified chain of a project, once nothing waits to be sealed.
func (b *bundle) project(t testing.TB, project string) []thread.AuditEntry {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := b.SealAudit(b.ctx)
		require.NoError(t, err)
		left, err := b.Unsealed(b.ctx, time.Now().Add(time.Hour), 10)
		require.NoError(t, err)
		return len(left) == 0
	}, 20*time.Second, 5*time.Millisecond)
	list, err := b.ProjectAudit(b.ctx, project, 0, 1000)
	require.NoError(t, err)
	require.NoError(t, thread.VerifyProjectAudit(list))
	return list
}

// failing makes scripts fail until the next call. It returns how often they did.
func (b *bundle) failing(names ...string) *atomic.Int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := &atomic.Int64{}
	b.fail = func(cmd string) error {
		if slices.Contains(names, strings.TrimPrefix(cmd, "evalsha ")) {
			failed.Add(1)
			return errCut
		}
		return nil
	}
	return failed
}

// TestDeletedThreadLeavesItsAuditOnly (D-83): reviews, dead letters and what is derived from them go with it.
func TestDeletedThreadLeavesItsAuditOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	before := b.keys(t)
	l := b.asked(t, "i", "j")
	_, err := b.AdmitRun(b.ctx, answers(l, "i"))
	require.NoError(t, err)
	due, err := b.DueDeliveries(b.ctx, time.Now().Add(time.Minute), 10)
	require.NoError(t, err)
	require.Len(t, due, 3)
	require.NoError(t, b.FailDelivery(b.ctx, due[0].ID, "no"))
	dead, err := b.DeadDeliveries(b.ctx, 10)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Greater(t, len(b.keys(t)), len(before)+15)
	require.NoError(t, b.DeleteThread(b.ctx, l.ThreadID))
	require.Len(t, b.project(t, "p"), 5, "two requests, a decision, what was open, the end")
	audit := b.prefix + "{projects}:"
	require.ElementsMatch(t, append(before, audit+"ends", audit+"sealed", audit+"audit:p"), b.keys(t))
}

// TestSuspensionTakesThreeRoundTrips: its reviews cost one beside the commit and what is
// derived, and a superstep without questions none.
func TestSuspensionTakesThreeRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	l := b.started(t)
	b.failing("chain") // who seals stays away
	require.Equal(t, []string{"evalsha mark, evalsha reviews", "evalsha commit", "evalsha derive"}, b.during(func() {
		_, err := b.Commit(b.ctx, l, review(superstep(l, 1), "i"))
		require.NoError(t, err)
	}))
	require.Equal(t, []string{"evalsha step"}, b.during(func() {
		c := superstep(l, 2)
		c.Checkpoints[0].NS = "other"
		_, err := b.Commit(b.ctx, l, c)
		require.NoError(t, err)
	}), "also on a thread that has reviews")
	require.Equal(t, []string{"evalsha mark, evalsha own, evalsha row, evalsha reviews", "evalsha admit", "evalsha derive"}, b.during(func() {
		_, err := b.AdmitRun(b.ctx, answers(l, "i"))
		require.NoError(t, err)
	}))
}

// TestSweeperRepairsReviews: a writer that dies between a transition and what is derived loses no review (decisions 4).
func TestSweeperRepairsReviews(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	l := b.started(t)
	b.failing("derive")
	_, err := b.Commit(b.ctx, l, review(superstep(l, 1), "i"))
	require.NoError(t, err, "the question is asked all the same")
	id := thread.ReviewID(l.ThreadID, "i", 1)
	_, err = b.GetReview(b.ctx, id)
	require.ErrorIs(t, err, thread.ErrNotFound)
	b.failing()
	require.NoError(t, b.SweepAll(b.ctx))
	r, err := b.GetReview(b.ctx, id)
	require.NoError(t, err)
	next, err := b.NextReviewDue(b.ctx)
	require.NoError(t, err)
	require.Equal(t, r.WarnAt, next)
	require.Len(t, b.project(t, "p"), 1)

	// A change of which nothing is derived is found by the next one.
	b.failing("derive")
	c := thread.ReviewChange{ThreadID: l.ThreadID, InterruptID: "i", Version: r.Version, Terms: r.ReviewTerms, Extend: 9 * time.Hour, Audit: thread.AuditBody{Action: thread.AuditExtended}}
	_, err = b.ChangeReview(b.ctx, c)
	require.ErrorIs(t, err, errCut)
	b.failing()
	require.NoError(t, b.AppendAudit(b.ctx, "p", l.ThreadID, thread.AuditBody{Action: thread.AuditRefused}))
	next, err = b.NextReviewDue(b.ctx)
	require.NoError(t, err)
	require.Greater(t, next, r.ExpiresAt)
	require.Len(t, b.project(t, "p"), 3)
}

// TestSupersededByAStep: a superstep that goes on without the answer ends the review, and what is derived from it.
func TestSupersededByAStep(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	l := b.asked(t, "i")
	_, err := b.Commit(b.ctx, l, superstep(l, 2))
	require.NoError(t, err)
	list, _, err := b.SearchReviews(b.ctx, thread.ReviewQuery{Project: "p", Statuses: []thread.ReviewStatus{thread.ReviewSuperseded}})
	require.NoError(t, err)
	require.Len(t, list, 1)
	next, err := b.NextReviewDue(b.ctx)
	require.NoError(t, err)
	require.Zero(t, next)
	require.Len(t, b.project(t, "p"), 2)
}

// TestSealingCutOff: whatever step a sealer dies before, each entry is sealed once.
func TestSealingCutOff(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"chain", "seal", "sealed", "derive"} {
		b := setup(t, slow)
		failed := b.failing("seal")
		l := b.asked(t, "i")
		require.Eventually(t, func() bool { return failed.Load() > 0 }, 20*time.Second, time.Millisecond, "the store seals by itself")
		left, err := b.Unsealed(b.ctx, time.Now().Add(time.Minute), 10)
		require.NoError(t, err)
		require.Len(t, left, 1)
		b.failing(at)
		_, err = b.SealAudit(b.ctx)
		require.ErrorIs(t, err, errCut)
		b.failing()
		require.Len(t, b.project(t, "p"), 1, at)
		chain, err := b.ThreadAudit(b.ctx, l.ThreadID)
		require.NoError(t, err)
		require.EqualValues(t, 1, chain[0].Seq, at)
		require.NotEmpty(t, chain[0].Seal, at)
	}
}

// TestLostSealsAreMadeAgain: after a fail-over the projects' slot may have lost what threads take for sealed.
func TestLostSealsAreMadeAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	first, second := b.asked(t, "i"), b.asked(t, "i")
	require.Len(t, b.project(t, "p"), 2)
	audit := b.prefix + "{projects}:"
	dumps := map[string]string{}
	for _, key := range []string{"ends", "sealed", "audit:p"} {
		dumps[key] = b.client.Dump(b.ctx, audit+key).Val()
	}
	for _, l := range []thread.Lease{first, first, second} {
		require.NoError(t, b.AppendAudit(b.ctx, "p", l.ThreadID, thread.AuditBody{Action: thread.AuditRefused}))
	}
	require.Len(t, b.project(t, "p"), 5)
	for key, dump := range dumps {
		require.NoError(t, b.client.RestoreReplace(b.ctx, audit+key, 0, dump).Err())
	}
	require.NoError(t, b.AppendAudit(b.ctx, "p", first.ThreadID, thread.AuditBody{Action: thread.AuditRefused}))
	require.Len(t, b.project(t, "p"), 5, "the next entry of a thread brings those before it")
	require.NoError(t, b.AuditAll(b.ctx))
	require.Len(t, b.project(t, "p"), 6)
	for _, l := range []thread.Lease{first, second} {
		chain, err := b.ThreadAudit(b.ctx, l.ThreadID)
		require.NoError(t, err)
		require.NoError(t, thread.VerifyThreadAudit(chain))
		require.NotZero(t, chain[len(chain)-1].Seq)
	}
}

// TestDeletionOfAReviewedThreadCutOff: it is gone at once, and its audit is complete whenever the rest follows.
func TestDeletionOfAReviewedThreadCutOff(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"chain", "seal", "sealed", "bury", "derive"} {
		b := setup(t, slow)
		l := b.asked(t, "i")
		require.Len(t, b.project(t, "p"), 1)
		b.failing(at)
		require.ErrorIs(t, b.DeleteThread(b.ctx, l.ThreadID), errCut)
		_, err := b.GetThread(b.ctx, l.ThreadID)
		require.ErrorIs(t, err, thread.ErrNotFound)
		b.failing()
		if at == "seal" { // nobody waits for the sweeper: the id can be taken at once
			require.NoError(t, b.CreateThread(b.ctx, thread.Thread{ID: l.ThreadID}))
			require.NoError(t, b.AppendAudit(b.ctx, "p", l.ThreadID, thread.AuditBody{Action: thread.AuditRefused}))
			require.Len(t, b.project(t, "p"), 4)
			require.NoError(t, b.DeleteThread(b.ctx, l.ThreadID))
			require.Len(t, b.project(t, "p"), 5)
		}
		require.NoError(t, b.SweepAll(b.ctx))
		list := b.project(t, "p")
		require.Contains(t, string(list[2].Body), thread.AuditDeleted)
		for _, key := range b.keys(t) {
			require.False(t, strings.Contains(key, l.ThreadID), "%s is left of a deletion cut off at %s", key, at)
		}
		_, err = b.GetReview(b.ctx, thread.ReviewID(l.ThreadID, "i", 1))
		require.ErrorIs(t, err, thread.ErrNotFound)
	}
}

// TestComparisonFindsLostReviews: after a fail-over a shard may be behind.
func TestComparisonFindsLostReviews(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	l := b.asked(t, "i")
	b.project(t, "p")
	dumps := map[string]string{}
	for _, key := range b.PartKeys(l.ThreadID) {
		dumps[key] = b.client.Dump(b.ctx, key).Val()
	}
	_, err := b.AdmitRun(b.ctx, answers(l, "i"))
	require.NoError(t, err)
	b.project(t, "p")
	for key, dump := range dumps {
		require.NoError(t, b.client.RestoreReplace(b.ctx, key, 0, dump).Err())
	}
	next, err := b.NextReviewDue(b.ctx)
	require.NoError(t, err)
	require.NotZero(t, next, "the shard takes it for open")
	require.NoError(t, b.AuditAll(b.ctx))
	next, err = b.NextReviewDue(b.ctx)
	require.NoError(t, err)
	require.Zero(t, next)
	list, _, err := b.SearchReviews(b.ctx, thread.ReviewQuery{Project: "p", Statuses: []thread.ReviewStatus{thread.ReviewDecided}})
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// TestOthersHearOfReviews: one hint for each transition that changes reviews.
func TestOthersHearOfReviews(t *testing.T) {
	t.Parallel()
	works := setup(t)
	other := setup(t, func(o *redis.Options) { o.Prefix = works.prefix })
	l, own := newListener(other.Store), newListener(works.Store)
	other.Subscribe(l)
	works.Subscribe(own)
	l.until(t, "it listens", func() bool { return l.work > 0 })
	own.until(t, "it listens", func() bool { return own.work > 0 })
	lease := works.asked(t, "i", "j")
	l.until(t, "two reviews, one hint", func() bool { return l.reviews["p"] == 1 })
	_, err := works.AdmitRun(works.ctx, answers(lease, "i"))
	require.NoError(t, err)
	l.until(t, "a decision", func() bool { return l.reviews["p"] == 2 })
	_, err = works.Commit(works.ctx, lease, superstep(lease, 2))
	require.NoError(t, err)
	l.until(t, "an end without one", func() bool { return l.reviews["p"] == 3 })
	require.NoError(t, works.AppendAudit(works.ctx, "p", lease.ThreadID, thread.AuditBody{Action: thread.AuditRefused}))
	require.NoError(t, works.DeleteThread(works.ctx, lease.ThreadID))
	l.until(t, "and no other", func() bool { return l.work > 1 && l.reviews["p"] == 3 })
	own.mu.Lock()
	defer own.mu.Unlock()
	require.Empty(t, own.reviews, "its user has told already")
}

// BenchmarkSuspension is a run that asks one question with a review, and ends there.
func BenchmarkSuspension(b *testing.B) {
	s := setup(b, slow)
	for n := 0; b.Loop(); n++ {
		l := s.started(b)
		_, err := s.Commit(b.Context(), l, finish(review(superstep(l, 1), fmt.Sprint("i", n))))
		require.NoError(b, err)
	}
}

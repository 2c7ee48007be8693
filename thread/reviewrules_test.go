package thread

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

func TestAWarningComesATenthBeforeTheDeadlineAtMostAnHour(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		policy     *Expiry
		away, want time.Duration
	}{
		{nil, 10 * time.Minute, time.Minute},
		{&Expiry{}, 100 * time.Hour, time.Hour},
		{&Expiry{Warn: 3 * time.Hour}, 100 * time.Hour, 3 * time.Hour},
		{&Expiry{Warn: 3 * time.Hour}, time.Hour, time.Hour},
	} {
		require.Equal(t, row.want, row.policy.WarnBefore(row.away), "%+v", row)
	}
}

func TestAReviewIsDueAtTheEarlierOfWarningAndDeadline(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	due := func(warn, expires time.Time, s ReviewStatus) time.Time {
		return Review{Status: s, ReviewTerms: ReviewTerms{WarnAt: warn, ExpiresAt: expires}}.Due()
	}
	require.Equal(t, early, due(early, late, ReviewPending))
	require.Equal(t, early, due(late, early, ReviewClaimed))
	require.Equal(t, late, due(time.Time{}, late, ReviewPending))
	require.Equal(t, late, due(late, time.Time{}, ReviewPending))
	require.Zero(t, due(time.Time{}, time.Time{}, ReviewPending))
	require.Zero(t, due(early, late, ReviewDecided))
}

func TestALapsedClaimIsNone(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	r := Review{Status: ReviewPending, ReviewTerms: ReviewTerms{Assignee: "ann", ClaimedUntil: at}}
	require.Equal(t, ReviewClaimed, r.AsOf(at.Add(-1)).Status)
	for _, now := range []time.Time{at, at.Add(1)} {
		got := r.AsOf(now)
		require.Equal(t, ReviewPending, got.Status)
		require.Empty(t, got.Assignee)
		require.Zero(t, got.ClaimedUntil)
	}
	r.Status = ReviewDecided
	require.Equal(t, r, r.AsOf(at.Add(time.Hour)), "an ended one keeps who had it")
}

func TestADeadlineIsTheSameForAnswersAndForItself(t *testing.T) { // D-103
	t.Parallel()
	at := time.Unix(100, 0)
	r := Review{InterruptID: "q", Status: ReviewPending, ReviewTerms: ReviewTerms{ExpiresAt: at}}
	for _, now := range []time.Time{at.Add(-1), at, at.Add(1)} {
		answer := (&ResumeAdmission{}).Check(r, agent.Answer{By: "ann"}, now)
		deadline := (&ResumeAdmission{Expired: true}).Check(r, agent.Answer{}, now)
		require.True(t, (answer == nil) != (deadline == nil), "one of both is accepted at any time")
		require.Equal(t, now.Before(at), answer == nil)
	}
	require.ErrorIs(t, (&ResumeAdmission{Expired: true}).Check(Review{}, agent.Answer{}, at), ErrConflict)
}

func TestCanonicalBodiesAreEqualForEqualContent(t *testing.T) {
	t.Parallel()
	a, err := AuditBody{Action: "x", Shown: json.RawMessage(` {"b": [1.50, "<é>"], "a": null} `)}.Canonical()
	require.NoError(t, err)
	require.Equal(t, `{"action":"x","actor":{},"shown":{"a":null,"b":[1.50,"<é>"]}}`, string(a))
	var again AuditBody
	require.NoError(t, json.Unmarshal(a, &again))
	b, err := again.Canonical()
	require.NoError(t, err)
	require.Equal(t, string(a), string(b))
	_, err = AuditBody{Detail: json.RawMessage("{")}.Canonical()
	require.Error(t, err)
}

// TestAChainIsWhatItsDocumentationSays: the sums were computed with sha256sum.
func TestAChainIsWhatItsDocumentationSays(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1_700_000_000_000_001)
	first := AuditHash("", 1, at, []byte(`{}`))
	require.Equal(t, "4c480afd4329be6bb1a9763a39ec2fdbe0addb2232c98725c1e5e05e78d53055", first)
	require.NotEqual(t, first, AuditHash("", 0, at, []byte(`{}`)))
	seal := AuditSeal("", 1, "t", first)
	list := []AuditEntry{{Project: "p", Seq: 1, Seal: seal, ThreadID: "t", ThreadSeq: 1, At: at, Hash: first, Body: json.RawMessage("{}")}}
	require.NoError(t, VerifyProjectAudit(list))
	require.NoError(t, VerifyThreadAudit(list))
	require.NoError(t, VerifyProjectAudit(nil))
	list[0].ThreadID = ""
	require.Error(t, VerifyProjectAudit(list))
	require.Error(t, VerifyThreadAudit(list))
}

package thread

import (
	"context"
	"errors"
	"time"

	"github.com/parley-dev/parley/agent"
)

const (
	// deadlinesIdle is how often deadlines are looked at although none is due: word of a change may be lost.
	deadlinesIdle = time.Minute
	// deadlinesPause is how long the loop leaves what other processes tell of unheard after it has looked.
	deadlinesPause = 500 * time.Millisecond
	deadlinesBatch = 100
	// deadlineRetry is the first pause before a deadline that couldn't be carried out is tried again; it doubles up to longestDeadlineRetry.
	deadlineRetry        = 10 * time.Second
	longestDeadlineRetry = 10 * time.Minute
	// deadlineSkew is the pause when the store's clock is behind ours.
	deadlineSkew = 50 * time.Millisecond
)

// deadlines carries out what a review's policy says of its deadline. Every process may: whether the
// time has come, and that it happens once, is decided by the store's transitions (D-103).
type deadlines struct {
	s    *Service
	call chan struct{}
	// word is that another process has changed reviews.
	word chan struct{}
	// failed are reviews whose deadline couldn't be carried out. Only the loop uses it.
	failed map[string]failedDeadline
}

// failedDeadline is when a deadline is tried again, and after which pause.
type failedDeadline struct {
	again time.Time
	pause time.Duration
}

func newDeadlines(s *Service) *deadlines {
	return &deadlines{s: s, call: make(chan struct{}, 1), word: make(chan struct{}, 1), failed: map[string]failedDeadline{}}
}

// wake makes the loop look at once: the next deadline may have changed.
func (d *deadlines) wake() { signal(d.call) }

// hear makes the loop look soon: another process may have changed the next deadline. That
// is told of each review of every process, so that it is heard now and then only.
func (d *deadlines) hear() { signal(d.word) }

func (d *deadlines) loop(ctx context.Context) {
	ctx = WithActor(ctx, Actor{Kind: "system", Via: "deadline"})
	for ctx.Err() == nil {
		wait := d.round(ctx)
		next := d.s.clock.Now().Add(wait)
		pause := min(wait, deadlinesPause)
		if !d.s.sleepUnless(ctx, pause, d.call) {
			continue
		}
		if rest := next.Sub(d.s.clock.Now()); rest > 0 {
			d.s.sleepUnless(ctx, rest, d.call, d.word)
		}
	}
}

// round carries out what is due and returns when to look again.
func (d *deadlines) round(ctx context.Context) time.Duration {
	limit := deadlinesBatch + len(d.failed) // those that wait for another try don't hide the others
	due, err := d.s.store.DueReviews(ctx, limit)
	if err != nil {
		d.s.complain(ctx, "look for due reviews", err)
		return deadlineRetry
	}
	now, wait, done := d.s.clock.Now(), deadlinesIdle, false
	still := map[string]failedDeadline{}
	for _, r := range due {
		before := d.failed[r.ID]
		if before.again.After(now) {
			still[r.ID] = before
			wait = min(wait, before.again.Sub(now))
			continue
		}
		if ctx.Err() != nil {
			return 0
		}
		switch err := d.act(ctx, r); {
		case err == nil, errors.Is(err, ErrNotFound):
			done = true
		case errors.Is(err, ErrConflict): // somebody was faster, or its time hasn't come
			wait = min(wait, deadlineSkew)
		default:
			d.s.complain(ctx, "carry out the deadline of review "+r.ID, err)
			pause := min(max(2*before.pause, deadlineRetry), longestDeadlineRetry)
			still[r.ID] = failedDeadline{now.Add(pause), pause}
			wait = min(wait, pause)
		}
	}
	d.failed = still
	if done && len(due) == limit {
		return 0
	}
	next, err := d.s.store.NextReviewDue(ctx)
	switch {
	case err != nil:
		d.s.complain(ctx, "look for the next deadline", err)
		return deadlineRetry
	case next.IsZero():
		return wait
	case !next.After(now): // due already: it failed, or came meanwhile
		if len(still) == 0 {
			return min(wait, deadlineSkew)
		}
		return wait
	}
	return min(wait, next.Sub(now))
}

// act carries out what is due of a review: its warning, its escalation or its end.
func (d *deadlines) act(ctx context.Context, r Review) error {
	now := d.s.clock.Now()
	switch {
	case !r.WarnAt.IsZero() && (r.ExpiresAt.IsZero() || r.ExpiresAt.After(now)):
		return d.warn(ctx, r)
	case r.ExpiresAt.IsZero():
		return nil
	case r.Expiry != nil && r.Expiry.Action == agent.ExpireEscalate && r.Escalations == 0:
		return d.escalate(ctx, r)
	}
	return d.end(ctx, r)
}

// warn announces that a deadline is near.
func (d *deadlines) warn(ctx context.Context, r Review) error {
	c := ReviewChange{ThreadID: r.ThreadID, InterruptID: r.InterruptID, Version: r.Version, Terms: r.ReviewTerms, Audit: auditOf(ctx, AuditExpiring, r)}
	c.Audit.Detail = encodeJSON(map[string]string{"expires_at": stamp(r.ExpiresAt)})
	c.Terms.WarnAt = time.Time{}
	return d.change(ctx, c, r)
}

// escalate hands a review to the role of its policy, for the same time again. Who had claimed it hasn't any more.
func (d *deadlines) escalate(ctx context.Context, r Review) error {
	c := ReviewChange{ThreadID: r.ThreadID, InterruptID: r.InterruptID, Version: r.Version, Terms: r.ReviewTerms, Audit: auditOf(ctx, AuditEscalated, r)}
	next := d.s.clock.Now().Add(r.Expiry.After)
	c.Audit.Detail = encodeJSON(map[string]string{"role": r.Expiry.Role, "expires_at": stamp(next)})
	c.Terms.Role, c.Terms.Escalations = r.Expiry.Role, r.Escalations+1
	c.Terms.Assignee, c.Terms.ClaimedUntil = "", time.Time{}
	c.Terms.ExpiresAt, c.Terms.WarnAt, c.Extend = next, d.s.warnAt(r, next), r.Expiry.After
	return d.change(ctx, c, r)
}

func (d *deadlines) change(ctx context.Context, c ReviewChange, r Review) error {
	if _, err := d.s.store.ChangeReview(ctx, c); err != nil {
		return err
	}
	d.s.reviewsChanged(r.Project)
	d.s.outbox.wakeFor(r)
	return nil
}

// end answers a question in the place of the person who didn't. The run that asked goes on (D-95, D-104).
func (d *deadlines) end(ctx context.Context, r Review) error {
	start, err := d.s.continuation(ctx, r, StartRun{})
	if err != nil {
		return err
	}
	start.Command = encodeJSON(map[string]any{"resume": object{r.InterruptID: r.expiredAnswer()}})
	start.expired = true
	_, err = d.s.StartRun(ctx, start)
	var resume *agent.ResumeError
	var decided *AlreadyDecidedError
	if errors.As(err, &decided) || errors.As(err, &resume) && resume.Code == agent.InterruptNotPending {
		return ErrConflict // somebody was faster
	}
	return err
}

// expiredAnswer is what the asking node gets when nobody decided in time.
func (r *Review) expiredAnswer() []byte {
	if r.Expiry != nil && len(r.Expiry.Answer) > 0 {
		return r.Expiry.Answer
	}
	return encodeJSON(map[string]string{"decision": agent.DecisionExpired})
}

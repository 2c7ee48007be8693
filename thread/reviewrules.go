package thread

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
)

// NewReview is the review of a question that is asked for the first time, at store time now.
func NewReview(q OpenInterrupt, d ReviewDraft, now time.Time) Review {
	if d.Project == "" {
		d.Project = DefaultProject
	}
	if d.Workspace == "" {
		d.Workspace = DefaultWorkspace
	}
	d.InterruptID = ""
	r := Review{ReviewDraft: d, Status: ReviewPending, CreatedAt: now, UpdatedAt: now, Version: 1}
	if d.Expiry != nil && d.Expiry.After > 0 {
		r.ExpiresAt = now.Add(d.Expiry.After)
		r.WarnAt = r.ExpiresAt.Add(-d.Expiry.WarnBefore(d.Expiry.After))
	}
	return r.of(q)
}

// of makes it the review of a question as it was asked.
func (r Review) of(q OpenInterrupt) Review {
	r.ID = ReviewID(q.ThreadID, q.ID, q.Generation)
	r.ThreadID, r.InterruptID, r.RunID, r.NS, r.CheckpointID, r.Generation = q.ThreadID, q.ID, q.RunID, q.NS, q.CheckpointID, q.Generation
	r.Payload, r.ResponseSchema = q.Value, q.ResponseSchema
	return r
}

// AskAgain is the review when its question is asked again, with another draft or,
// nil, the same. requested is false when that changes nothing: it is open, of that
// generation already, and shows the same (Digest).
func (r Review) AskAgain(q OpenInterrupt, d *ReviewDraft, now time.Time) (again Review, requested bool) {
	if d == nil {
		d = &r.ReviewDraft
	}
	if r.Status.Open() && r.Generation == q.Generation && r.Digest == d.Digest {
		return r, false
	}
	again = NewReview(q, *d, now)
	again.Version = r.Version + 1
	if r.Status.Open() {
		again.CreatedAt, again.ReviewTerms = r.CreatedAt, r.ReviewTerms
	}
	return again, true
}

// WarnBefore is how long before a deadline that is d away its warning is due. A
// nil policy has the default.
func (e *Expiry) WarnBefore(d time.Duration) time.Duration {
	warn := min(d/10, time.Hour)
	if e != nil && e.Warn > 0 {
		warn = e.Warn
	}
	return min(warn, d)
}

// AsOf is the review as it reads at store time now: a lapsed claim is none.
func (r Review) AsOf(now time.Time) Review {
	if !r.Status.Open() {
		return r
	}
	if r.Assignee == "" || !r.ClaimedUntil.After(now) {
		r.Assignee, r.ClaimedUntil = "", time.Time{}
	}
	r.Status = ReviewPending
	if r.Assignee != "" {
		r.Status = ReviewClaimed
	}
	return r
}

// Expired reports whether the deadline has come.
func (r Review) Expired(now time.Time) bool { return !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now) }

// Due is when a warning or the deadline of an open review is due; zero for never.
func (r Review) Due() time.Time {
	switch {
	case !r.Status.Open():
		return time.Time{}
	case r.WarnAt.IsZero() || !r.ExpiresAt.IsZero() && r.ExpiresAt.Before(r.WarnAt):
		return r.ExpiresAt
	}
	return r.WarnAt
}

// Check refuses an answer to an open review for its deadline or its claim, at store time now.
func (re *ResumeAdmission) Check(r Review, a agent.Answer, now time.Time) error {
	if re.Expired {
		if !r.Expired(now) {
			return fmt.Errorf("the deadline of interrupt %s has not come: %w", r.InterruptID, ErrConflict)
		}
		return nil
	}
	if r.Expired(now) {
		return &ReviewExpiredError{InterruptID: r.InterruptID, At: r.ExpiresAt}
	}
	if c := r.AsOf(now); re.RespectClaims && c.Assignee != "" && c.Assignee != a.By {
		return &ClaimedError{InterruptID: r.InterruptID, Assignee: c.Assignee, Until: c.ClaimedUntil}
	}
	return nil
}

// Decide is an open review once answer i of the admission is accepted, and the
// audit entry of that, still without an actor where the caller gave none.
func (re *ResumeAdmission) Decide(r Review, i int, runID string, now time.Time) (Review, AuditBody) {
	a, o := re.Answers[i], AnswerOutcome{}
	if i < len(re.Outcomes) {
		o = re.Outcomes[i]
	}
	if a.RunID != "" {
		runID = a.RunID
	}
	r.Decided = &Outcome{By: a.By, At: now, Decision: o.Decision, Notes: o.Notes, Answer: a.Value, RunID: runID}
	r.Status = ReviewDecided
	b := o.Audit
	if b.Action == "" {
		b.Action = AuditDecided
	}
	if re.Expired {
		r.Status, r.Decided.By = ReviewExpired, ""
		if o.Audit.Action == "" {
			b.Action = AuditExpired
		}
	}
	if b.Decision == "" {
		b.Decision = o.Decision
	}
	if b.Notes == "" {
		b.Notes = o.Notes
	}
	if b.Answer == nil {
		b.Answer = a.Value
	}
	if b.RunID == "" {
		b.RunID = runID
	}
	r.UpdatedAt, r.Version = now, r.Version+1
	return r, b.About(r)
}

// Request is the audit entry of a review that is requested.
func (r Review) Request(cause string) AuditBody {
	return AuditBody{Action: AuditRequested, Cause: cause, Shown: r.Payload}.About(r)
}

// Supersede ends an open review without a decision, with the audit entry of that.
func (r Review) Supersede(cause string, now time.Time) (Review, AuditBody) {
	r.Status, r.UpdatedAt, r.Version = ReviewSuperseded, now, r.Version+1
	return r, AuditBody{Action: AuditSuperseded, Cause: cause}.About(r)
}

// Reopen takes back the outcome of a review, with the audit entry of that, which names the run that brought it.
func (r Review) Reopen(cause string, now time.Time) (Review, AuditBody) {
	b := AuditBody{Action: AuditReopened, Cause: cause}
	if r.Decided != nil {
		b.RunID = r.Decided.RunID
	}
	r.Status, r.Decided, r.UpdatedAt, r.Version = ReviewPending, nil, now, r.Version+1
	return r, b.About(r)
}

// Copied is an open review as a copied thread has it, whose question is q.
func (r Review) Copied(q OpenInterrupt, now time.Time) Review {
	d := r.ReviewDraft
	d.ExecutionID = ""
	return NewReview(q, d, now)
}

// Apply is the review with the change at store time now.
func (c ReviewChange) Apply(r Review, now time.Time) (Review, error) {
	if !r.Status.Open() || r.Version != c.Version {
		return r, fmt.Errorf("the review of interrupt %s is %s, of version %d: %w", r.InterruptID, r.AsOf(now).Status, r.Version, ErrConflict)
	}
	puts := c.ClaimFor > 0 || c.Extend > 0 || !c.Terms.ExpiresAt.Equal(r.ExpiresAt) || c.Terms.ClaimedUntil.After(r.ClaimedUntil)
	if r.Expired(now) && puts && c.Audit.Action != AuditEscalated {
		return r, &ReviewExpiredError{InterruptID: r.InterruptID, At: r.ExpiresAt}
	}
	r.ReviewTerms = c.Terms
	r.Comments = slices.Clone(c.Terms.Comments)
	for i := range r.Comments {
		if r.Comments[i].At.IsZero() {
			r.Comments[i].At = now
		}
	}
	if c.ClaimFor > 0 {
		r.ClaimedUntil = now.Add(c.ClaimFor)
	}
	if c.Extend > 0 {
		r.ExpiresAt = now.Add(c.Extend)
		r.WarnAt = r.ExpiresAt.Add(-r.Expiry.WarnBefore(c.Extend))
	}
	r.UpdatedAt, r.Version = now, r.Version+1
	return r, nil
}

// Announcements are the deliveries of a review's audit entry: one for each address
// of Notify, with ids that are the same for the same entry.
func (r Review) Announcements(action string, e AuditEntry) []Delivery {
	if action == AuditCommented || action == AuditRefused {
		return nil
	}
	var list []Delivery
	for i, url := range r.Notify {
		list = append(list, Delivery{ID: fmt.Sprintf("%.32s-%d", e.Hash, i), ThreadID: r.ThreadID, RunID: r.RunID, URL: url,
			Due: e.At, Event: action, InterruptID: r.InterruptID})
	}
	return list
}

// Matches reports whether the query selects the review at store time now; paging isn't looked at.
func (q ReviewQuery) Matches(r Review, now time.Time) bool {
	r = r.AsOf(now)
	end := now
	if !r.Status.Open() {
		end = r.UpdatedAt
	}
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.Project, r.Project) && is(q.Workspace, r.Workspace) && is(q.Agent, r.Agent) && is(q.Assignee, r.Assignee) &&
		is(q.ExecutionID, r.ExecutionID) && is(q.ThreadID, r.ThreadID) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) &&
		(q.Tool == "" || q.Tool == r.Tool || slices.Contains(r.Tools, q.Tool)) &&
		(q.MinAge <= 0 || end.Sub(r.CreatedAt) >= q.MinAge) &&
		(q.Text == "" || strings.Contains(strings.ToLower(r.Text), strings.ToLower(q.Text))) &&
		(q.Keep == nil || q.Keep(r))
}

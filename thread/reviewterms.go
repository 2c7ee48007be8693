package thread

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Bounds of what reviewers may ask for.
const (
	// DefaultClaim is how long a claim lasts that says nothing else; LongestClaim is the most.
	DefaultClaim = 15 * time.Minute
	LongestClaim = 24 * time.Hour
	// LongestComment is in characters; MostComments bounds those of one review.
	LongestComment = 4000
	MostComments   = 200
	// LongestExtension bounds how far a deadline may be put off at once.
	LongestExtension = 366 * 24 * time.Hour
)

// Anonymous is the name, in claims and comments, of who wasn't authenticated.
const Anonymous = "anonymous"

// name is an actor's in claims and comments.
func (a Actor) name() string {
	if a.Principal == "" {
		return Anonymous
	}
	return a.Principal
}

// ClaimReview takes a review for the actor of ctx, so that others see that it is being looked at, and,
// where they respect claims, can't decide it. A claim lasts for d (default DefaultClaim, at most LongestClaim);
// claiming an own one again starts it anew. Errors: *NotFoundError, *ClaimedError, *ReviewClosedError,
// *ReviewExpiredError, *MayNotDecideError, *InvalidInputError, ErrConflict.
func (s *Service) ClaimReview(ctx context.Context, id string, d time.Duration) (Review, error) {
	if d == 0 {
		d = DefaultClaim
	}
	if d < 0 || d > LongestClaim {
		return Review{}, &InvalidInputError{Path: []string{"for"}, Message: fmt.Sprintf("a claim lasts at most %s", LongestClaim)}
	}
	return s.changeReview(ctx, id, true, func(r Review, c *ReviewChange) error {
		who := ActorFrom(ctx).name()
		if r.Status == ReviewClaimed && r.Assignee != who {
			return claimed(r)
		}
		c.Audit.Action = AuditClaimed
		c.Terms.Assignee, c.ClaimFor = who, d
		return nil
	})
}

// ReleaseReview ends the actor's own claim; without one it does nothing. Errors: as ClaimReview.
func (s *Service) ReleaseReview(ctx context.Context, id string) (Review, error) {
	return s.changeReview(ctx, id, false, func(r Review, c *ReviewChange) error {
		if r.Status != ReviewClaimed {
			return errUnchanged
		}
		if r.Assignee != ActorFrom(ctx).name() {
			return claimed(r)
		}
		c.Audit.Action = AuditReleased
		c.Terms.Assignee, c.Terms.ClaimedUntil = "", time.Time{}
		return nil
	})
}

// ExtendReview puts a deadline off: by a duration, or, with until set, to a time. Errors: as ClaimReview, and
// *InvalidInputError for a review without deadline or a time that isn't later.
func (s *Service) ExtendReview(ctx context.Context, id string, by time.Duration, until time.Time) (Review, error) {
	return s.changeReview(ctx, id, true, func(r Review, c *ReviewChange) error {
		if r.ExpiresAt.IsZero() {
			return &InvalidInputError{Path: []string{"review_id"}, Message: "the review has no deadline"}
		}
		next := until
		if next.IsZero() {
			next = r.ExpiresAt.Add(by)
		}
		if !next.After(r.ExpiresAt) {
			return &InvalidInputError{Path: []string{"until"}, Message: "the new deadline must be later than " + stamp(r.ExpiresAt)}
		}
		if next.After(s.clock.Now().Add(LongestExtension)) {
			return &InvalidInputError{Path: []string{"until"}, Message: fmt.Sprintf("a deadline is at most %d days away", int(LongestExtension.Hours()/24))}
		}
		c.Audit.Action = AuditExtended
		c.Audit.Detail = encodeJSON(map[string]string{"from": stamp(r.ExpiresAt), "to": stamp(next)})
		c.Terms.ExpiresAt, c.Terms.WarnAt = next, s.warnAt(r, next)
		return nil
	})
}

// CommentReview adds the actor's remark. Errors: *NotFoundError, *ReviewClosedError, *InvalidInputError, ErrConflict.
func (s *Service) CommentReview(ctx context.Context, id, remark string) (Review, error) {
	if n := utf8.RuneCountInString(remark); n == 0 || n > LongestComment {
		return Review{}, &InvalidInputError{Path: []string{"text"}, Message: fmt.Sprintf("a comment has 1 to %d characters", LongestComment)}
	}
	return s.changeReview(ctx, id, false, func(r Review, c *ReviewChange) error {
		if len(r.Comments) >= MostComments {
			return &InvalidInputError{Path: []string{"text"}, Message: fmt.Sprintf("a review has at most %d comments", MostComments)}
		}
		c.Audit.Action, c.Audit.Notes = AuditCommented, remark
		c.Terms.Comments = append(c.Terms.Comments[:len(c.Terms.Comments):len(c.Terms.Comments)],
			Comment{By: ActorFrom(ctx).name(), At: s.clock.Now(), Text: remark})
		return nil
	})
}

// errUnchanged leaves a review as it is.
var errUnchanged = errors.New("thread: nothing to change")

// changeReview stores a change of a review's terms. deciding asks whether the actor may decide the review, too.
func (s *Service) changeReview(ctx context.Context, id string, deciding bool, change func(r Review, c *ReviewChange) error) (Review, error) {
	for range admissionTries {
		r, err := s.Review(ctx, id)
		if err != nil {
			return Review{}, err
		}
		if err := s.stillOpen(r); err != nil {
			return Review{}, err
		}
		if deciding {
			if err := s.mayDecide(ctx, r); err != nil {
				return Review{}, err
			}
		}
		c := ReviewChange{
			ThreadID: r.ThreadID, InterruptID: r.InterruptID, Version: r.Version, Terms: r.ReviewTerms, Audit: auditOf(ctx, "", r),
		}
		switch err := change(r, &c); {
		case errors.Is(err, errUnchanged):
			return r, nil
		case err != nil:
			return Review{}, err
		}
		changed, err := s.store.ChangeReview(ctx, c)
		if err == nil {
			s.reviewsChanged(r.Project)
			s.outbox.wakeFor(r)
			return changed, nil
		}
		if !errors.Is(err, ErrConflict) {
			return Review{}, notFound(err, "review", id)
		}
	}
	return Review{}, ErrConflict
}

// stillOpen refuses what needs an open review before its deadline.
func (s *Service) stillOpen(r Review) error {
	if !r.Status.Open() {
		return &ReviewClosedError{Review: r}
	}
	if !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(s.clock.Now()) {
		return &ReviewExpiredError{InterruptID: r.InterruptID, At: r.ExpiresAt, ReviewID: r.ID}
	}
	return nil
}

func claimed(r Review) error {
	return &ClaimedError{InterruptID: r.InterruptID, Assignee: r.Assignee, Until: r.ClaimedUntil, ReviewID: r.ID}
}

// warnAt is when the warning before a deadline is due; zero for none.
func (s *Service) warnAt(r Review, deadline time.Time) time.Time {
	if r.Expiry == nil {
		return time.Time{}
	}
	at := deadline.Add(-r.Expiry.WarnBefore(r.Expiry.After))
	if !at.After(s.clock.Now()) {
		return time.Time{}
	}
	return at
}

// mayDecide asks Options.MayDecide about the actor of ctx. Errors: *MayNotDecideError.
func (s *Service) mayDecide(ctx context.Context, r Review) error {
	if s.opts.MayDecide == nil {
		return nil
	}
	if err := s.opts.MayDecide(ctx, ActorFrom(ctx), r); err != nil {
		return &MayNotDecideError{ReviewID: r.ID, InterruptID: r.InterruptID, Err: err}
	}
	return nil
}

// auditOf is an audit entry about a review, of the actor of ctx.
func auditOf(ctx context.Context, action string, r Review) AuditBody {
	return AuditBody{Action: action, Actor: ActorFrom(ctx)}.About(r)
}

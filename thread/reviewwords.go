package thread

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-dev/parley/agent"
)

// longestWord bounds what an error repeats of a decision, in characters.
const longestWord = 60

// about names what was asked: the review, as people find it, or the interrupt.
func about(reviewID, interruptID string) string {
	if reviewID != "" {
		return "review " + reviewID
	}
	return "interrupt " + interruptID
}

// decidedWords says who decided what, and when.
func decidedWords(about, by, decision string, at time.Time) string {
	if by == "" && decision == agent.DecisionExpired {
		return expiredWords(about, at)
	}
	var b strings.Builder
	b.WriteString(about + " was decided")
	if by != "" {
		b.WriteString(" by " + by)
	}
	if decision != "" {
		b.WriteString(" (" + shortened(oneLine(decision)) + ")")
	}
	if !at.IsZero() {
		b.WriteString(" at " + stamp(at))
	}
	return b.String()
}

// expiredWords says when a deadline came.
func expiredWords(about string, at time.Time) string {
	return about + " expired at " + stamp(at) + ", before anybody decided"
}

// outcomeWords says how a review ended, or what it is.
func (r *Review) outcomeWords() string {
	name := about(r.ID, r.InterruptID)
	switch {
	case r.Status == ReviewExpired && r.Decided == nil:
		return expiredWords(name, r.ExpiresAt)
	case r.Status == ReviewExpired:
		return expiredWords(name, r.Decided.At)
	case r.Decided != nil:
		return decidedWords(name, r.Decided.By, r.Decided.Decision, r.Decided.At)
	}
	return name + " is " + string(r.Status)
}

func shortened(s string) string {
	if utf8.RuneCountInString(s) <= longestWord {
		return s
	}
	return string([]rune(s)[:longestWord]) + "…"
}

// named gives a refusal that is about a question the name of its review, which is what people know it by.
func (s *Service) named(ctx context.Context, threadID string, err error) error {
	var (
		decided *AlreadyDecidedError
		expired *ReviewExpiredError
		claimed *ClaimedError
		id      string
	)
	switch {
	case errors.As(err, &decided):
		id = decided.InterruptID
	case errors.As(err, &expired):
		id = expired.InterruptID
	case errors.As(err, &claimed):
		id = claimed.InterruptID
	default:
		return err
	}
	list, failed := s.store.ThreadReviews(ctx, threadID)
	if failed != nil {
		return err // which says enough
	}
	for _, r := range list {
		if r.InterruptID != id {
			continue
		}
		switch {
		case decided != nil:
			decided.ReviewID = r.ID
			if r.Decided != nil {
				decided.Decision, decided.Answer.At = r.Decided.Decision, r.Decided.At // the time in the log
			}
		case expired != nil:
			expired.ReviewID = r.ID
		default:
			claimed.ReviewID = r.ID
		}
	}
	return err
}

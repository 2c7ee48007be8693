package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/thread"
)

// ChangeReview implements thread.Reviews.
func (s *Store) ChangeReview(ctx context.Context, c thread.ReviewChange) (thread.Review, error) {
	a, list, err := s.readReviews(ctx, c.ThreadID, c.InterruptID)
	if isNotFound(err) || err == nil && len(list) == 0 {
		return thread.Review{}, noReview(c.InterruptID)
	}
	if err != nil {
		return thread.Review{}, err
	}
	r := list[0].Review
	if _, err := c.Apply(r, a.now); err != nil { // the script looks again, at what the review is by then
		return thread.Review{}, err
	}
	audit, err := newEntry(ctx, c.Audit.About(r))
	if err != nil {
		return thread.Review{}, err
	}
	args := append([]any{newOp()}, s.channelArgs(c.ThreadID)...)
	args = append(args, c.InterruptID, c.Version, c.Terms.Assignee, micros(c.Terms.ClaimedUntil), micros(c.Terms.ExpiresAt), micros(c.Terms.WarnAt),
		c.Terms.Role, c.Terms.Escalations)
	pieces, err := commentPieces(c.Terms.Comments)
	if err != nil {
		return thread.Review{}, err
	}
	args = append(args, len(pieces))
	for _, p := range pieces {
		args = append(args, p)
	}
	refuses := c.Audit.Action != thread.AuditEscalated && (c.ClaimFor > 0 || c.Extend > 0)
	args = append(args, max(c.ClaimFor, 0).Microseconds(), max(c.Extend, 0).Microseconds(), r.Expiry.WarnBefore(c.Extend).Microseconds(), refuses, c.Audit.Action)
	_, reply, err := s.changeReply(ctx, c.ThreadID, "review", append(args, audit.args()...), derived{})
	if isNotFound(err) {
		err = noReview(c.InterruptID)
	}
	if err != nil {
		return thread.Review{}, err
	}
	now := timeOf(reply.int())
	changed, err := takeReview(c.ThreadID, &reply)
	return changed.AsOf(now), err
}

// commentPieces are the comments as they are stored, cut where the store's time belongs.
func commentPieces(list []thread.Comment) (pieces []string, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	var b strings.Builder
	for i, c := range list {
		by, err := encodeJSON(c.By)
		if err != nil {
			return nil, err
		}
		text, err := encodeJSON(c.Text)
		if err != nil {
			return nil, err
		}
		b.WriteString(map[bool]string{true: "[", false: ","}[i == 0])
		fmt.Fprintf(&b, `{"by":%s,"at":`, by)
		if c.At.IsZero() {
			pieces = append(pieces, b.String())
			b.Reset()
		} else {
			b.WriteString(strconv.FormatInt(micros(c.At), 10))
		}
		fmt.Fprintf(&b, `,"text":%s}`, text)
	}
	return append(pieces, b.String()+"]"), nil
}

// refusal is the error of a script that refused an answer or a change for a review's deadline or claim.
func refusal(status string, r *reply) error {
	switch status {
	case "EXPIRED":
		return &thread.ReviewExpiredError{InterruptID: r.text(), At: timeOf(r.int())}
	case "CLAIMED":
		return &thread.ClaimedError{InterruptID: r.text(), Assignee: r.text(), Until: timeOf(r.int())}
	}
	return nil
}

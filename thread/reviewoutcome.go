package thread

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-dev/parley/agent"
)

// reviewed finds the reviews of the questions that are answered, and asks whether the actor may decide them. A
// question without a review has nil. Errors: *MayNotDecideError.
func (s *Service) reviewed(ctx context.Context, d *draft, answers []agent.Answer) ([]*Review, error) {
	if len(answers) == 0 {
		return nil, nil
	}
	found := make([]*Review, len(answers))
	for i, a := range answers {
		r, err := s.reviewOf(ctx, d, a.InterruptID)
		if err != nil {
			return nil, err
		}
		if found[i] = r; r == nil || d.request.expired {
			continue
		}
		asked := *r
		asked.Tools = append(slices.Clone(r.Tools), editedTo(read(r.Payload, r.ResponseSchema), a.Value)...) // what will run counts, too
		if err := s.mayDecide(ctx, asked); err != nil {
			return nil, err
		}
		if err := checkNotes(*r, a, d.open); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// reviewOf finds the review of an open question; nil when it has none.
func (s *Service) reviewOf(ctx context.Context, d *draft, interruptID string) (*Review, error) {
	for _, q := range d.open {
		if q.ID != interruptID {
			continue
		}
		r, err := s.store.GetReview(ctx, ReviewID(d.thread.ID, q.ID, q.Generation))
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return &r, err
	}
	return nil, nil
}

// outcomes says what answers mean for their reviews.
func outcomes(ctx context.Context, d *draft, answers []agent.Answer, reviews []*Review) []AnswerOutcome {
	if reviews == nil {
		return nil
	}
	all := make([]AnswerOutcome, len(answers))
	for i, a := range answers {
		r := reviews[i]
		if r == nil {
			continue
		}
		q := read(r.Payload, r.ResponseSchema)
		o := &all[i]
		o.Decision, o.Notes = decisionOf(q, a.Value)
		if d.request.notes != "" {
			o.Notes = d.request.notes
		}
		o.Audit = auditOf(ctx, AuditDecided, *r)
		if d.request.expired {
			o.Decision, o.Notes = agent.DecisionExpired, ""
			o.Audit.Action = AuditExpired
		} else if o.Audit.Actor.Principal == "" {
			o.Audit.Actor.Principal = d.request.Principal
		}
		o.Audit.RunID = d.run.ID
		o.Audit.Decision, o.Audit.Notes, o.Audit.Answer, o.Audit.Shown = o.Decision, o.Notes, a.Value, r.Payload
	}
	return all
}

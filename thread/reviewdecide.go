package thread

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/parley-dev/parley/agent"
)

// ReviewDecision decides a review: by a whole answer, in the form that the question wants, or by a flat
// decision with notes, which fits every question that has nothing to fill in (spec/executions.md 3).
// Who decides is the actor of the context.
type ReviewDecision struct {
	ReviewID string
	// Answer, when set, is the whole answer; Decision is not looked at then, and Notes, if there are any, are
	// audited in place of those in the answer; the agent gets them, too, of agent.Review.
	Answer   json.RawMessage
	Decision string
	Notes    string
	// Update and Goto go with the answer, in the same superstep, as in a Command (spec/runtime.md 5). Default: nothing.
	Update, Goto json.RawMessage
	// Generation, when above 0, is that of the suspension that the reviewer saw.
	Generation int64
	// IdempotencyKey makes the decision repeatable.
	IdempotencyKey string
	// RespectClaims refuses the decision while somebody else has claimed the review.
	RespectClaims bool
	// Run completes the run that goes on with the answer: stream modes, custom headers, user and so on. What is
	// absent there is that of the run that asked. ThreadID, Command and Principal are not looked at.
	Run StartRun
}

// DecideReview answers the question of a review, by the same fenced transition as every other resume. The
// review is returned as it is then, also with an error that is about it. An equal decision of the same
// principal is a repeat and gets the first run. Errors: those of StartRun; *NotFoundError, *DecisionError, *GenerationError,
// *ReviewClosedError (superseded), *ReviewExpiredError, *ClaimedError, *MayNotDecideError.
func (s *Service) DecideReview(ctx context.Context, d ReviewDecision) (Started, Review, error) {
	r, err := s.Review(ctx, d.ReviewID)
	if err != nil {
		return Started{}, Review{}, err
	}
	start, err := s.decision(ctx, d, r)
	if err != nil {
		s.auditRefused(ctx, r, d.attempt(), err)
		return Started{}, r, err
	}
	started, err := s.StartRun(ctx, start)
	if now, e := s.Review(ctx, d.ReviewID); e == nil {
		r = now
	}
	var resume *agent.ResumeError
	if errors.As(err, &resume) && (resume.Code == agent.InterruptNotPending || resume.Code == agent.NothingPending) {
		switch r.Status {
		case ReviewSuperseded:
			err = &ReviewClosedError{Review: r}
		case ReviewExpired:
			err = &ReviewExpiredError{InterruptID: r.InterruptID, At: r.ExpiresAt, ReviewID: r.ID}
		}
	}
	return started, r, err
}

// attempt is what was decided, as the audit log keeps it of a decision that was refused.
func (d *ReviewDecision) attempt() json.RawMessage {
	if d.Answer != nil {
		return d.Answer
	}
	return encodeJSON(map[string]string{"decision": d.Decision, notesKey: d.Notes})
}

// decision is the run that goes on with the answer.
func (s *Service) decision(ctx context.Context, d ReviewDecision, r Review) (StartRun, error) {
	if d.Generation > 0 && d.Generation != r.Generation {
		return StartRun{}, &GenerationError{Given: d.Generation, Current: r.Generation}
	}
	if err := s.mayDecide(ctx, r); err != nil {
		return StartRun{}, err
	}
	if len(d.Notes) > LongestNotes {
		return StartRun{}, &DecisionError{Code: DecisionLongNotes, Decision: d.Decision, Allowed: r.AllowedDecisions, Message: tooLong(d.Notes)}
	}
	answer := d.Answer
	if answer == nil {
		var err error
		if answer, err = flatAnswer(r, d.Decision, d.Notes); err != nil {
			return StartRun{}, err
		}
	} else {
		answer = withNotes(r, answer, d.Notes)
	}
	if d.RespectClaims && r.Status == ReviewClaimed && r.Assignee != ActorFrom(ctx).name() {
		return StartRun{}, claimed(r)
	}
	start, err := s.continuation(ctx, r, d.Run)
	if err != nil {
		return StartRun{}, err
	}
	command := object{"resume": encodeJSON(object{r.InterruptID: answer})}
	if len(d.Update) > 0 {
		command["update"] = d.Update
	}
	if len(d.Goto) > 0 {
		command["goto"] = d.Goto
	}
	start.Command = encodeJSON(command)
	start.notes = d.Notes // also of an answer that has no place for them, such as an approved call's
	start.IdempotencyKey, start.Principal = d.IdempotencyKey, ActorFrom(ctx).Principal
	start.respectClaims = d.RespectClaims && start.Principal != "" // who has no name can't be told from the claimant
	return start, nil
}

// continuation is a run that goes on with the run that asked, as that was made.
func (s *Service) continuation(ctx context.Context, r Review, start StartRun) (StartRun, error) {
	start.ThreadID, start.Input, start.HasInput, start.CreateThread = r.ThreadID, nil, false, false
	asked, err := s.store.GetRun(ctx, r.ThreadID, r.RunID)
	if errors.Is(err, ErrNotFound) { // removed since; its agent is known
		asked, err = Run{AssistantID: r.Agent, GraphID: r.Agent}, nil
	}
	if err != nil {
		return StartRun{}, err
	}
	if start.AssistantID == "" {
		start.AssistantID = asked.AssistantID
		if _, err := s.Assistant(ctx, asked.AssistantID); errors.Is(err, ErrNotFound) {
			start.AssistantID = asked.GraphID
		}
	}
	k := asked.Kwargs
	if start.Context == nil {
		start.Context = k.Context
	}
	if len(start.StreamMode) == 0 {
		start.StreamMode, start.StreamSubgraphs = slices.Clone(k.StreamMode), k.Subgraphs
	}
	if start.Webhook == "" {
		start.Webhook = k.Webhook
	}
	if start.Durability == "" {
		start.Durability = k.Durability
	}
	start.StreamResumable = start.StreamResumable || k.Resumable
	return start, nil
}

package thread

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// readTries bounds how often an execution is read again because its thread moved meanwhile.
const readTries = 8

// Execution finds an execution by its id. Errors: *NotFoundError.
func (s *Service) Execution(ctx context.Context, id string) (Execution, error) {
	first, err := s.store.FindRun(ctx, id)
	if err != nil {
		return Execution{}, notFound(renamed(err, "run"), "execution", id)
	}
	if first.ExecutionID != first.ID {
		return Execution{}, &NotFoundError{Kind: "execution", ID: id}
	}
	return s.derive(ctx, first)
}

// renamed is ErrNotFound in the place of a *NotFoundError of that kind, for notFound to name it anew.
func renamed(err error, kind string) error {
	var missing *NotFoundError
	if errors.As(err, &missing) && missing.Kind == kind {
		return ErrNotFound
	}
	return err
}

// derive makes an execution of its first run, the chain of runs that it began and their reviews.
func (s *Service) derive(ctx context.Context, first Run) (Execution, error) {
	if first.Status.Ended() && !first.Suspended { // nothing can follow
		e := begunBy(first)
		e.conclude()
		return e, nil
	}
	var e Execution
	for range readTries {
		before, err := s.store.GetThread(ctx, first.ThreadID)
		if err != nil {
			return Execution{}, notFound(renamed(err, "thread"), "execution", first.ID)
		}
		if !first.Status.Ended() {
			if first, err = s.store.GetRun(ctx, first.ThreadID, first.ID); err != nil {
				return Execution{}, notFound(renamed(err, "run"), "execution", first.ID)
			}
		}
		if e, err = s.readChain(ctx, before, first); err != nil {
			return Execution{}, err
		}
		after, err := s.store.GetThread(ctx, first.ThreadID)
		if err != nil {
			return Execution{}, notFound(renamed(err, "thread"), "execution", first.ID)
		}
		if before.Status == after.Status && before.Generation == after.Generation && before.Head == after.Head {
			break // runs and reviews belong together
		}
	}
	if e.conclude() && len(e.Reviews) == 0 { // asked by a store without reviews, asked anew by another execution, or a breakpoint
		return s.unreviewed(ctx, e)
	}
	return e, nil
}

// begunBy is an execution as far as its first run tells.
func begunBy(first Run) Execution {
	e := Execution{
		ID: first.ID, Project: first.Project, Workspace: first.Workspace, ThreadID: first.ThreadID, Agent: first.GraphID,
		Principal: first.Principal, Input: first.Kwargs.Input, CreatedAt: first.CreatedAt, UpdatedAt: first.UpdatedAt, Runs: []Run{first},
	}
	if e.Project == "" {
		e.Project = DefaultProject
	}
	if e.Workspace == "" {
		e.Workspace = DefaultWorkspace
	}
	var session string
	if json.Unmarshal(first.Metadata[SessionKey], &session) == nil && slices.Contains(sessionThreads(e.Project, session), e.ThreadID) {
		e.SessionID = session
	}
	return e
}

// readChain reads the execution's runs and reviews.
func (s *Service) readChain(ctx context.Context, t Thread, first Run) (Execution, error) {
	e := begunBy(first)
	var err error
	if first.Status.Ended() {
		e.Runs, err = s.store.ListRuns(ctx, first.ThreadID, RunQuery{ExecutionID: first.ID})
	} else { // what goes on with it waits behind it
		e.Runs, err = s.store.Inflight(ctx, first.ThreadID)
		e.Runs = slices.DeleteFunc(e.Runs, func(r Run) bool { return r.ExecutionID != first.ID })
	}
	if err != nil {
		return e, notFound(renamed(err, "thread"), "execution", first.ID)
	}
	if len(e.Runs) == 0 || e.Runs[0].ID != first.ID { // it ended just now, or was removed
		e.Runs = []Run{first}
		if e.Runs[0], err = s.store.GetRun(ctx, first.ThreadID, first.ID); err != nil {
			return e, notFound(renamed(err, "run"), "execution", first.ID)
		}
	}
	if t.Generation == 0 { // nothing was ever asked
		return e, nil
	}
	reviews, err := s.store.ThreadReviews(ctx, first.ThreadID)
	if err != nil {
		return e, notFound(renamed(err, "thread"), "execution", first.ID)
	}
	e.Reviews = slices.DeleteFunc(reviews, func(r Review) bool { return r.ExecutionID != first.ID })
	return e, nil
}

// conclude derives the status, and what goes with it, from runs and reviews (design 8, decisions 13). asked is
// set when the last run stopped and no review tells what became of its questions.
func (e *Execution) conclude() (asked bool) {
	for _, r := range e.Runs {
		e.UpdatedAt = later(e.UpdatedAt, r.UpdatedAt)
	}
	for _, r := range e.Reviews {
		e.UpdatedAt, e.Generation = later(e.UpdatedAt, r.UpdatedAt), max(e.Generation, r.Generation)
	}
	if at := slices.IndexFunc(e.Runs, func(r Run) bool { return !r.Status.Ended() }); at >= 0 {
		switch {
		case at > 0:
			e.Status = ExecutionResuming
		case e.Runs[at].Status == RunPending:
			e.Status = ExecutionPending
		default:
			e.Status = ExecutionRunning
		}
		return false
	}
	last := e.Last()
	switch last.Status {
	case RunError:
		e.fail(ErrorRun, last.EndedAt)
		e.Error = last.failureText()
	case RunTimeout:
		e.fail(ErrorTimeout, last.EndedAt)
		e.Error = last.failureText()
	case RunInterrupted:
		e.fail(ErrorCancelled, last.EndedAt)
		e.Error = CancelledText
	default:
		return e.stopped(last)
	}
	return false
}

// stopped is conclude for a last run that ended without failure, perhaps at a question.
func (e *Execution) stopped(last Run) (asked bool) {
	if open := e.Open(); len(open) > 0 {
		e.suspend(open)
		return false
	}
	if last.Suspended {
		at := slices.IndexFunc(e.Reviews, func(r Review) bool { return r.Status == ReviewSuperseded && r.Generation == e.Generation })
		if at < 0 {
			e.complete(last)
			return true
		}
		e.supersede(e.Reviews[at].UpdatedAt)
		return false
	}
	e.complete(last)
	return false
}

// suspend is the status of an execution whose open reviews these are.
func (e *Execution) suspend(open []Review) {
	e.Status, e.Generation = ExecutionSuspended, open[0].Generation
	e.SuspendReason, e.SuspendContext = suspendContext(open[0])
	e.SuspendedAt, e.ExpiresAt = open[0].CreatedAt, open[0].ExpiresAt
}

func (e *Execution) supersede(at time.Time) {
	e.fail(ErrorSuperseded, at)
	e.Error = "Something else took the place of the question before it was decided."
}

// complete ends the execution: well, unless nobody decided its last question in time.
func (e *Execution) complete(last Run) {
	if r := e.LastDecided(); r != nil && r.Status == ReviewExpired {
		e.fail(ErrorExpired, last.EndedAt)
		e.Error = "Nobody decided before the deadline."
		return
	}
	e.Status, e.CompletedAt = ExecutionCompleted, last.EndedAt
}

func (e *Execution) fail(code string, at time.Time) {
	e.Status, e.ErrorCode, e.CompletedAt = ExecutionError, code, at
}

// LastDecided is the review that was decided, or expired, last; nil for none.
func (e *Execution) LastDecided() *Review {
	var last *Review
	for i := range e.Reviews {
		r := &e.Reviews[i]
		if r.Decided != nil && (last == nil || !r.Decided.At.Before(last.Decided.At)) {
			last = r
		}
	}
	return last
}

// unreviewed finds out what became of the questions of an execution that has no reviews.
func (s *Service) unreviewed(ctx context.Context, e Execution) (Execution, error) {
	open, err := s.store.PendingInterrupts(ctx, e.ThreadID)
	if err != nil {
		return e, notFound(renamed(err, "thread"), "execution", e.ID)
	}
	for _, q := range open {
		if q.RunID != e.Last().ID {
			continue
		}
		asked := NewReview(q, reviewDraft(asking{e.Last(), e.Runs[0]}, q.InterruptInfo, nil), q.CreatedAt)
		e.suspend([]Review{asked})
		e.CompletedAt = time.Time{}
		return e, nil
	}
	newest, err := s.store.NewestRun(ctx, e.ThreadID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return e, err
	}
	if err == nil && newest.ExecutionID != e.ID {
		e.supersede(newest.CreatedAt)
	}
	return e, nil
}

// failureText is why a run failed.
func (r Run) failureText() string {
	if f := r.Failure(); f != nil {
		if f.Name != "" && f.Name != "Error" {
			return f.Name + ": " + f.Message
		}
		return f.Message
	}
	return "The run failed."
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

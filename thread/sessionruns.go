package thread

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/parley-dev/parley/agent/message"
)

// RunReport is what a run of a session did, and how long it took.
type RunReport struct {
	Run   Run
	Steps []Step
	// Slowest is the step that took longest; nil without one that ended.
	Slowest *Step
	// FirstEvent is the time from the run's creation to its first text or call of a tool; 0 without either.
	FirstEvent time.Duration
	// Usage sums the tokens.
	Usage message.Usage
}

// SessionRuns reports on the newest runs of a session, at most limit of them, oldest first. Errors: *NotFoundError of kind session.
func (s *Service) SessionRuns(ctx context.Context, project, session string, limit int) ([]RunReport, error) {
	missing := &NotFoundError{Kind: "session", ID: session}
	id, err := s.SessionThread(ctx, project, session)
	var none *InvalidInputError
	if errors.As(err, &none) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	t, err := s.store.GetThread(ctx, id)
	if err != nil {
		return nil, notFound(renamed(err, "thread"), "session", session)
	}
	if owner, _ := ScopeOf(t.Metadata); owner != cmp.Or(project, DefaultProject) {
		return nil, missing
	}
	runs, err := s.store.ListRuns(ctx, id, RunQuery{})
	if err != nil {
		return nil, notFound(renamed(err, "thread"), "session", session)
	}
	from := max(0, len(runs)-limit)
	wanted := map[string]bool{}
	for _, run := range runs[from:] {
		wanted[run.ExecutionID] = true
	}
	folds := map[string]*stepFold{} // by execution: steps are numbered in it
	reports := make([]RunReport, 0, len(runs)-from)
	for i, run := range runs {
		if !wanted[run.ExecutionID] {
			continue
		}
		f := folds[run.ExecutionID]
		if f == nil {
			f = &stepFold{}
			folds[run.ExecutionID] = f
		}
		before := len(f.steps)
		if err := s.foldRun(ctx, f, run); err != nil {
			return nil, err
		}
		if i >= from {
			reports = append(reports, report(run, f.steps[before:], f.first))
		}
	}
	return reports, nil
}

func report(run Run, steps []Step, first time.Time) RunReport {
	r := RunReport{Run: run, Steps: steps}
	for i := range steps {
		s := &steps[i]
		if !s.EndedAt.IsZero() && (r.Slowest == nil || s.Duration() > r.Slowest.Duration()) {
			r.Slowest = s
		}
		if s.Usage != nil {
			r.Usage.InputTokens += s.Usage.InputTokens
			r.Usage.OutputTokens += s.Usage.OutputTokens
			r.Usage.TotalTokens += s.Usage.TotalTokens
		}
	}
	if !first.IsZero() {
		r.FirstEvent = max(first.Sub(run.CreatedAt), time.Millisecond)
	}
	return r
}

package thread

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

const (
	defaultExecutions = 50
	// mostScanned bounds the executions that one page looks at.
	mostScanned = 5000
)

// ExecutionFilter selects executions; empty fields don't.
type ExecutionFilter struct {
	Project   string // default: DefaultProject
	Workspace string
	Session   string
	Status    ExecutionStatus
	// Keep, when set, is asked about each execution that passes the other filters.
	Keep  func(ctx context.Context, e Execution) (bool, error)
	Limit int // default 50
	// Cursor is where to go on: what the page before returned.
	Cursor string
}

// Executions lists executions, newest first. next is the cursor of what follows, "" at the end; a page can be
// shorter than its limit, or empty, although something follows. Errors: *InvalidInputError.
func (s *Service) Executions(ctx context.Context, f ExecutionFilter) (list []Execution, next string, err error) {
	if f.Project == "" {
		f.Project = DefaultProject
	}
	if f.Limit <= 0 {
		f.Limit = defaultExecutions
	}
	switch {
	case f.Session != "":
		return s.gathered(ctx, f, s.sessionFirsts)
	case f.Status == ExecutionSuspended:
		return s.gathered(ctx, f, s.suspendedFirsts)
	}
	q := ExecutionQuery{Project: f.Project, Before: f.Cursor, Limit: max(f.Limit, defaultExecutions)}
	for scanned := 0; ; {
		firsts, err := s.store.ListExecutions(ctx, q)
		if errors.Is(err, ErrNotFound) {
			return nil, "", &InvalidInputError{Path: []string{"cursor"}, Message: "the cursor isn't one of this list, or what it names is gone"}
		}
		if err != nil {
			return nil, "", err
		}
		for _, first := range firsts {
			q.Before = first.ID
			e, ok, err := s.selected(ctx, f, first)
			if err != nil {
				return nil, "", err
			}
			if ok {
				list = append(list, e)
			}
			if scanned++; len(list) == f.Limit || scanned >= mostScanned {
				return list, q.Before, nil
			}
		}
		if len(firsts) < q.Limit {
			return list, "", nil
		}
	}
}

// selected derives an execution if the filter selects it.
func (s *Service) selected(ctx context.Context, f ExecutionFilter, first Run) (Execution, bool, error) {
	if f.Workspace != "" && cmp.Or(first.Workspace, DefaultWorkspace) != f.Workspace {
		return Execution{}, false, nil
	}
	e, err := s.derive(ctx, first)
	if errors.Is(err, ErrNotFound) { // removed meanwhile
		return Execution{}, false, nil
	}
	if err != nil || f.Status != "" && e.Status != f.Status || f.Keep == nil {
		return e, err == nil && (f.Status == "" || e.Status == f.Status), err
	}
	keep, err := f.Keep(ctx, e)
	return e, keep, err
}

// gathered pages through executions that are found otherwise than by the store's list of them.
func (s *Service) gathered(ctx context.Context, f ExecutionFilter, firsts func(context.Context, ExecutionFilter) ([]Run, error)) (list []Execution, next string, err error) {
	runs, err := firsts(ctx, f)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	if f.Cursor != "" {
		last, err := s.store.FindRun(ctx, f.Cursor)
		if errors.Is(err, ErrNotFound) {
			return nil, "", &InvalidInputError{Path: []string{"cursor"}, Message: "the cursor isn't one of this list, or what it names is gone"}
		}
		if err != nil {
			return nil, "", err
		}
		runs = slices.DeleteFunc(runs, func(r Run) bool {
			return cmp.Or(last.CreatedAt.Compare(r.CreatedAt), cmp.Compare(last.ID, r.ID)) <= 0
		})
	}
	for i, first := range runs {
		e, ok, err := s.selected(ctx, f, first)
		if err != nil {
			return nil, "", err
		}
		if ok {
			list = append(list, e)
		}
		if len(list) == f.Limit && i < len(runs)-1 {
			return list, first.ID, nil
		}
	}
	return list, "", nil
}

// sessionFirsts are the first runs of a session's executions.
func (s *Service) sessionFirsts(ctx context.Context, f ExecutionFilter) ([]Run, error) {
	id, err := s.SessionThread(ctx, f.Project, f.Session)
	var none *InvalidInputError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	runs, err := s.store.ListRuns(ctx, id, RunQuery{})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(runs, func(r Run) bool {
		return r.ID != r.ExecutionID || cmp.Or(r.Project, DefaultProject) != f.Project
	}), err
}

// suspendedFirsts are the first runs of the executions that have open reviews.
func (s *Service) suspendedFirsts(ctx context.Context, f ExecutionFilter) ([]Run, error) {
	var runs []Run
	seen := map[string]bool{}
	q := ReviewQuery{Project: f.Project, Workspace: f.Workspace, Statuses: []ReviewStatus{ReviewPending, ReviewClaimed}, Limit: 200}
	for {
		list, next, err := s.store.SearchReviews(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if seen[r.ExecutionID] {
				continue
			}
			seen[r.ExecutionID] = true
			first, err := s.store.GetRun(ctx, r.ThreadID, r.ExecutionID)
			if errors.Is(err, ErrNotFound) { // asked by an edit, or on a copy: no execution waits for it
				continue
			}
			if err != nil {
				return nil, err
			}
			runs = append(runs, first)
		}
		if q.Cursor = next; next == "" {
			return runs, nil
		}
	}
}

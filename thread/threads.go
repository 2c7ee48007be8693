package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/parley-dev/parley/agent"
)

// What happens to a thread whose time is up.
const (
	TTLDelete     = "delete"
	TTLKeepLatest = "keep_latest"
)

// CreateThread says what thread to create.
type CreateThread struct {
	ID          string // "" = a new UUIDv7
	Metadata    Metadata
	DoNothing   bool // if_exists: do_nothing
	Supersteps  [][]agent.Edit
	TTLMinutes  float64
	TTLStrategy string // delete (default) or keep_latest
}

// CreateThread stores a thread, with the given history if any; with DoNothing an
// existing one is returned unchanged. Errors: ErrExists, *NoGraphError (history
// without metadata.graph_id), *NotFoundError (graph), *InvalidInputError, *agent.InvalidUpdateError.
func (s *Service) CreateThread(ctx context.Context, c CreateThread) (Thread, error) {
	t, err := s.newThread(c)
	if err != nil {
		return Thread{}, err
	}
	if len(c.Supersteps) > 0 && graphID(c.Metadata) == "" {
		return Thread{}, &NoGraphError{ThreadID: t.ID}
	}
	edit, err := s.history(ctx, t, c.Supersteps)
	if err != nil {
		return Thread{}, err
	}
	if err := s.store.CreateThread(ctx, t); err != nil {
		if errors.Is(err, ErrExists) && c.DoNothing {
			return s.GetThread(ctx, t.ID)
		}
		return Thread{}, err
	}
	if edit == nil {
		return t, nil
	}
	if err := s.storeEdit(ctx, t, "", "", edit); err != nil {
		return Thread{}, err
	}
	return s.GetThread(ctx, t.ID)
}

func (s *Service) newThread(c CreateThread) (Thread, error) {
	id := c.ID
	if id == "" {
		id = newID()
	} else if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return Thread{}, &InvalidInputError{Path: []string{"thread_id"}, Message: "thread_id must be a UUID"}
	}
	now := s.clock.Now()
	t := Thread{
		ID: id, CreatedAt: now, UpdatedAt: now, Metadata: merged(c.Metadata), Config: json.RawMessage("{}"),
		Status: Idle, NextSeq: 1, NextPos: 1,
	}
	switch c.TTLStrategy {
	case "", TTLDelete, TTLKeepLatest:
	default:
		return Thread{}, &InvalidInputError{Path: []string{"ttl", "strategy"}, Message: fmt.Sprintf("unknown ttl strategy %q", c.TTLStrategy)}
	}
	if c.TTLMinutes > 0 {
		t.ExpiresAt = now.Add(Span(c.TTLMinutes, time.Minute))
		if t.TTLStrategy = c.TTLStrategy; t.TTLStrategy == "" {
			t.TTLStrategy = TTLDelete
		}
	}
	return t, nil
}

// history computes the checkpoints of a new thread's given supersteps; nil without any.
func (s *Service) history(ctx context.Context, t Thread, supersteps [][]agent.Edit) (*agent.EditResult, error) {
	if len(supersteps) == 0 {
		return nil, nil
	}
	g, cfg, err := s.threadGraph(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.EditState(ctx, agent.EditRequest{
		ThreadID: t.ID, Supersteps: supersteps, Metadata: editMetadata(t, cfg, nil), Config: cfg,
		Reader: s.reader(t.ID), Clock: s.clock, IDs: newThreadIDs(s.clock, ""),
	})
}

// GetThread returns a thread. Errors: *NotFoundError.
func (s *Service) GetThread(ctx context.Context, id string) (Thread, error) {
	t, err := s.store.GetThread(ctx, id)
	return t, notFound(err, "thread", id)
}

// PatchThread merges metadata and sets a TTL. Errors: *NotFoundError.
func (s *Service) PatchThread(ctx context.Context, id string, p ThreadPatch) (Thread, error) {
	if p.At.IsZero() {
		p.At = s.clock.Now()
	}
	t, err := s.store.PatchThread(ctx, id, p)
	return t, notFound(err, "thread", id)
}

// DeleteThread cancels what runs and removes the thread with all that belongs to
// it. Errors: *NotFoundError.
func (s *Service) DeleteThread(ctx context.Context, id string) error {
	inflight, err := s.store.Inflight(ctx, id)
	if err != nil {
		return notFound(err, "thread", id)
	}
	for _, run := range inflight {
		after, told, err := s.store.RequestCancel(ctx, id, run.ID, CancelInterrupt, s.clock.Now())
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil {
			s.tell(id, told)
			s.cancelled(after)
		}
	}
	newest, noRuns := s.store.NewestRun(ctx, id)
	if err := s.store.DeleteThread(ctx, id); err != nil {
		return notFound(err, "thread", id)
	}
	if noRuns == nil {
		s.answered(newest)
	}
	s.cache.forget(id)
	for _, run := range inflight {
		s.ended(id, run.ID)
	}
	return nil
}

// CopyThread copies a thread with its checkpoints; the copy is idle and has no
// runs. Errors: *NotFoundError.
func (s *Service) CopyThread(ctx context.Context, id string) (Thread, error) {
	t, err := s.store.CopyThread(ctx, id, newID(), s.clock.Now())
	return t, notFound(err, "thread", id)
}

// searchPage is how many threads a search by values looks at in one read.
const searchPage = 100

// SearchThreads finds threads; values, when set, is matched against the threads'
// values (containment). The count is of all matches, whatever limit and offset say.
func (s *Service) SearchThreads(ctx context.Context, q ThreadQuery, values Metadata) ([]Thread, int, error) {
	if len(values) == 0 {
		return s.store.SearchThreads(ctx, q)
	}
	page, limit, offset := q, q.Limit, q.Offset
	page.Limit, page.Offset, page.CountOnly = searchPage, 0, false
	var found []Thread
	count := 0
	for {
		threads, total, err := s.store.SearchThreads(ctx, page)
		if err != nil {
			return nil, 0, err
		}
		for _, t := range threads {
			ok, err := s.hasValues(ctx, t, values)
			if err != nil {
				return nil, 0, err
			}
			if !ok {
				continue
			}
			if count++; !q.CountOnly && count > offset && (limit <= 0 || len(found) < limit) {
				found = append(found, t)
			}
		}
		page.Offset += len(threads)
		if len(threads) == 0 || page.Offset >= total {
			return found, count, nil
		}
	}
}

func (s *Service) hasValues(ctx context.Context, t Thread, want Metadata) (bool, error) {
	v, err := s.ViewThread(ctx, t)
	if err != nil || v.Values == nil {
		return false, err
	}
	var have Metadata
	if err := json.Unmarshal(v.Values, &have); err != nil {
		return false, fmt.Errorf("values of thread %s: %w", t.ID, err)
	}
	return have.Contains(want), nil
}

// PruneThreads removes threads (delete) or all but their newest checkpoint
// (keep_latest), and returns how many there were. Unknown ids are left out.
func (s *Service) PruneThreads(ctx context.Context, ids []string, strategy string) (int, error) {
	if strategy == "" {
		strategy = TTLDelete
	}
	if strategy != TTLDelete && strategy != TTLKeepLatest {
		return 0, &InvalidInputError{Path: []string{"strategy"}, Message: fmt.Sprintf("unknown strategy %q", strategy)}
	}
	pruned := 0
	for _, id := range ids {
		err := s.prune(ctx, id, strategy)
		switch {
		case err == nil:
			pruned++
		case !errors.Is(err, ErrNotFound):
			return pruned, err
		}
	}
	return pruned, nil
}

func (s *Service) prune(ctx context.Context, id, strategy string) error {
	if strategy == TTLDelete {
		return s.DeleteThread(ctx, id)
	}
	return s.store.TrimThread(ctx, id)
}

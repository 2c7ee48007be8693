package thread

import (
	"context"
	"sync"
	"time"
)

// recheckEvery is how often a waiter looks at the store although nobody told it
// anything: a run may end in another process.
const recheckEvery = 5 * time.Second

// GetRun returns a run. Errors: *NotFoundError.
func (s *Service) GetRun(ctx context.Context, threadID, runID string) (Run, error) {
	run, err := s.store.GetRun(ctx, threadID, runID)
	return run, notFound(err, "run", runID)
}

// FindRun finds a run by its id alone. Errors: *NotFoundError.
func (s *Service) FindRun(ctx context.Context, runID string) (Run, error) {
	run, err := s.store.FindRun(ctx, runID)
	return run, notFound(err, "run", runID)
}

// ListRuns lists a thread's runs, oldest first. Errors: *NotFoundError.
func (s *Service) ListRuns(ctx context.Context, threadID string, q RunQuery) ([]Run, error) {
	if _, err := s.GetThread(ctx, threadID); err != nil {
		return nil, err
	}
	return s.store.ListRuns(ctx, threadID, q)
}

// DeleteRun removes a run with its log and checkpoints; one that is inflight is
// cancelled first. Errors: *NotFoundError.
func (s *Service) DeleteRun(ctx context.Context, threadID, runID string) error {
	run, err := s.GetRun(ctx, threadID, runID)
	if err != nil {
		return err
	}
	if !run.Status.Ended() {
		if err := s.CancelRun(ctx, threadID, runID, CancelInterrupt); err != nil {
			return err
		}
		if _, err := s.WaitRun(ctx, threadID, runID); err != nil {
			return err
		}
	}
	told, err := s.store.DeleteRun(ctx, threadID, runID)
	if err != nil {
		return notFound(err, "run", runID)
	}
	s.tell(threadID, told)
	s.cache.forget(threadID)
	return nil
}

// WaitRun returns the run once it has ended. Errors: *NotFoundError for a run
// that is unknown or was removed meanwhile, the context's error.
func (s *Service) WaitRun(ctx context.Context, threadID, runID string) (Run, error) {
	for {
		run, over, err := s.waitOnce(ctx, threadID, runID)
		if err != nil || over {
			return run, err
		}
	}
}

// waitOnce looks at the run and, if it goes on, waits for news or for recheckEvery.
func (s *Service) waitOnce(ctx context.Context, threadID, runID string) (run Run, over bool, err error) {
	ended, leave := s.waiters.enter(runID)
	defer leave()
	if run, err = s.GetRun(ctx, threadID, runID); err != nil || run.Status.Ended() {
		return run, true, err
	}
	recheck := time.NewTimer(recheckEvery)
	defer recheck.Stop()
	select {
	case <-ended:
	case <-recheck.C:
	case <-ctx.Done():
		return Run{}, false, ctx.Err()
	}
	return run, false, nil
}

// waiters tells those who wait for a run's end.
type waiters struct {
	mu   sync.Mutex
	runs map[string]*waiting
}

type waiting struct {
	ended chan struct{}
	users int
}

func newWaiters() *waiters { return &waiters{runs: map[string]*waiting{}} }

// enter registers interest; leave must be called once.
func (w *waiters) enter(runID string) (ended <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.runs[runID]
	if e == nil {
		e = &waiting{ended: make(chan struct{})}
		w.runs[runID] = e
	}
	e.users++
	return e.ended, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if e.users--; e.users == 0 && w.runs[runID] == e {
			delete(w.runs, runID)
		}
	}
}

// end wakes all who wait for the run.
func (w *waiters) end(runID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.runs[runID]; e != nil {
		close(e.ended)
		delete(w.runs, runID)
	}
}

// ended is called once a run's row is final and all its events are published.
func (s *Service) ended(threadID, runID string) {
	s.publish.RunEnded(threadID, runID)
	s.waiters.end(runID)
	s.pool.headers(runID) // it may never have begun
}

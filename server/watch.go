package server

import (
	"context"
	"sync"
	"time"

	"github.com/parley-dev/parley/server/auth"
)

// recheckEvery is how often it is looked whether those who hold streams open still may: with each heartbeat.
const recheckEvery = 5 * time.Second

// watch ends the streams of keys that were revoked, and those of anonymous callers once
// there are keys. What expires ends by the clock; see serveStream.
type watch struct {
	mu    sync.Mutex
	open  map[string]map[*context.CancelCauseFunc]struct{} // by key id; "" are the anonymous
	wake  chan struct{}
	owner sync.WaitGroup
}

func newWatch() *watch {
	return &watch{open: map[string]map[*context.CancelCauseFunc]struct{}{}, wake: make(chan struct{}, 1)}
}

// watched reports whether the streams of a user can end before their time.
func watched(u *auth.User) bool { return u != nil && (u.KeyID != "" || u.Kind == auth.KindAnonymous) }

// enter watches a stream; end is called with errExpired when it has to end.
func (w *watch) enter(keyID string, end context.CancelCauseFunc) (leave func()) {
	entry := &end
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[keyID] == nil {
		w.open[keyID] = map[*context.CancelCauseFunc]struct{}{}
	}
	w.open[keyID][entry] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.open[keyID], entry); len(w.open[keyID]) == 0 {
			delete(w.open, keyID)
		}
	}
}

// look has the owner look now.
func (w *watch) look() {
	select {
	case w.wake <- struct{}{}:
	default: // it is about to
	}
}

// start watches until ctx ends; wait then waits.
func (w *watch) start(ctx context.Context, i *identity) {
	if i == nil || i.keys == nil {
		return
	}
	w.owner.Go(func() {
		tick := time.NewTicker(recheckEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-w.wake:
			}
			w.sweep(ctx, i)
		}
	})
}

func (w *watch) wait() { w.owner.Wait() }

// sweep ends what is over. While the store can't say, streams stay.
func (w *watch) sweep(ctx context.Context, i *identity) {
	w.mu.Lock()
	ids := make([]string, 0, len(w.open))
	for id := range w.open {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	for _, id := range ids {
		over, err := w.over(ctx, i, id)
		if err != nil {
			i.log.Debug("keys of open streams not checked", "error", err)
			return
		}
		if over {
			w.end(id)
		}
	}
}

func (w *watch) over(ctx context.Context, i *identity, id string) (bool, error) {
	if id == "" {
		return i.keys.AnyNow(ctx)
	}
	return i.keys.Ended(ctx, id)
}

func (w *watch) end(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for entry := range w.open[id] {
		(*entry)(errExpired)
	}
}

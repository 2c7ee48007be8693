package feeds

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Bounds of what Threads keeps in memory.
const (
	mostKnown   = 8192 // threads whose project is known
	mostWaiting = 8192 // threads whose project is to be found
	findTimeout = 10 * time.Second
)

// Threads has a feed hint at changes of threads, each in the thread's own project. A thread's project never changes, so
// that it is looked up once. A thread that isn't there any more is in no list, and gives no hint unless it is known.
type Threads struct {
	feed *Feed
	find func(ctx context.Context, threadID string) (project string, err error)
	wake chan struct{}

	mu      sync.Mutex
	known   map[string]string // project by thread
	waiting map[string]struct{}
	lost    bool // more changed than can wait, or can't be looked up: all projects are hinted at
}

// NewThreads returns it; it ends with the feed. find returns ErrProject for a thread that isn't there.
func NewThreads(feed *Feed, find func(ctx context.Context, threadID string) (string, error)) *Threads {
	t := &Threads{feed: feed, find: find, wake: make(chan struct{}, 1), known: map[string]string{}, waiting: map[string]struct{}{}}
	feed.mu.Lock()
	defer feed.mu.Unlock()
	if feed.life.Err() == nil {
		feed.serving.Go(t.run)
	}
	return t
}

// Changed announces that a thread has changed. It never blocks.
func (t *Threads) Changed(threadID string) {
	if !t.feed.followed() {
		return
	}
	t.mu.Lock()
	project, known := t.known[threadID]
	if !known {
		if len(t.waiting) < mostWaiting {
			t.waiting[threadID] = struct{}{}
		} else {
			t.lost = true
		}
	}
	t.mu.Unlock()
	if known {
		t.feed.Changed(project)
		return
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run looks projects up until the feed ends.
func (t *Threads) run() {
	for {
		select {
		case <-t.feed.life.Done():
			return
		case <-t.wake:
		}
		t.mu.Lock()
		waiting, lost := t.waiting, t.lost
		t.waiting, t.lost = map[string]struct{}{}, false
		t.mu.Unlock()
		changed := map[string]bool{}
		for id := range waiting {
			project, err := t.lookUp(id)
			switch {
			case t.feed.life.Err() != nil:
				return
			case errors.Is(err, ErrProject):
			case err != nil:
				lost = true
			case !changed[project]: // at once: others may take a while
				changed[project] = true
				t.feed.Changed(project)
			}
		}
		if lost {
			t.feed.changedAll()
		}
	}
}

// lookUp finds a thread's project and remembers it.
func (t *Threads) lookUp(id string) (string, error) {
	ctx, cancel := context.WithTimeout(t.feed.life, findTimeout)
	defer cancel()
	project, err := t.find(ctx, id)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= mostKnown {
		for old := range t.known { // any: it is looked up again
			delete(t.known, old)
			break
		}
	}
	t.known[id] = project
	return project, nil
}

// followed reports whether the feed has projects, that is whether anybody has ever followed it.
func (f *Feed) followed() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.projects) > 0
}

// changedAll announces a change in every project.
func (f *Feed) changedAll() {
	f.mu.RLock()
	names := make([]string, 0, len(f.projects))
	for name := range f.projects {
		names = append(names, name)
	}
	f.mu.RUnlock()
	for _, name := range names {
		f.Changed(name)
	}
}

// Package feeds serves feeds of hints: streams of server-sent events that say
// "read the list again" and nothing else (design 4, decisions 17). A feed has
// one stream per project; a hint carries a version and no content, so nothing
// needs replay or a filter. The fan-out is that of github.com/r3labs/sse, kept
// away from its clients by a queue for each (spec/libraries.md 2).
package feeds

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/parley-dev/parley/stream"
)

// DefaultProject is the project of a server that knows no others.
const DefaultProject = "default"

// Defaults of a feed.
const (
	DefaultInterval     = 50 * time.Millisecond
	DefaultWriteTimeout = 10 * time.Second
)

// Options configure a Feed.
type Options struct {
	// Interval is the shortest time between two hints of a project: changes
	// within it share one. Default: DefaultInterval.
	Interval time.Duration
	// Heartbeat is the time between heartbeat comments. Default: stream.DefaultHeartbeat.
	Heartbeat time.Duration
	// WriteTimeout bounds each write to a client. Default: DefaultWriteTimeout.
	WriteTimeout time.Duration
}

// Feed is one feed of hints. Create its projects, announce with Changed, serve
// with Serve; Close ends it.
type Feed struct {
	opts Options
	hub  *sse.Server
	wake chan struct{} // holds one token: there may be something to announce

	mu       sync.RWMutex
	projects map[string]*project

	life    context.Context //nolint:containedctx // the feed's own lifetime, not a request's
	stop    context.CancelCauseFunc
	serving sync.WaitGroup // handlers; grows only under mu while the feed lives
	closed  chan struct{}  // once all goroutines of the feed are gone
}

// project is one stream of the feed.
type project struct {
	name    string
	version atomic.Int64 // changes so far
	sent    int64        // version of the last hint; of the owner
}

var (
	// ErrProject is returned for a project that the feed does not have.
	ErrProject = errors.New("feeds: unknown project")
	// errClosed ends the streams of a feed that is closed.
	errClosed = errors.New("feeds: closed")
)

// New returns a feed without projects. Close releases it.
func New(o Options) *Feed {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = stream.DefaultHeartbeat
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	f := &Feed{
		opts: o, hub: sse.New(), wake: make(chan struct{}, 1),
		projects: map[string]*project{}, closed: make(chan struct{}),
	}
	f.life, f.stop = context.WithCancelCause(context.Background())
	f.hub.AutoReplay = false // its log has no bound and replays one event twice
	f.hub.AutoStream = false // clients would create streams
	f.hub.SplitData = true   // else data could forge fields
	go f.own()
	return f
}

// Create adds a project's stream, which lasts as long as the feed: the library
// leaks its clients when a stream is removed. Creating it twice is harmless.
func (f *Feed) Create(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.projects[name] == nil && f.life.Err() == nil {
		f.hub.CreateStream(name)
		f.projects[name] = &project{name: name}
	}
}

// Changed announces a change in a project. It never blocks; the hint follows at
// once, or when the last one is Interval old. Changes in a project that the feed
// does not have, and those after the end, are dropped.
func (f *Feed) Changed(name string) {
	f.mu.RLock()
	p := f.projects[name]
	f.mu.RUnlock()
	if p == nil {
		return
	}
	p.version.Add(1)
	select {
	case f.wake <- struct{}{}:
	default: // the owner hasn't taken the last token yet and will see this change, too
	}
}

// Stop cuts all streams and refuses new ones, without waiting for their end.
func (f *Feed) Stop() {
	f.mu.Lock() // no handler enters between the check of life and its count
	defer f.mu.Unlock()
	f.stop(errClosed)
}

// Close is Stop and waits until every goroutine of the feed has ended, or ctx has.
func (f *Feed) Close(ctx context.Context) error {
	f.Stop()
	select {
	case <-f.closed:
		return nil
	default:
	}
	select {
	case <-f.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("feeds: close: %w", ctx.Err())
	}
}

// own announces changes until the feed is stopped, and then takes it down:
// the library's streams go last, when no client is left in them.
func (f *Feed) own() {
	defer close(f.closed)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for f.life.Err() == nil {
		select {
		case <-f.life.Done():
			continue
		case <-f.wake:
		}
		f.announce()
		pause.Reset(f.opts.Interval)
		select {
		case <-f.life.Done():
		case <-pause.C:
		}
	}
	f.serving.Wait()
	f.hub.Close()
}

// announce sends a hint to each project that has changed since its last one.
func (f *Feed) announce() {
	f.mu.RLock()
	changed := make([]*project, 0, len(f.projects))
	for _, p := range f.projects {
		changed = append(changed, p)
	}
	f.mu.RUnlock()
	for _, p := range changed {
		if v := p.version.Load(); v != p.sent {
			p.sent = v
			f.publish(p.name, v)
		}
	}
}

// publish hands a hint to a project's clients. It waits for their queues only,
// which never block.
func (f *Feed) publish(name string, version int64) { f.hub.Publish(name, hint(version)) }

package thread_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

func TestMain(m *testing.M) {
	if os.Getenv(killChildEnv) != "" {
		runKillChild()
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test; what is waited for comes much sooner.
const patience = 20 * time.Second

// bundle is a service on a store of its own, with what its graphs did to the world.
type bundle struct {
	t      *testing.T
	svc    *thread.Service
	store  *local.Store
	clock  *manualClock // nil: the system clock
	events *audience
	world  *world
}

type setupOption func(*setupOptions)

type setupOptions struct {
	thread.Options
	clock *manualClock
	world *world
	store *local.Store
	wrap  func(thread.Store) thread.Store
	idle  bool
}

// withClock makes time stand still until the test moves it.
func withClock(c *manualClock) setupOption { return func(o *setupOptions) { o.clock = c } }

// with changes the service's options.
func with(change func(*thread.Options)) setupOption {
	return func(o *setupOptions) { change(&o.Options) }
}

// sharing sets up a second service on another bundle's store and world.
func sharing(b *bundle) setupOption {
	return func(o *setupOptions) { o.store, o.world, o.clock = b.store, b.world, b.clock }
}

// wrapping puts something between the service and the store.
func wrapping(wrap func(thread.Store) thread.Store) setupOption {
	return func(o *setupOptions) { o.wrap = wrap }
}

// notStarted leaves the service without workers.
func notStarted() setupOption { return func(o *setupOptions) { o.idle = true } }

func setup(t *testing.T, opts ...setupOption) *bundle {
	t.Helper()
	var o setupOptions
	for _, opt := range opts {
		opt(&o)
	}
	b := &bundle{t: t, clock: o.clock, events: newAudience(), world: o.world, store: o.store}
	if b.world == nil {
		b.world = newWorld()
	}
	if b.store == nil {
		storeOptions := local.Options{Dir: t.TempDir()}
		if o.clock != nil {
			storeOptions.Clock = o.clock.Now
		}
		store, err := local.Open(context.Background(), storeOptions)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		b.store = store
	}
	o.Store = b.store
	if o.wrap != nil {
		o.Store = o.wrap(b.store)
	}
	if o.Publisher == nil {
		o.Publisher = b.events
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.clock != nil {
		o.Clock = o.clock
	}
	o.Agents = append(o.Agents, b.world.graphs()...)
	svc, err := thread.NewService(o.Options)
	require.NoError(t, err)
	b.svc = svc
	if !o.idle {
		b.start()
	}
	return b
}

func (b *bundle) start() {
	require.NoError(b.t, b.svc.Start(context.Background()))
	b.t.Cleanup(func() { b.stop() })
}

func (b *bundle) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	b.world.releaseAll()
	require.NoError(b.t, b.svc.Stop(ctx))
}

// thread makes a thread.
func (b *bundle) thread() string {
	t, err := b.svc.CreateThread(context.Background(), thread.CreateThread{})
	require.NoError(b.t, err)
	return t.ID
}

// run starts a run and waits for its end.
func (b *bundle) run(r thread.StartRun) thread.Run {
	b.t.Helper()
	return b.wait(b.begin(r))
}

func (b *bundle) begin(r thread.StartRun) thread.Run {
	b.t.Helper()
	started, err := b.svc.StartRun(context.Background(), r)
	require.NoError(b.t, err)
	return started.Run
}

func (b *bundle) wait(run thread.Run) thread.Run {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended, err := b.svc.WaitRun(ctx, run.ThreadID, run.ID)
	require.NoError(b.t, err)
	return ended
}

func (b *bundle) get(threadID string) thread.Thread {
	b.t.Helper()
	t, err := b.svc.GetThread(context.Background(), threadID)
	require.NoError(b.t, err)
	return t
}

func (b *bundle) state(threadID string) *agent.Snapshot {
	b.t.Helper()
	s, err := b.svc.State(context.Background(), threadID, thread.StateQuery{})
	require.NoError(b.t, err)
	return s
}

// values are the thread's newest state.
func (b *bundle) values(threadID string) string { return string(b.state(threadID).State.JSON()) }

func (b *bundle) history(threadID string) []*agent.Snapshot {
	b.t.Helper()
	h, err := b.svc.History(context.Background(), threadID, thread.HistoryQuery{Limit: 1000})
	require.NoError(b.t, err)
	return h
}

// pending lists the ids of the thread's open questions.
func (b *bundle) pending(threadID string) []string {
	b.t.Helper()
	open, err := b.store.PendingInterrupts(context.Background(), threadID)
	require.NoError(b.t, err)
	var ids []string
	for _, o := range open {
		ids = append(ids, o.ID)
	}
	return ids
}

// input is a run of a graph with new input.
func input(threadID, graph, values string) thread.StartRun {
	return thread.StartRun{ThreadID: threadID, AssistantID: graph, Input: json.RawMessage(values), HasInput: true}
}

// resume is a run that answers.
func resume(threadID, graph, answer string) thread.StartRun {
	return command(threadID, graph, `{"resume":`+answer+`}`)
}

func command(threadID, graph, command string) thread.StartRun {
	return thread.StartRun{ThreadID: threadID, AssistantID: graph, Command: json.RawMessage(command)}
}

// many reads a test's size from the environment.
func many(t *testing.T, env string, def int) int {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// audience is a Publisher that notes everything and wakes those who wait for something.
type audience struct {
	mu      sync.Mutex
	changed chan struct{}
	entries map[string][]thread.Entry // by thread
	ended   []string
	on      func(threadID string, e thread.Entry)
}

func newAudience() *audience {
	return &audience{changed: make(chan struct{}), entries: map[string][]thread.Entry{}}
}

func (a *audience) Publish(threadID string, entries []thread.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries[threadID] = append(a.entries[threadID], entries...)
	if a.on != nil {
		for _, e := range entries {
			a.on(threadID, e)
		}
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *audience) Stored(string, int64) {}

func (a *audience) RunEnded(_, runID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = append(a.ended, runID)
	close(a.changed)
	a.changed = make(chan struct{})
}

// of lists what was published of a thread.
func (a *audience) of(threadID string) []thread.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.entries[threadID])
}

func (a *audience) hasEnded(runID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.ended, runID)
}

// until waits until something published makes ok true.
func (a *audience) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// count counts the events of a kind on a thread.
func (a *audience) count(threadID string, kind agent.Kind) int {
	n := 0
	for _, e := range a.of(threadID) {
		if e.Event.Kind == kind {
			n++
		}
	}
	return n
}

// manualClock is time that the test moves.
type manualClock struct {
	mu       sync.Mutex
	now      time.Time
	sleepers map[chan struct{}]time.Time
}

func newManualClock() *manualClock {
	return &manualClock{now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), sleepers: map[chan struct{}]time.Time{}}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	wake := make(chan struct{})
	c.sleepers[wake] = c.now.Add(d)
	c.ring()
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sleepers, wake)
	}()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sleeps reports whether somebody sleeps until d from now.
func (c *manualClock) sleeps(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, until := range c.sleepers {
		if until.Equal(c.now.Add(d)) {
			return true
		}
	}
	return false
}

// advance moves time on and wakes who has slept enough.
func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.ring()
}

func (c *manualClock) ring() {
	for wake, at := range c.sleepers {
		if !at.After(c.now) {
			close(wake)
			delete(c.sleepers, wake)
		}
	}
}

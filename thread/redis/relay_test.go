package redis_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// listener follows threads as a reader does: what it misses it reads from the log.
type listener struct {
	s *redis.Store

	mu      sync.Mutex
	news    *sync.Cond
	seen    map[string][]int64 // positions in the order in which they came
	ended   map[string]bool
	changed map[string]int
	cancels map[string]string
	reviews map[string]int // hints by project
	work    int
	missed  int
}

func newListener(s *redis.Store) *listener {
	l := &listener{s: s, seen: map[string][]int64{}, ended: map[string]bool{}, changed: map[string]int{}, cancels: map[string]string{}, reviews: map[string]int{}}
	l.news = sync.NewCond(&l.mu)
	return l
}

func (l *listener) note(f func()) {
	l.mu.Lock()
	f()
	l.mu.Unlock()
	l.news.Broadcast()
}

func (l *listener) last(id string) int64 {
	if list := l.seen[id]; len(list) > 0 {
		return list[len(list)-1]
	}
	return 0
}

// Publish implements thread.Subscriber.
func (l *listener) Publish(id string, entries []thread.Entry) {
	l.note(func() {
		for _, e := range entries {
			if e.Pos > l.last(id) {
				l.seen[id] = append(l.seen[id], e.Pos)
			}
		}
	})
}

// Missed implements thread.Subscriber.
func (l *listener) Missed(id string, pos int64) {
	l.note(func() {
		l.missed++
		entries, err := l.s.ReadLog(context.Background(), id, l.last(id), 0)
		if err != nil {
			return // the thread does not exist yet
		}
		for _, e := range entries {
			if e.Pos <= pos {
				l.seen[id] = append(l.seen[id], e.Pos)
			}
		}
	})
}

// RunEnded implements thread.Subscriber.
func (l *listener) RunEnded(_, run string) { l.note(func() { l.ended[run] = true }) }

// RunChanged implements thread.Subscriber.
func (l *listener) RunChanged(_, run string) { l.note(func() { l.changed[run]++ }) }

// WorkWaits implements thread.Subscriber.
func (l *listener) WorkWaits() { l.note(func() { l.work++ }) }

// ReviewsChanged implements thread.Subscriber.
func (l *listener) ReviewsChanged(project string) { l.note(func() { l.reviews[project]++ }) }

// CancelRequested implements thread.Subscriber.
func (l *listener) CancelRequested(run, action string) { l.note(func() { l.cancels[run] = action }) }

func (l *listener) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return done()
	}, 30*time.Second, 2*time.Millisecond, what)
}

// TestSubscriberSeesWhatOthersDo: of watched threads every entry once and in
// order, of all threads what runs do.
func TestSubscriberSeesWhatOthersDo(t *testing.T) {
	t.Parallel()
	works := setup(t)
	other := setup(t, func(o *redis.Options) { o.Prefix = works.prefix })
	l := newListener(other.Store)
	sub := other.Subscribe(l)
	l.until(t, "it is told to look for work once it listens", func() bool { return l.work > 0 })
	id := newID()
	sub.Watch(id)
	a := admission(id)
	_, err := works.AdmitRun(works.ctx, a)
	require.NoError(t, err)
	l.until(t, "work waits", func() bool { return l.work > 1 })
	_, lease, ok, err := works.ClaimRun(works.ctx, thread.Claim{Worker: "w", Lease: time.Minute})
	require.NoError(t, err)
	require.True(t, ok)
	l.until(t, "a run began", func() bool { return l.changed[a.Run.ID] == 1 })
	pos := lease.NextPos
	for range 50 {
		require.NoError(t, works.AppendLog(works.ctx, lease, notes(lease, pos, 3)))
		pos += 3
	}
	large := notes(lease, pos, 1)
	large[0].Event.Payload = customOf(200_000)
	require.NoError(t, works.AppendLog(works.ctx, lease, large))
	pos++
	const armed = `call 7 {"principal":"ann"}`
	_, _, err = works.RequestCancel(works.ctx, id, a.Run.ID, armed, time.Now())
	require.NoError(t, err)
	l.until(t, "the owner hears of a call that is armed", func() bool { return l.cancels[a.Run.ID] == armed })
	_, _, err = works.RequestCancel(works.ctx, id, a.Run.ID, "interrupt", time.Now())
	require.NoError(t, err)
	l.until(t, "the owner hears of the cancel", func() bool { return l.cancels[a.Run.ID] == "interrupt" })
	c := finish(thread.Commit{ID: "c/1", Entries: notes(lease, pos, 1)})
	_, err = works.Commit(works.ctx, lease, c)
	require.NoError(t, err)
	l.until(t, "the end", func() bool { return l.ended[a.Run.ID] && l.changed[a.Run.ID] == 2 })
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Equal(t, rising(pos), l.seen[id])
}

func rising(n int64) (list []int64) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// TestLostConnectionLosesNothing: while the subscription's connection is cut again
// and again, every entry comes once and in order.
func TestLostConnectionLosesNothing(t *testing.T) {
	t.Parallel()
	p := redistest.Start(t)
	open := func() *redis.Store {
		s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: p.URL()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	works, follows := open(), open()
	l := newListener(follows)
	sub := follows.Subscribe(l)
	admin := rds.NewClient(&rds.Options{Addr: p.Addr(), DisableIdentity: true})
	defer admin.Close()
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Hour}
	admitted, err := works.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	lease := *admitted.Lease
	sub.Watch(lease.ThreadID)
	pos := lease.NextPos
	for i := range 300 {
		require.NoError(t, works.AppendLog(t.Context(), lease, notes(lease, pos, 2)))
		pos += 2
		if i%50 == 25 {
			require.NoError(t, admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		}
	}
	l.until(t, "all of it", func() bool { return l.last(lease.ThreadID) == pos-1 })
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Equal(t, rising(pos-1), l.seen[lease.ThreadID])
	require.Positive(t, l.missed)
}

// TestSubscriptionFollowsTheMaster: one that leads to another server than commands do,
// as after a fail-over, is taken anew, although its connection lives.
func TestSubscriptionFollowsTheMaster(t *testing.T) {
	t.Parallel()
	deposed, master := redistest.Start(t), redistest.Start(t)
	var failedOver atomic.Bool
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: deposed.URL(), Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if failedOver.Load() {
			addr = master.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	l := newListener(s)
	sub := s.Subscribe(l)
	l.until(t, "it listens", func() bool { return l.work > 0 })
	failedOver.Store(true)
	old := rds.NewClient(&rds.Options{Addr: deposed.Addr(), DisableIdentity: true})
	defer old.Close()
	require.NoError(t, old.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err()) // as Sentinel's clients do
	other, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: master.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	a := admission(newID())
	sub.Watch(a.Run.ThreadID)
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	admitted, err := other.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	require.NoError(t, other.AppendLog(t.Context(), *admitted.Lease, notes(*admitted.Lease, admitted.Lease.NextPos, 1)))
	l.until(t, "the entry", func() bool { return l.last(a.Run.ThreadID) > 0 })
}

// TestALogIsLookedAtWhereItsSubscriptionLeads: while commands still go to a master that was
// deposed, what its log lacks isn't taken for all there was before the subscription.
func TestALogIsLookedAtWhereItsSubscriptionLeads(t *testing.T) {
	t.Parallel()
	deposed, master := redistest.Start(t), redistest.Start(t)
	other, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: master.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Hour}
	admitted, err := other.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	lease := *admitted.Lease
	require.NoError(t, other.AppendLog(t.Context(), lease, notes(lease, lease.NextPos, 3)))

	var failedOver atomic.Bool
	var subscriptions atomic.Int64
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: deposed.URL() + "?pool_size=1", Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if failedOver.Load() {
			addr = master.Addr()
			subscriptions.Add(1)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	failedOver.Store(true) // of connections that are made from now on
	l := newListener(s)
	sub := s.Subscribe(l)
	l.until(t, "it listens", func() bool { return l.work > 0 })
	sub.Watch(lease.ThreadID)
	l.until(t, "a look", func() bool { return l.missed > 0 || subscriptions.Load() > 1 })
	old := rds.NewClient(&rds.Options{Addr: deposed.Addr(), DisableIdentity: true})
	defer old.Close()
	require.NoError(t, old.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	last := lease.NextPos + 2
	l.until(t, "the entries", func() bool { return l.last(lease.ThreadID) == last })
}

// TestManyWatchedThreadsShareOneConnection: ten thousand of them, none of which blocks one of the pool (D-86).
func TestManyWatchedThreadsShareOneConnection(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ten thousand subscriptions")
	}
	p := redistest.Start(t)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: p.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	admin := rds.NewClient(&rds.Options{Addr: p.Addr(), DisableIdentity: true})
	defer admin.Close()
	sub := s.Subscribe(newListener(s))
	const n = 10_000
	channels := func() int {
		count, err := admin.Do(t.Context(), "PUBSUB", "CHANNELS", redis.DefaultPrefix+"thread:*").Slice()
		require.NoError(t, err)
		return len(count)
	}
	for i := range n {
		sub.Watch(fmt.Sprint("t", i))
	}
	require.Eventually(t, func() bool { return channels() == n }, 30*time.Second, 20*time.Millisecond)
	list, err := admin.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	require.NoError(t, err)
	require.Equal(t, 1, countLines(list))
	for i := range n {
		sub.Unwatch(fmt.Sprint("t", i))
	}
	require.Eventually(t, func() bool { return channels() == 0 }, 30*time.Second, 20*time.Millisecond)
}

func countLines(s string) (n int) {
	for _, c := range s {
		if c == '\n' {
			n++
		}
	}
	return n
}

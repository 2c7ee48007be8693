package redis

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

const (
	// relayPing is how long the connection may be silent before it is asked whether it lives.
	relayPing = 3 * time.Second
	// relayProbe is the pause between two looks whether the connection leads to the server that commands go to.
	relayProbe = time.Second
	// relayPause is how long a new connection waits after one that failed.
	relayPause = 100 * time.Millisecond
	// relayBatch bounds how many channels are subscribed with one command, and how many logs are looked at.
	relayBatch = 500
)

// relay tells a subscriber what other processes do: one connection, subscribed to
// the control channel and to the threads that are watched. What is published while
// it isn't subscribed is in the log: once a subscription is confirmed, and where a
// message doesn't follow on the one before, the subscriber is told so.
type relay struct {
	s   *Store
	sub thread.Subscriber

	mu      sync.Mutex
	ps      *rds.PubSub
	closed  bool
	probing bool // the subscription of the probe is confirmed
	watched map[string]*watched
	// join and leave are threads to be subscribed and unsubscribed, look those whose log has to be looked at.
	join, leave, look map[string]bool
	wake              chan struct{}
}

// watched is a thread that the subscriber watches.
type watched struct {
	users int
	// known tells that nothing behind last was missed.
	known bool
	last  int64
}

var _ thread.Subscription = (*relay)(nil)

// Subscribe implements thread.Shared.
func (s *Store) Subscribe(sub thread.Subscriber) thread.Subscription {
	r := &relay{s: s, sub: sub, watched: map[string]*watched{}, join: map[string]bool{}, leave: map[string]bool{}, look: map[string]bool{},
		wake: make(chan struct{}, 1)}
	r.ps = s.client.Subscribe(s.life, s.keys.control(), s.keys.probe(s.origin))
	if _, cluster := s.client.(*rds.ClusterClient); !cluster { // there any node passes on what any other is told
		s.loops.Add(1)
		go func() { defer s.loops.Done(); r.probe(s.life) }()
	}
	s.loops.Add(3)
	go func() { defer s.loops.Done(); r.receive(s.life) }()
	go func() { defer s.loops.Done(); r.attend(s.life) }()
	go func() { // a blocking read ends only with its connection
		defer s.loops.Done()
		<-s.life.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.closed = true
		_ = r.ps.Close() // nobody is left to be told
	}()
	return r
}

// Watch implements thread.Subscription.
func (r *relay) Watch(threadID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watched[threadID]
	if w == nil {
		w = &watched{}
		r.watched[threadID] = w
		r.join[threadID] = true
		delete(r.leave, threadID)
		r.signal()
	}
	w.users++
}

// Unwatch implements thread.Subscription.
func (r *relay) Unwatch(threadID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watched[threadID]
	if w == nil {
		return
	}
	if w.users--; w.users > 0 {
		return
	}
	delete(r.watched, threadID)
	delete(r.join, threadID)
	delete(r.look, threadID)
	r.leave[threadID] = true
	r.signal()
}

func (r *relay) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// attend subscribes and unsubscribes, and looks at the logs of threads whose
// subscription has just been confirmed.
func (r *relay) attend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.mu.Lock()
		ps, join, leave, look := r.ps, takeSome(r.join), takeSome(r.leave), takeSome(r.look)
		if len(r.join)+len(r.leave)+len(r.look) > 0 {
			r.signal()
		}
		r.mu.Unlock()
		if len(leave) > 0 {
			_ = ps.Unsubscribe(ctx, r.channels(leave)...) // at the next connection it is so anyway
		}
		if len(join) > 0 {
			_ = ps.Subscribe(ctx, r.channels(join)...) // the same
		}
		if len(look) > 0 {
			r.lookAt(ctx, ps, look)
		}
	}
}

// takeSome moves up to relayBatch members out of a set.
func takeSome(set map[string]bool) (list []string) {
	for id := range set {
		if len(list) == relayBatch {
			break
		}
		list = append(list, id)
		delete(set, id)
	}
	return list
}

func (r *relay) channels(ids []string) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = r.s.keys.threadChannel(id)
	}
	return list
}

// lookAt finds out where logs end, and tells that what is in them may have been missed. It
// looks at the server that the subscription leads to: another one, as during a fail-over,
// may not have what was published before the subscription began.
func (r *relay) lookAt(ctx context.Context, ps *rds.PubSub, ids []string) {
	calls := make([]*call, len(ids))
	for i, id := range ids {
		calls[i] = &call{script: "logends", keys: r.s.keys.thread(id)[:logEndKeys]}
	}
	var heard *rds.IntCmd
	together, err := r.s.evalBehind(ctx, func(p rds.Pipeliner) {
		if _, cluster := r.s.client.(*rds.ClusterClient); !cluster {
			heard = p.Publish(ctx, r.s.keys.probe(r.s.origin), "")
		}
	}, calls...)
	if err == nil && heard != nil {
		err = heard.Err()
	}
	if err != nil {
		if ctx.Err() == nil {
			r.s.log.Warn("look at the logs of watched threads", "err", err)
		}
		pause(ctx, relayPause)
		r.lookLater(ids)
		return
	}
	switch {
	case heard != nil && heard.Val() == 0:
		_ = ps.Close() // receive finds out, and takes a new one
		return
	case heard != nil && !together:
		r.lookLater(ids) // it has the script now
		return
	}
	for i, id := range ids {
		var pos int64
		if reply := &calls[i].reply; reply.status() == "OK" {
			reply.int()
			pos = reply.int()
		}
		r.mu.Lock()
		w := r.watched[id]
		if w != nil {
			pos = max(w.last, pos) // what came meanwhile wasn't handed on
			w.known, w.last = true, pos
		}
		r.mu.Unlock()
		if w != nil {
			r.sub.Missed(id, pos)
		}
	}
}

func (r *relay) lookLater(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if w := r.watched[id]; w != nil {
			w.known = false
			r.look[id] = true
		}
	}
	r.signal()
}

// receive takes messages until ctx ends.
func (r *relay) receive(ctx context.Context) {
	asked := false
	for ctx.Err() == nil {
		r.mu.Lock()
		ps := r.ps
		r.mu.Unlock()
		m, err := ps.ReceiveTimeout(ctx, relayPing)
		var timeout net.Error
		switch {
		case err == nil:
			asked = false
			r.take(m)
		case ctx.Err() != nil:
			return
		case errors.As(err, &timeout) && timeout.Timeout() && !asked:
			asked = ps.Ping(ctx) == nil
		default:
			asked = false
			r.s.log.Warn("subscription lost", "err", err)
			pause(ctx, relayPause)
			r.renew(ctx)
		}
	}
}

// probe looks from time to time whether the connection leads to the server that
// commands go to, and cuts it if not. After a fail-over it may still be that of a master
// which was deposed and tells nothing any more, or nothing while it catches up: a server
// says to how many of its own subscribers it has passed a message on.
func (r *relay) probe(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, relayProbe)
		r.mu.Lock()
		ps, ready := r.ps, r.probing
		r.mu.Unlock()
		if !ready {
			continue
		}
		n, err := r.s.client.Publish(ctx, r.s.keys.probe(r.s.origin), "").Result()
		if err == nil && n == 0 {
			_ = ps.Close() // receive finds out, and takes a new one
		}
	}
}

// renew takes a new connection. Each subscription is confirmed anew, and each log looked at.
func (r *relay) renew(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	_ = r.ps.Close() // it is lost
	r.probing = false
	r.ps = r.s.client.Subscribe(ctx, r.s.keys.control(), r.s.keys.probe(r.s.origin))
	for id, w := range r.watched {
		w.known, w.last = false, 0
		r.join[id] = true
	}
	clear(r.leave)
	r.signal()
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

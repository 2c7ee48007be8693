package chaostest

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread/redis/redistest"
)

// struck is a fault as it went.
type struck struct {
	fault
	from, to time.Time // to is zero while it lasts
}

// wreck carries out the plan's faults; when it returns none is left.
func (w *world) wreck(ctx context.Context) {
	begin := time.Now()
	var all sync.WaitGroup
	for _, f := range w.plan.faults {
		all.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(f.at - time.Since(begin)):
			}
			w.hist.add("FAULT", "%s", f)
			w.mu.Lock()
			i := len(w.struck)
			w.struck = append(w.struck, struck{fault: f, from: time.Now()})
			w.mu.Unlock()
			w.strike(ctx, i)
			w.mu.Lock()
			w.struck[i].to = time.Now()
			w.mu.Unlock()
			w.hist.add("FAULT", "%s is over", f)
		})
	}
	all.Wait()
}

// strike carries out one fault, and undoes it.
func (w *world) strike(ctx context.Context, i int) {
	f := w.struckBy(i)
	r := w.replicas[f.replica]
	if f.n%3 > 0 && (f.kind == faultKill || f.kind == faultPause || slices.Contains(proxied, f.kind)) {
		r = w.working(r)
	}
	w.mu.Lock()
	w.struck[i].replica = r.index
	w.mu.Unlock()
	switch f.kind {
	case faultKill:
		r.kill()
		time.Sleep(f.lasts)
		w.revive(r)
	case faultPause:
		r.signal(syscall.SIGSTOP)
		time.Sleep(f.lasts)
		r.signal(syscall.SIGCONT)
	case faultCut:
		for _, p := range r.links {
			p.cut()
		}
	case faultDeaf, faultMute, faultSlow:
		w.partition(r, f)
	case faultClients:
		r.front.cut()
	case faultUnheard:
		r.front.set(rules{holdDown: true})
		time.Sleep(f.lasts / 2)
		r.front.cut()
		r.front.set(rules{})
	case faultScripts:
		w.everywhere(ctx, func(ctx context.Context, c *rds.Client) error { return c.ScriptFlush(ctx).Err() })
	case faultFull:
		w.fill(ctx, f)
	case faultRestart:
		one := w.topo.nodes[0]
		one.Stop()
		time.Sleep(f.lasts)
		w.must(one.Restart())
	case faultPromote, faultDepose:
		w.failOver(ctx, f)
	case faultReshard:
		w.reshard(ctx, f)
	}
}

func (w *world) struckBy(i int) fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.struck[i].fault
}

// working is the replica that leaves the next line in the witness: it has a run under way.
func (w *world) working(otherwise *replica) *replica {
	before, err := effects(w.witness())
	if err != nil {
		return otherwise
	}
	var life string
	eventually(400*time.Millisecond, func() bool {
		now, err := effects(w.witness())
		if err != nil || len(now) == len(before) {
			return false
		}
		life = now[len(now)-1].life
		return true
	})
	for _, r := range w.replicas {
		if strings.HasPrefix(life, r.name()+"-") {
			return r
		}
	}
	return otherwise
}

// revive begins a replica's next life, as orchestrators do: again and again.
func (w *world) revive(r *replica) {
	var err error
	if !eventually(patience, func() bool { err = r.start(); return err == nil }) {
		w.must(err)
	}
}

// must notes what kept the suite itself from doing what it wanted.
func (w *world) must(err error) {
	if err != nil {
		w.violated("the suite failed: %v", err)
	}
}

// everywhere does something at all servers of Redis; where another fault keeps one away, when it is back.
func (w *world) everywhere(ctx context.Context, do func(ctx context.Context, c *rds.Client) error) {
	var err error
	if !eventually(patience, func() bool { err = w.topo.each(ctx, do); return err == nil }) {
		w.must(err)
	}
}

// partition changes what happens on the way between a replica and Redis for a
// while. What was held is delivered, or lost with its connection.
func (w *world) partition(r *replica, f fault) {
	how := rules{holdDown: f.kind == faultDeaf, holdUp: f.kind == faultMute}
	if f.kind == faultSlow {
		how.delay = time.Duration(1+f.n%60) * time.Millisecond
	}
	for _, p := range r.links {
		p.set(how)
	}
	time.Sleep(f.lasts)
	for _, p := range r.links {
		p.set(rules{})
		if f.n%2 == 0 && f.kind != faultSlow {
			p.cut()
		}
	}
}

// fill leaves Redis no memory for a while.
func (w *world) fill(ctx context.Context, f fault) {
	set := func(limit string) {
		w.everywhere(ctx, func(ctx context.Context, c *rds.Client) error { return c.ConfigSet(ctx, "maxmemory", limit).Err() })
	}
	set("1")
	time.Sleep(f.lasts)
	set("0")
}

// failOver takes the master away until Sentinel has another one, and waits until
// it is the replica of that.
func (w *world) failOver(ctx context.Context, f fault) {
	g := w.topo.group
	before, err := g.Current(ctx)
	if err != nil {
		w.must(err)
		return
	}
	old := g.Master
	if before != old.Addr() {
		old = g.Replica
	}
	if f.kind == faultPromote {
		old.Stop()
	} else {
		w.must(old.Process().Signal(syscall.SIGSTOP))
	}
	sentinels := rds.NewSentinelClient(&rds.Options{Addr: g.Sentinel, DisableIdentity: true})
	defer sentinels.Close() //nolint:errcheck // nothing is lost with it
	w.must(sentinels.Failover(ctx, redistest.MasterName).Err())
	promoted := eventually(patience, func() bool {
		now, err := g.Current(ctx)
		return err == nil && now != before
	})
	if !promoted {
		w.violated("the suite failed: Sentinel promotes nobody")
	}
	time.Sleep(f.lasts)
	if f.kind == faultPromote {
		w.must(old.Restart())
	} else {
		w.must(old.Process().Signal(syscall.SIGCONT))
		time.Sleep(f.lasts) // there are two masters
	}
	c := rds.NewClient(&rds.Options{Addr: old.Addr(), DisableIdentity: true})
	defer c.Close() //nolint:errcheck // nothing is lost with it
	host, port, err := net.SplitHostPort(w.current(ctx, before))
	w.must(err)
	w.must(c.ReplicaOf(ctx, host, port).Err()) // Sentinel would do it, eight seconds later
	if !eventually(patience, func() bool {
		info, err := c.Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "role:slave") && strings.Contains(info, "master_link_status:up")
	}) {
		w.violated("the suite failed: the old master does not follow the new one")
	}
}

// current is the master that Sentinel names.
func (w *world) current(ctx context.Context, otherwise string) string {
	now, err := w.topo.group.Current(ctx)
	if err != nil {
		w.must(err)
		return otherwise
	}
	return now
}

// reading is how long a process may take, when it isn't paused, from reading the time to writing it down.
const reading = 200 * time.Millisecond

// mayBeBehind tells whether the process of an effect may have lost its run without
// knowing it: then it did what another one had already recorded. What it did can't
// get into the state. A record that only a master had which was deposed is lost.
func (w *world) mayBeBehind(e effect) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.struck, func(s struck) bool {
		if e.at.Before(s.from.Add(-reading)) {
			return false
		}
		switch s.kind {
		case faultPause, faultCut, faultDeaf, faultMute, faultSlow:
			return strings.HasPrefix(e.life, w.replicas[s.replica].name()+"-")
		case faultPromote, faultDepose, faultRestart, faultFull, faultReshard:
			return true
		}
		return false
	})
}

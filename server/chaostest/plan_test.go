package chaostest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/parley-dev/parley/thread/redis"
)

// Kinds of faults.
const (
	faultKill = "kill" // kill -9 of a replica, and another life
)

// kinds are the faults around which seeds are made, in turn.
var kinds = []string{faultKill}

// fault is something that goes wrong at some time.
type fault struct {
	kind    string
	at      time.Duration
	lasts   time.Duration
	replica int
}

func (f fault) String() string {
	return fmt.Sprintf("%s@%d+%d/%d", f.kind, f.at.Milliseconds(), f.lasts.Milliseconds(), f.replica)
}

// plan is all that a seed decides.
type plan struct {
	seed       uint64
	topology   string
	durability redis.Durability
	replicas   int
	proxied    bool // there are proxies between replicas and Redis
	skew       []time.Duration
	faults     []fault
	sessions   []script
}

// script is what clients do on one thread.
type script struct {
	ops     []op
	answers []answering
	seed    uint64 // of choices that depend on what is found
}

// op is something that the thread's main client does.
type op struct {
	kind     string // start, cancel
	strategy string
	way      string // runs, stream, wait, v2
	action   string // of a cancel
	order    order
	twice    bool          // sent again, to another replica
	late     time.Duration // how long after the first
	think    time.Duration // before it
}

// answering is how a client answers.
type answering struct {
	way    string // v2, runs, stream
	late   time.Duration
	update bool
	extra  bool // goto
	same   bool // gives the answer that the other one gives, too
}

// whole is how long clients work.
const whole = 1500 * time.Millisecond

func newPlan(seed uint64) *plan {
	rnd := rand.New(rand.NewPCG(seed, 17)) //nolint:gosec // it is to be repeatable
	p := &plan{seed: seed, topology: standalone, durability: redis.EverySec, replicas: 2 + rnd.IntN(2)}
	p.addFault(rnd, kinds[seed%uint64(len(kinds))])
	for rnd.IntN(3) == 0 {
		p.addFault(rnd, kinds[rnd.IntN(len(kinds))])
	}
	p.skew = make([]time.Duration, p.replicas)
	for range 2 + rnd.IntN(2) {
		p.sessions = append(p.sessions, newScript(rnd, len(p.sessions)))
	}
	return p
}

func (p *plan) addFault(rnd *rand.Rand, kind string) {
	between := func(from, to int) time.Duration { return time.Duration(from+rnd.IntN(to-from)) * time.Millisecond }
	for range 1 + rnd.IntN(3) {
		p.faults = append(p.faults, fault{kind: kind, at: between(50, 1300), lasts: between(20, 600), replica: rnd.IntN(p.replicas)})
	}
}

func newScript(rnd *rand.Rand, n int) script {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	s := script{seed: rnd.Uint64()}
	for i := range 3 + rnd.IntN(4) {
		o := op{kind: "start", think: time.Duration(rnd.IntN(250)) * time.Millisecond}
		if i > 0 && rnd.IntN(5) == 0 {
			o.kind, o.action = "cancel", pick("interrupt", "interrupt", "rollback")
			s.ops = append(s.ops, o)
			continue
		}
		o.strategy = pick("enqueue", "enqueue", "enqueue", "reject", "interrupt", "rollback")
		o.way = pick("runs", "stream", "wait", "v2")
		o.twice, o.late = rnd.IntN(4) == 0, time.Duration(rnd.IntN(120))*time.Millisecond
		o.order = order{Tag: fmt.Sprintf("s%dr%d", n, i), Tokens: rnd.IntN(30), Asks: max(0, rnd.IntN(5)-1), Pause: rnd.IntN(40)}
		s.ops = append(s.ops, o)
	}
	same := rnd.IntN(4) == 0
	for range 2 {
		s.answers = append(s.answers, answering{
			way: pick("v2", "runs", "stream"), late: time.Duration(rnd.IntN(60)) * time.Millisecond,
			update: rnd.IntN(2) == 0, extra: rnd.IntN(3) == 0, same: same,
		})
	}
	return s
}

// String says what the seed is about.
func (p *plan) String() string {
	var faults []string
	for _, f := range p.faults {
		faults = append(faults, f.String())
	}
	return fmt.Sprintf("%s, %d replicas, %d threads, %s", p.topology, p.replicas, len(p.sessions), strings.Join(faults, " "))
}

package chaostest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/thread/redis"
)

// Kinds of faults.
const (
	faultKill      = "kill"      // kill -9 of a replica, and another life
	faultPause     = "pause"     // SIGSTOP of a replica past its leases, and SIGCONT
	faultCut       = "cut"       // a replica's connections to Redis break
	faultDeaf      = "deaf"      // nothing of what Redis says comes to a replica
	faultMute      = "mute"      // nothing of what a replica says comes to Redis
	faultSlow      = "slow"      // the way between a replica and Redis takes long
	faultClients   = "clients"   // connections of clients break
	faultUnheard   = "unheard"   // what a replica answers doesn't come to clients, whose connections then break
	faultSkew      = "skew"      // a replica's clock is wrong
	faultScripts   = "scripts"   // Redis forgets its scripts
	faultFull      = "full"      // Redis has no memory left
	faultRestart   = "restart"   // kill -9 of Redis, and another life with its append-only file
	faultPromote   = "promote"   // kill -9 of the master: Sentinel promotes the replica
	faultDepose    = "depose"    // SIGSTOP of the master, and SIGCONT once the replica is promoted
	faultReshard   = "reshard"   // slots move from one master to another
	faultDuplicate = "duplicate" // requests come twice, or late
)

// kinds are the faults around which seeds are made, in turn.
var kinds = []string{
	faultKill, faultPause, faultCut, faultDeaf, faultMute, faultSlow, faultClients, faultUnheard,
	faultSkew, faultScripts, faultFull, faultRestart, faultPromote, faultDepose, faultReshard, faultDuplicate,
}

// belongs are the topologies that faults want.
var belongs = map[string]string{faultRestart: standalone, faultPromote: sentinel, faultDepose: sentinel, faultReshard: cluster}

// proxied are the faults of the way between a replica and Redis.
var proxied = []string{faultCut, faultDeaf, faultMute, faultSlow}

// fault is something that goes wrong at some time.
type fault struct {
	kind    string
	at      time.Duration
	lasts   time.Duration
	replica int
	n       int // what else the kind decides by
}

func (f fault) String() string {
	return fmt.Sprintf("%s@%d+%d/%d", f.kind, f.at.Milliseconds(), f.lasts.Milliseconds(), f.replica)
}

// plan is all that a seed decides.
type plan struct {
	seed       uint64
	kind       string // of the fault that it is about
	topology   string
	durability redis.Durability
	replicas   int
	skew       []time.Duration
	faults     []fault
	sessions   []script
}

// has tells whether a kind of fault is in the plan.
func (p *plan) has(list ...string) bool {
	return slices.ContainsFunc(p.faults, func(f fault) bool { return slices.Contains(list, f.kind) })
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
	race   bool // answers at the moment at which the other one does
	twice  bool
}

func newPlan(seed uint64) *plan {
	rnd := rand.New(rand.NewPCG(seed, 17)) //nolint:gosec // it is to be repeatable
	p := &plan{seed: seed, kind: kinds[seed%uint64(len(kinds))], replicas: 2 + rnd.IntN(2)}
	p.skew = make([]time.Duration, p.replicas)
	p.topology = belongs[p.kind]
	if p.topology == "" {
		p.topology = []string{standalone, standalone, standalone, standalone, cluster, cluster, sentinel}[rnd.IntN(7)]
	}
	p.addFault(rnd, p.kind)
	for rnd.IntN(3) == 0 {
		other := kinds[rnd.IntN(len(kinds))]
		switch at := belongs[other]; {
		case at != "" && at != p.topology, p.has(faultPromote, faultDepose):
		case other == faultFull && p.has(faultReshard), other == faultReshard && p.has(faultFull): // slots can't move where there is no room
		default:
			p.addFault(rnd, other)
		}
	}
	switch p.topology {
	case standalone:
		p.durability = []redis.Durability{redis.None, redis.EverySec, redis.Always}[rnd.IntN(3)]
		if p.has(faultRestart) {
			p.durability = redis.Always
		}
	case sentinel:
		p.durability = redis.Replicated
	default:
		p.durability = redis.EverySec
	}
	for range 2 + rnd.IntN(2) {
		p.sessions = append(p.sessions, newScript(rnd, len(p.sessions), p.has(faultDuplicate)))
	}
	return p
}

func (p *plan) addFault(rnd *rand.Rand, kind string) {
	between := func(from, to int) time.Duration { return time.Duration(from+rnd.IntN(to-from)) * time.Millisecond }
	times := 1 + rnd.IntN(3)
	length := [2]int{20, 600}
	switch kind {
	case faultSkew:
		for i := range p.skew {
			p.skew[i] = time.Duration(rnd.IntN(1201)-600) * time.Second
		}
		times = 1 // it always lasts
	case faultKill:
		times += rnd.IntN(2)
	case faultPause:
		times, length = times+rnd.IntN(2), [2]int{600, 1900} // mostly past the lease
	case faultRestart, faultPromote, faultDepose:
		times, length = 1, [2]int{20, 300}
	case faultFull:
		length = [2]int{50, 500}
	case faultDuplicate:
		times = 1
	case faultScripts:
		times = 4
	}
	for range times {
		p.faults = append(p.faults, fault{
			kind: kind, at: between(50, 1300), lasts: between(length[0], length[1]), replica: rnd.IntN(p.replicas), n: rnd.IntN(1 << 16),
		})
	}
}

func newScript(rnd *rand.Rand, n int, often bool) script {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	twice := func() bool { return rnd.IntN(4) == 0 || often && rnd.IntN(2) == 0 }
	s := script{seed: rnd.Uint64()}
	for i := range 3 + rnd.IntN(4) {
		o := op{kind: "start", think: time.Duration(rnd.IntN(250)) * time.Millisecond}
		if i > 0 && rnd.IntN(5) == 0 {
			o.kind, o.action = "cancel", pick("interrupt", "interrupt", "rollback")
			s.ops = append(s.ops, o)
			continue
		}
		o.strategy = pick("enqueue", "enqueue", "enqueue", "enqueue", "reject", "interrupt", "rollback")
		o.way = pick("runs", "stream", "wait", "v2")
		o.twice, o.late = twice(), time.Duration(rnd.IntN(120))*time.Millisecond
		if often && rnd.IntN(2) == 0 {
			o.late *= 5
		}
		o.order = order{Tag: fmt.Sprintf("s%dr%d", n, i), Tokens: rnd.IntN(30), Asks: max(0, rnd.IntN(5)-1), Pause: rnd.IntN(40)}
		s.ops = append(s.ops, o)
	}
	same, race := rnd.IntN(4) == 0, rnd.IntN(2) == 0
	for range 2 {
		s.answers = append(s.answers, answering{
			way: pick("v2", "runs", "stream"), late: time.Duration(rnd.IntN(60)) * time.Millisecond,
			update: rnd.IntN(2) == 0, extra: rnd.IntN(3) == 0, same: same, race: race, twice: twice(),
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
	return fmt.Sprintf("%s, %s, %d replicas, %d threads, %s", p.topology, p.durability, p.replicas, len(p.sessions), strings.Join(faults, " "))
}

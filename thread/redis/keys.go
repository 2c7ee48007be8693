package redis

import (
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// DefaultPrefix is what all keys and channels begin with.
const DefaultPrefix = "parley:"

// keys makes the names of all keys and channels; nowhere else is one written.
// What stands in braces decides the slot in a cluster: the thread's id, the
// number of a shard, or the name of a kind of rows.
type keys struct {
	prefix string
	shards int
}

// The keys of a thread, in the order in which scripts get them (scripts/lib/keys.lua).
var threadKeyNames = []string{
	"head",        // hash: what transitions change
	"log",         // stream: batches of log entries
	"details",     // hash: metadata, configuration, error, what is owed to the log, what a rollback of the last run puts back
	"runs",        // hash: rows and documents of runs
	"order",       // sorted set: run ids by number
	"checkpoints", // hash: checkpoints by sequence, sequences by namespace and id
	"index",       // sorted set: namespaces and sequences, in their order
	"namespaces",  // sorted set: namespaces by their newest checkpoint
	"tasks",       // hash: task records by checkpoint
	"questions",   // hash: interrupts and answers
	"open",        // sorted set: ids of pending interrupts by time
	"steps",       // hash: the journal by origin
	"blobs",       // hash: large values by digest
	"segments",    // hash: message lists
	"idempotent",  // hash: runs by idempotency key
	"outbox",      // hash: webhooks to be sent
	"retired",     // sorted set: runs by the end of their execution
	"reviews",     // hash: reviews of questions
	"audit",       // hash: the audit chain
	"dead",        // hash: webhooks that are tried no more
}

// The keys that the most frequent scripts get.
const (
	headKey     = 1 // head
	headLogKeys = 2 // head, log
	logEndKeys  = 3 // head, log, details
)

// thread lists the keys of a thread.
func (k keys) thread(id string) []string { return k.threadFirst(id, len(threadKeyNames)) }

// threadFirst is the first n of a thread's keys, for scripts that touch no other.
func (k keys) threadFirst(id string, n int) []string {
	tag := k.prefix + "{" + tagged(id) + "}:"
	list := make([]string, n)
	for i, name := range threadKeyNames[:n] {
		list[i] = tag + name
	}
	return list
}

// tagged is an id as a hash tag: one without braces, and never empty.
func tagged(id string) string {
	if id != "" && !strings.ContainsAny(id, "{}%") {
		return id
	}
	return "%" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(id)
}

// The keys of a shard, in the order in which scripts get them: what is derived from threads.
var shardKeyNames = []string{
	"entries",    // hash: per thread, what of it is in the others, and its version
	"index",      // sorted set: members that searches range over (index.go)
	"queue",      // sorted set: threads by when they next give work
	"expiring",   // sorted set: threads by the end of their life
	"retiring",   // sorted set: threads by their first run whose log can be dropped
	"deliveries", // sorted set: webhooks by when they are due
	"owners",     // hash: threads of webhooks
	"dirty",      // sorted set: marks of threads whose derived entries may be behind, by time
	"unsealed",   // sorted set: threads by the first audit entry that stands in no project's chain
	"parts",      // hash: reviews and dead letters, what of each is in the others, and its version
	"part-index", // sorted set: members that searches for parts range over (parts.go)
	"part-due",   // sorted set: parts by when they are due
	"part-ids",   // hash: parts by the ids under which they are found
}

func (k keys) shardTag(n int) string { return k.prefix + "{" + strconv.Itoa(n) + "}:" }

// shard lists the keys of shard n.
func (k keys) shard(n int) []string {
	tag := k.shardTag(n)
	list := make([]string, len(shardKeyNames))
	for i, name := range shardKeyNames {
		list[i] = tag + name
	}
	return list
}

// shardOf is the shard of an id: of a thread, a run, or the first label of an item.
func (k keys) shardOf(id string) int { return int(xxh3.HashString(id) % uint64(k.shards)) }

func (k keys) entries(n int) string    { return k.shardTag(n) + "entries" }
func (k keys) index(n int) string      { return k.shardTag(n) + "index" }
func (k keys) queue(n int) string      { return k.shardTag(n) + "queue" }
func (k keys) expiring(n int) string   { return k.shardTag(n) + "expiring" }
func (k keys) retiring(n int) string   { return k.shardTag(n) + "retiring" }
func (k keys) deliveries(n int) string { return k.shardTag(n) + "deliveries" }
func (k keys) owners(n int) string     { return k.shardTag(n) + "owners" }
func (k keys) dirty(n int) string      { return k.shardTag(n) + "dirty" }
func (k keys) unsealed(n int) string   { return k.shardTag(n) + "unsealed" }
func (k keys) partIndex(n int) string  { return k.shardTag(n) + "part-index" }
func (k keys) partDue(n int) string    { return k.shardTag(n) + "part-due" }
func (k keys) partIDs(n int) string    { return k.shardTag(n) + "part-ids" }

// runs is the hash of the threads of runs, by run id.
func (k keys) runs(runID string) string { return k.runsOf(k.shardOf(runID)) }

func (k keys) runsOf(n int) string { return k.shardTag(n) + "runs" }

// firsts lists the keys of a run's shard that tell whose it is, and, of the first run
// of an execution, its place in the order of executions.
func (k keys) firsts(runID string) []string {
	n := k.shardOf(runID)
	return []string{k.runsOf(n), k.executions(n), k.executionOrder(n)}
}

func (k keys) executions(n int) string     { return k.shardTag(n) + "executions" }
func (k keys) executionOrder(n int) string { return k.shardTag(n) + "execution-order" }

// presence is the hash of who looks at a thing, and until when.
func (k keys) presence(thing string) string { return k.prefix + "{" + tagged(thing) + "}:presence" }

// items lists the keys of the long-term items of a shard: items, their order by
// namespace and key, those with an end, and how many each namespace has.
func (k keys) items(n int) []string {
	tag := k.shardTag(n)
	return []string{tag + "items", tag + "items-order", tag + "items-expiring", tag + "items-namespaces"}
}

// assistants lists the keys of assistants: the current versions, and all of them.
func (k keys) assistants() []string {
	tag := k.prefix + "{assistants}:"
	return []string{tag + "current", tag + "versions"}
}

// assistantsOp notes for a minute that an assistant was deleted by an operation.
func (k keys) assistantsOp(op string) string { return k.prefix + "{assistants}:deleted:" + op }

// cronsOp is assistantsOp of crons.
func (k keys) cronsOp(op string) string { return k.prefix + "{crons}:deleted:" + op }

// crons lists the keys of crons: their rows, and when they fire next.
func (k keys) crons() []string {
	tag := k.prefix + "{crons}:"
	return []string{tag + "rows", tag + "next"}
}

// projects lists the keys of all projects: the ends of their audit chains by name, how
// far the chain of each thread is sealed, and API keys by id.
func (k keys) projects() []string {
	tag := k.prefix + "{projects}:"
	return []string{tag + "ends", tag + "sealed", tag + "keys"}
}

// projectAudit is the hash of a project's sealed audit entries by number.
func (k keys) projectAudit(project string) string { return k.prefix + "{projects}:audit:" + project }

// projectsOp notes for a minute what an operation on projects did.
func (k keys) projectsOp(op string) string { return k.prefix + "{projects}:done:" + op }

// settings is the hash of what all replicas have to agree on.
func (k keys) settings() string { return k.prefix + "settings" }

// threadChannel is where what is stored for a thread is published.
func (k keys) threadChannel(id string) string { return k.prefix + "thread:" + id }

// channelArgs tell a script where to publish what it stores, and who stores it.
func (s *Store) channelArgs(threadID string) []any {
	return []any{s.keys.threadChannel(threadID), s.origin, s.keys.control()}
}

// probe is the channel of one subscription, on which nothing is ever said.
func (k keys) probe(origin string) string { return k.prefix + "probe:" + origin }

// control is the channel on which replicas tell each other of work and cancels.
func (k keys) control() string { return k.prefix + "control" }

package redis

import (
	"context"
	"fmt"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// Durability says what an acknowledged decision survives (decisions 18): a run
// that was admitted, an answer, a question with a review, the end of a run, an edit, an audit entry;
// with Replicated also who executes a run.
type Durability string

// The levels of durability.
const (
	// None leaves it to the server: without AOF a restart loses what came since its last snapshot.
	None Durability = "none"
	// EverySec is what appendfsync everysec gives: a crash may lose the last second. The default.
	EverySec Durability = "everysec"
	// Always survives a crash of the server: each decision waits for the disk.
	Always Durability = "always"
	// Replicated survives a fail-over: each decision waits for all replicas, too.
	Replicated Durability = "replicated"
)

// DefaultConfirmWithin is how long a decision may wait for its confirmation.
const DefaultConfirmWithin = 2 * time.Second

// confirmation is the command that waits for what a level promises.
type confirmation struct {
	needed   bool
	aof      bool // WAITAOF, else WAIT
	local    int  // 1: this server's disk
	replicas int
	within   time.Duration
}

// confirmationFor finds the command for a level on the servers that were checked.
func confirmationFor(d Durability, within time.Duration, servers []serverInfo) (c confirmation, err error) {
	c.within = within
	switch d {
	case None, EverySec:
		return c, nil
	case Always, Replicated:
	default:
		return c, fmt.Errorf("redis: durability %q is none of none, everysec, always, replicated", d)
	}
	c.aof, c.needed = true, true
	for _, s := range servers {
		switch {
		case !s.aof:
			return c, fmt.Errorf("redis: durability %s wants the append-only file: set appendonly yes on %s", d, s.addr)
		case d == Replicated && s.replicas == 0:
			return c, fmt.Errorf("redis: durability replicated wants a replica of %s", s.addr)
		}
		c.aof = c.aof && s.atLeast(7, 2)
		if d == Replicated && (c.replicas == 0 || s.replicas < c.replicas) {
			c.replicas = s.replicas
		}
	}
	if c.aof {
		c.local = 1
		return c, nil
	}
	for _, s := range servers {
		if s.fsync != "always" {
			return c, fmt.Errorf("redis: durability %s wants appendfsync always on %s, or a server of version 7.2 or later", d, s.addr)
		}
	}
	c.needed = c.replicas > 0 // what is answered is on the disk
	return c, nil
}

// ofLease is the confirmation that a lease wants: that the replicas have it. A master that was
// deposed without knowing it has none, and would take the runs of the new one's owners over: their
// leases have run out there. The wait leaves half of the lease.
func (c confirmation) ofLease(lease time.Duration) confirmation {
	c.needed, c.aof, c.local = c.replicas > 0, false, 0
	c.within = max(time.Millisecond, min(c.within, lease/2)) // 0 would be for ever
	return c
}

// confirmed runs a script and waits, on the same connection, until what it stored
// is as durable as asked for. With ErrUnconfirmed the reply is good all the same.
func (s *Store) confirmed(ctx context.Context, name string, keys []string, args ...any) reply {
	return s.confirmedBy(ctx, s.confirm, name, keys, args...)
}

func (s *Store) confirmedBy(ctx context.Context, c confirmation, name string, keys []string, args ...any) reply {
	if !c.needed {
		return s.eval(ctx, name, keys, args...)
	}
	for try := 0; ; try++ {
		node, err := s.node(ctx, keys[0])
		if err != nil {
			return reply{err: unavailable(fmt.Errorf("redis: %s: %w", name, err))}
		}
		var run *rds.Cmd
		var wait rds.Cmder
		_, _ = node.Pipelined(ctx, func(p rds.Pipeliner) error { // each command has its own error
			run = p.EvalSha(ctx, scripts()[name].Hash(), keys, args...)
			wait = c.add(ctx, p)
			return nil
		})
		value, failed := run.Result()
		switch {
		case failed == nil:
			r := newReply(name, value)
			r.unconfirmed = c.check(wait)
			return r
		case rds.HasErrorPrefix(failed, "NOSCRIPT") && try < 3:
			err = node.ScriptLoad(ctx, scripts()[name].source).Err()
		case (rds.HasErrorPrefix(failed, "MOVED") || rds.HasErrorPrefix(failed, "ASK")) && try < 3:
			s.client.(*rds.ClusterClient).ReloadState(ctx)
			err = nil
			pause(ctx, 50*time.Millisecond)
		default:
			err = failed
		}
		if err != nil {
			return reply{err: unavailable(fmt.Errorf("redis: %s: %w", name, err))}
		}
	}
}

// confirmedAll is evalAll for scripts whose result is to be as durable as asked for.
func (s *Store) confirmedAll(ctx context.Context, calls ...*call) error {
	if !s.confirm.needed {
		return s.evalAll(ctx, calls...)
	}
	for _, c := range calls {
		if c.reply = s.confirmed(ctx, c.script, c.keys, c.args...); c.reply.err != nil || c.reply.unconfirmed != nil {
			return errorsFirst(c.reply.err, c.reply.unconfirmed)
		}
	}
	return nil
}

// node is the client of the server that has a key: WAIT is about one connection.
func (s *Store) node(ctx context.Context, key string) (rds.UniversalClient, error) {
	if cluster, ok := s.client.(*rds.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return s.client, nil
}

func (c confirmation) add(ctx context.Context, p rds.Pipeliner) rds.Cmder {
	if c.aof {
		return p.Do(ctx, "WAITAOF", c.local, c.replicas, c.within.Milliseconds())
	}
	return p.Do(ctx, "WAIT", c.replicas, c.within.Milliseconds())
}

// check reads what was confirmed.
func (c confirmation) check(wait rds.Cmder) error {
	cmd, ok := wait.(*rds.Cmd)
	if !ok {
		return errReply
	}
	value, err := cmd.Result()
	if err != nil {
		return fmt.Errorf("%w: %w", thread.ErrUnconfirmed, err)
	}
	have := []int64{}
	switch v := value.(type) {
	case int64:
		have = []int64{int64(c.local), v}
	case []any:
		for _, n := range v {
			if i, ok := n.(int64); ok {
				have = append(have, i)
			}
		}
	}
	if len(have) == 2 && have[0] >= int64(c.local) && have[1] >= int64(c.replicas) {
		return nil
	}
	return thread.ErrUnconfirmed
}

package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"sync"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

const (
	defaultReserve     = 1 << 20
	defaultMaxAttempts = 3
	defaultLease       = 10 * time.Second
	// lookAt is how many threads of each shard a claim looks at.
	lookAt = 8
)

func claimDefaults(c thread.Claim) thread.Claim {
	if c.Reserve <= 0 {
		c.Reserve = defaultReserve
	}
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = defaultMaxAttempts
	}
	if c.Lease <= 0 {
		c.Lease = defaultLease
	}
	return c
}

func claimArgs(c thread.Claim) []any {
	c = claimDefaults(c)
	return []any{c.Worker, c.Lease.Microseconds(), c.Reserve, c.MaxAttempts}
}

// claims are the threads that goroutines of this process are just claiming: the
// others look elsewhere.
type claims struct {
	mu      sync.Mutex
	threads map[string]bool
}

func (c *claims) enter(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads[id] {
		return false
	}
	c.threads[id] = true
	return true
}

func (c *claims) leave(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.threads, id)
}

// ClaimRun implements thread.Runs. The queues say which threads may give work,
// and each thread whether it does.
func (s *Store) ClaimRun(ctx context.Context, c thread.Claim) (run thread.Run, lease thread.Lease, ok bool, err error) {
	if c.RunID != "" {
		id, err := s.ownerOf(ctx, c.RunID)
		if isNotFound(err) {
			return run, lease, false, nil
		}
		if err != nil {
			return run, lease, false, err
		}
		return s.claim(ctx, id, c)
	}
	for {
		list, full, err := s.look(ctx)
		if err != nil {
			return run, lease, false, err
		}
		tried := false
		for _, q := range list {
			if !q.due || !s.claiming.enter(q.id) {
				continue
			}
			tried = true
			run, lease, ok, err = s.claim(ctx, q.id, c)
			s.claiming.leave(q.id)
			if ok || err != nil {
				return run, lease, ok, err
			}
		}
		if !full || !tried {
			return run, lease, false, nil
		}
	}
}

// queued is a thread in a queue.
type queued struct {
	id  string
	at  int64
	due bool
}

// look reads the heads of the queues, earliest first. full tells that there is more of what is due.
func (s *Store) look(ctx context.Context) (list []queued, full bool, err error) {
	heads, err := s.queueHeads(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, h := range heads {
		n := 0
		for _, q := range h {
			if q.due {
				n++
			}
		}
		list = append(list, h...)
		full = full || n == lookAt
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].at < list[j].at })
	return list, full, nil
}

// queueHeads reads the head of each shard's queue and says what of it is due by the clock of
// the server that has it. Each worker does that after each run, so that one server, with one
// clock, is asked without scripts: they cost it ten times as much.
func (s *Store) queueHeads(ctx context.Context) ([][]queued, error) {
	if _, many := s.client.(*rds.ClusterClient); many {
		return s.queueHeadsByScript(ctx)
	}
	heads := make([]*rds.ZSliceCmd, s.keys.shards)
	var clock *rds.TimeCmd
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		clock = p.Time(ctx)
		for n := range heads {
			heads[n] = p.ZRangeWithScores(ctx, s.keys.queue(n), 0, lookAt-1)
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(fmt.Errorf("redis: look for work: %w", err))
	}
	now, list := micros(clock.Val()), make([][]queued, len(heads))
	for n, head := range heads {
		for _, z := range head.Val() {
			q := queued{id: z.Member.(string), at: int64(z.Score)}
			q.due = q.at <= now
			if list[n] = append(list[n], q); !q.due {
				break
			}
		}
	}
	return list, nil
}

func (s *Store) queueHeadsByScript(ctx context.Context) ([][]queued, error) {
	calls := make([]*call, s.keys.shards)
	for n := range calls {
		calls[n] = &call{script: "look", keys: []string{s.keys.queue(n)}, args: []any{lookAt}}
	}
	if err := s.evalAll(ctx, calls...); err != nil {
		return nil, err
	}
	list := make([][]queued, len(calls))
	for n, c := range calls {
		r := &c.reply
		for now := r.int(); r.more(); {
			q := queued{id: r.text(), at: r.int()}
			q.due = q.at <= now
			list[n] = append(list[n], q)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return list, nil
}

// claim leases a run of one thread; with ErrUnconfirmed nobody has it, and it is given back. A
// thread that the queue was wrong about is put right.
func (s *Store) claim(ctx context.Context, id string, c thread.Claim) (run thread.Run, lease thread.Lease, ok bool, err error) {
	args := append([]any{newOp()}, s.channelArgs(id)...)
	args = append(append(args, c.RunID), claimArgs(c)...)
	r := s.confirmedBy(ctx, s.confirm.ofLease(claimDefaults(c).Lease), "claim", s.keys.thread(id), args...)
	if r.err != nil {
		return run, lease, false, r.err
	}
	unconfirmed := r.unconfirmed
	switch r.status() {
	case "GONE", "NONE":
		return run, lease, false, s.reconcile(ctx, id, "")
	case "LOST":
		if unconfirmed != nil {
			return run, lease, false, fmt.Errorf("give run up: %w", unconfirmed)
		}
		token, now := r.int(), timeOf(r.int())
		if run, err = takeRun(id, &r); err != nil {
			return run, lease, false, err
		}
		return thread.Run{}, lease, false, s.giveUp(ctx, run, token, now)
	}
	if run, err = takeRun(id, &r); err != nil {
		return run, lease, false, err
	}
	w := readRow(id, &r)
	held := r.inner()
	if lease, err = takeLease(id, &held); err != nil || r.err != nil {
		return run, lease, false, errorsFirst(err, r.err)
	}
	if unconfirmed != nil {
		if err := s.ReleaseRun(ctx, lease); err != nil {
			s.log.Warn("give back a run whose lease no replica has", "thread", id, "err", err)
		}
		return thread.Run{}, thread.Lease{}, false, fmt.Errorf("claim run %s: %w", run.ID, unconfirmed)
	}
	// The lease is ours, whatever becomes of the queue: an entry that is too early costs others a look.
	if err := s.derive(ctx, w, derived{}); err != nil {
		s.log.Warn("queue entry of a claimed run", "thread", id, "err", err)
	}
	return run, lease, true, nil
}

func takeLease(threadID string, r *reply) (thread.Lease, error) {
	l := thread.Lease{ThreadID: threadID, RunID: r.text(), Worker: r.text(), Token: r.int(), Expires: timeOf(r.int()),
		NextSeq: r.int(), NextPos: r.int(), SeqReserved: r.int(), PosReserved: r.int(),
		FrameBase: r.int(), FrameReserved: r.int(), Lost: int(r.int())}
	return l, r.err
}

// giveUp ends a run that lost its worker too often, as an error. now is the store's time.
func (s *Store) giveUp(ctx context.Context, run thread.Run, token int64, now time.Time) error {
	info := agent.ErrorInfo{Name: "RunAttemptsExceeded", Message: "the run was given up: its worker was lost too often"}
	doc, err := json.Marshal(map[string]string{"error": info.Name, "message": info.Message})
	if err != nil {
		return err
	}
	last, err := ended(agent.RunFinish{GraphID: run.GraphID, Status: string(thread.RunError), Error: &info}, now.UnixMilli())
	if err != nil {
		return err
	}
	f := thread.Finish{Status: thread.RunError, Error: doc, At: now, DropThread: run.Kwargs.Temporary && run.Kwargs.OnCompletion != "keep"}
	if run.Kwargs.Webhook != "" {
		f.Webhook = &thread.Delivery{ID: run.ID, ThreadID: run.ThreadID, RunID: run.ID, URL: run.Kwargs.Webhook, Due: now}
	}
	finish, err := finishArgs(&f)
	if err != nil {
		return err
	}
	args := append([]any{newOp(), token}, s.channelArgs(run.ThreadID)...)
	args[3] = "" // nobody but the subscription tells readers of it
	args = append(append(append(args, "{}"), finish...), floating(last)...)
	r := s.eval(ctx, "giveup", s.keys.thread(run.ThreadID), args...)
	if r.err != nil {
		return r.err
	}
	if r.status() == "FENCED" {
		return nil // another one has it
	}
	w := readRow(run.ThreadID, &r)
	if r.err != nil {
		return r.err
	}
	return s.derive(ctx, w, derived{wake: w.due > 0})
}

// NextDue implements thread.Runs. A queue may be too early, never too late.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	for {
		list, _, err := s.look(ctx)
		if err != nil || len(list) == 0 {
			return time.Time{}, err
		}
		first := list[0]
		w, version, err := s.readRow(ctx, first.id)
		switch {
		case isNotFound(err):
			err = s.underive(ctx, first.id, version, "")
		case err == nil && w.due == first.at:
			return timeOf(w.due), nil
		case err == nil:
			err = s.derive(ctx, w, derived{})
		}
		if err != nil {
			return time.Time{}, err
		}
	}
}

// errorsFirst is the first error.
func errorsFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

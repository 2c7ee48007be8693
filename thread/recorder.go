package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
)

// reserve is how many numbers an owner holds in advance (decisions 2).
const reserve = 1 << 20

// How long numbered events wait for company before they are stored: those that
// readers have already, and those that readers get only afterwards.
const (
	flushSeen   = 20 * time.Millisecond
	flushUnseen = 500 * time.Microsecond
)

// framesPerEvent bounds how many classic frames one event can give.
const framesPerEvent = 8

var (
	// errDrained ends a run at a superstep's boundary because its worker shuts down.
	errDrained = errors.New("thread: run given back at a superstep's end")
	// errRunEnded refuses what a graph says after its outcome.
	errRunEnded = errors.New("thread: the run has ended")
)

// recorder takes what a run does. It numbers events, publishes those that may be
// seen before they are stored, stores the others with the transition they report
// and publishes them then, always in the order of their numbers. One writer at a
// time stores; what comes meanwhile is stored together by the next write.
type recorder struct {
	s   *Service
	run Run

	mu    sync.Mutex
	quiet sync.Cond // signalled when writing becomes false
	lease Lease
	// pos and seq are the numbers of the next event; counted is how many were given.
	pos, seq, counted int64
	// queue holds numbered entries until they are stored and published: those from
	// fresh on aren't stored, those from held on aren't published.
	queue       []Entry
	fresh, held int
	commits     []*pendingCommit
	writes      int64
	writing     bool
	timer       *time.Timer
	timerDue    time.Time

	outcome  *agent.Outcome // once it is stored
	failure  error          // why nothing can be stored any more
	givenUp  error          // why the graph must not go on, although what waits is stored
	closed   bool
	draining bool
	action   string // of a cancel that was asked for
	calls    calls
	began    int64 // Pos of the lease's first event

	encoding sync.Mutex
	encoder  agent.CheckpointEncoder
	known    map[string]*agent.Checkpoint // stored checkpoints that the next ones grow from, by id
	first    *Run                         // of the run's execution, once it was looked for
}

// pendingCommit is a commit that waits for the writer.
type pendingCommit struct {
	commit  Commit
	stored  []*agent.Checkpoint
	outcome *agent.Outcome
	root    bool // holds a checkpoint of the root graph
	undo    bool // removes the run instead of ending it
	done    chan error
}

var _ agent.Recorder = (*recorder)(nil)

func newRecorder(s *Service, run Run, lease Lease) *recorder {
	r := &recorder{s: s, run: run, lease: lease, pos: lease.NextPos, seq: lease.NextSeq, began: lease.NextPos, known: map[string]*agent.Checkpoint{}}
	r.quiet.L = &r.mu
	return r
}

// Emit implements agent.Recorder.
func (r *recorder) Emit(events ...agent.Event) {
	if strike := r.emit(events); strike != nil {
		strike()
	}
}

// emit takes events, and returns what is to be done now that a certain call has begun.
func (r *recorder) emit(events []agent.Event) (strike func()) {
	if len(events) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal() != nil {
		return nil
	}
	r.number(events)
	r.publish(0)
	r.setTimer()
	return r.calls.take()
}

// Commit implements agent.Recorder.
func (r *recorder) Commit(ctx context.Context, c agent.Commit) error {
	p, err := r.encode(c)
	if err == nil {
		p.commit.Reviews, err = r.drafts(context.WithoutCancel(ctx), c.Tasks)
	}
	if err != nil {
		r.fail(err)
		return err
	}
	r.mu.Lock()
	if err := r.refusal(); err != nil && (r.closed || !errors.Is(err, errDrained) || !onlySteps(c)) {
		r.mu.Unlock()
		return err
	}
	events := c.Events
	if c.Outcome != nil {
		p.commit.Finish = r.finish(*c.Outcome)
		p.undo = r.action == CancelRollback
		events = append(events[:len(events):len(events)], r.finished(*c.Outcome))
		r.closed = true // nothing of the run follows
	}
	r.number(events)
	r.commits = append(r.commits, p)
	if !r.writing {
		r.writing = true
		r.write(ctx)
	}
	r.mu.Unlock()
	return <-p.done
}

// onlySteps tells whether a commit records durable steps and nothing else. A
// recorder that gave up takes it: what was done in the world while the worker
// shut down must not be done again by the next one.
func onlySteps(c agent.Commit) bool {
	return len(c.Steps) > 0 && c.Outcome == nil && len(c.Events)+len(c.Tasks)+len(c.Checkpoints) == 0
}

// refusal says why no commit is taken any more.
func (r *recorder) refusal() error {
	switch {
	case r.failure != nil:
		return r.failure
	case r.givenUp != nil:
		return r.givenUp
	case r.closed:
		return errRunEnded
	}
	return nil
}

// encode brings a commit into its stored form. A checkpoint is encoded as what
// changed since its parent.
func (r *recorder) encode(c agent.Commit) (*pendingCommit, error) {
	p := &pendingCommit{stored: c.Checkpoints, outcome: c.Outcome, done: make(chan error, 1)}
	p.commit.Tasks, p.commit.Steps = c.Tasks, c.Steps
	r.encoding.Lock()
	defer r.encoding.Unlock()
	for _, cp := range c.Checkpoints {
		record, err := r.encoder.Encode(cp, r.known[cp.ParentID])
		if err != nil {
			return nil, fmt.Errorf("encode checkpoint %s: %w", cp.ID, err)
		}
		record.RunID = r.run.ID
		p.commit.Audit = append(p.commit.Audit, r.executed(cp, r.known[cp.ParentID])...)
		p.commit.Checkpoints = append(p.commit.Checkpoints, record)
		p.root = p.root || cp.NS == ""
		delete(r.known, cp.ParentID)
		r.known[cp.ID] = cp
	}
	return p, nil
}

// know tells the recorder of a stored checkpoint that the run may go on from.
func (r *recorder) know(cp *agent.Checkpoint) {
	r.encoding.Lock()
	defer r.encoding.Unlock()
	r.known[cp.ID] = cp
}

// number gives events their numbers and queues them.
func (r *recorder) number(events []agent.Event) {
	for _, e := range events {
		entry := Entry{Pos: r.pos, RunID: r.run.ID, Event: e}
		r.pos++
		r.counted++
		if e.Kind.Numbered() {
			entry.Seq = r.seq
			r.seq++
		}
		r.calls.see(e)
		if r.queue == nil {
			r.queue = *queues.Get().(*[]Entry)
		}
		r.queue = append(r.queue, entry)
	}
}

// publish hands on, in order, what readers may have: everything up to stored,
// then what is ephemeral and has numbers from the reserved range.
func (r *recorder) publish(stored int64) {
	n := r.held
	for n < len(r.queue) {
		e := &r.queue[n]
		early := e.Event.Kind.Ephemeral() && e.Pos <= r.lease.PosReserved && e.Seq <= r.lease.SeqReserved
		if e.Pos > stored && !early {
			break
		}
		n++
	}
	if n == r.held {
		return
	}
	out := r.queue[r.held:n:n]
	r.held = n
	r.s.publish.Publish(r.run.ThreadID, out)
}

// queues lends the memory of queues to recorders.
var queues = sync.Pool{New: func() any { q := make([]Entry, 0, 64); return &q }}

// maxQueue bounds the memory, in entries, that an empty queue keeps.
const maxQueue = 1024

// compact drops the entries that are stored and published; nobody may be storing.
func (r *recorder) compact() {
	done := min(r.fresh, r.held)
	n := copy(r.queue, r.queue[done:])
	clear(r.queue[n:])
	r.queue, r.fresh, r.held = r.queue[:n], r.fresh-done, r.held-done
	if n == 0 && cap(r.queue) > maxQueue {
		r.queue = nil
	}
}

// giveQueue gives the queue's memory back, once nothing follows.
func (r *recorder) giveQueue() {
	if queue := r.queue; queue != nil && len(queue) == 0 {
		r.queue = nil
		queues.Put(&queue)
	}
}

// setTimer sets the timer that stores what no commit comes for.
func (r *recorder) setTimer() {
	if r.fresh == len(r.queue) || r.writing {
		return
	}
	wait := flushSeen
	if r.held < len(r.queue) {
		wait = flushUnseen
	} else if !r.timerDue.IsZero() {
		return // it was armed before, so it is due before
	}
	due := time.Now().Add(wait)
	switch {
	case r.timer == nil:
		r.timer = time.AfterFunc(wait, r.flush)
	case r.timerDue.IsZero() || due.Before(r.timerDue):
		r.timer.Reset(wait)
	default:
		return
	}
	r.timerDue = due
}

// flush stores what waits; the timer calls it.
func (r *recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timerDue = time.Time{}
	if r.writing || r.failure != nil || r.fresh == len(r.queue) {
		return
	}
	r.writing = true
	r.write(context.Background())
}

// write stores what waits until no commit waits any more. It is called with the
// lock held and writing set, and returns so, with writing cleared.
func (r *recorder) write(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // a cancelled run still stores: that it ends is a transition, too
	ctx = WithActor(ctx, Actor{Principal: r.run.Principal, Kind: "agent", Via: "run"})
	for {
		commits, entries := r.commits, r.queue[r.fresh:len(r.queue):len(r.queue)]
		seen := r.held > r.fresh // some of them have been published
		r.commits, r.fresh = nil, len(r.queue)
		if len(entries) == 0 && len(commits) == 0 {
			break
		}
		lease := r.lease
		r.writes++
		id := fmt.Sprintf("%s/%d/%d", r.run.ID, lease.Token, r.writes)
		r.mu.Unlock()
		told, err := r.store(ctx, lease, id, commits, entries)
		r.mu.Lock()
		if err != nil {
			r.queue, r.fresh, r.held = nil, 0, 0
			r.failWith(err)
			for _, c := range commits {
				c.done <- err
			}
			break
		}
		if n := len(entries); n > 0 {
			last := entries[n-1].Pos
			r.publish(last)
			if seen {
				r.s.publish.Stored(r.run.ThreadID, last)
			}
			r.compact()
		}
		r.s.tell(r.run.ThreadID, told)
		for _, c := range commits {
			r.s.asked(r.run, c.commit.Reviews)
			c.done <- r.afterCommit(c)
		}
		r.extend(ctx)
		if len(r.commits) == 0 && r.held == len(r.queue) {
			break // what is left has been seen: it may wait for company
		}
	}
	r.writing = false
	r.quiet.Broadcast()
	if r.failure == nil {
		r.setTimer()
	}
}

// afterCommit keeps what is stored in memory and ends a draining run behind a
// superstep of the root graph.
func (r *recorder) afterCommit(c *pendingCommit) error {
	for _, cp := range c.stored {
		if c.undo {
			break
		}
		r.s.remember(r.run.ThreadID, cp)
	}
	if c.outcome != nil {
		r.outcome = c.outcome
	} else if r.draining && c.root {
		r.givenUp = errDrained
	}
	return r.givenUp
}

// extend reserves more numbers once half of them are used.
func (r *recorder) extend(ctx context.Context) {
	left := min(r.lease.PosReserved-r.pos, r.lease.SeqReserved-r.seq)
	frames := r.lease.FrameReserved - r.lease.FrameBase - r.counted*framesPerEvent
	if r.closed || min(left, frames) > reserve/2 {
		return
	}
	lease := r.lease
	r.mu.Unlock()
	extended, err := r.s.store.ReserveNumbers(ctx, lease, reserve)
	r.mu.Lock()
	if err != nil {
		r.s.log.Warn("reserve numbers", "run", r.run.ID, "err", err)
		return // events beyond the range wait until they are stored
	}
	r.lease.PosReserved, r.lease.SeqReserved = extended.PosReserved, extended.SeqReserved
	r.lease.FrameReserved = extended.FrameReserved
}

// failWith stops the recorder: nothing is stored any more. What is being stored just
// now is published if that succeeds: nobody else tells the readers of this process.
func (r *recorder) failWith(err error) {
	if r.failure == nil {
		r.failure = err
	}
	if !r.writing {
		r.fresh = 0
	}
	clear(r.queue[r.fresh:])
	r.queue, r.held = r.queue[:r.fresh], min(r.held, r.fresh)
	for _, c := range r.commits {
		c.done <- r.failure
	}
	r.commits = nil
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failWith(err)
}

// fence stops the recorder because another worker owns the run.
func (r *recorder) fence() { r.fail(ErrFenced) }

// giveUp refuses what the graph says from now on, but stores what it has said.
func (r *recorder) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.givenUp == nil {
		r.givenUp = errDrained
	}
}

// drain ends the run behind its next superstep.
func (r *recorder) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// cancel notes the action of a cancel, for the run's last event.
func (r *recorder) cancel(action string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.action == "" {
		r.action = action
	}
}

// asked returns the action of a cancel that was asked for; "" for none.
func (r *recorder) asked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.action
}

// owned returns the lease and whether it still matters.
func (r *recorder) owned() (Lease, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease, r.failure == nil && !r.closed
}

// close stores what waits and ends the recorder. It returns the stored outcome,
// nil when there is none, and why the recorder failed.
func (r *recorder) close(ctx context.Context) (*agent.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for r.writing {
		r.quiet.Wait()
	}
	if r.failure == nil && r.fresh < len(r.queue) {
		r.writing = true
		r.write(ctx)
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.giveQueue()
	if r.failure != nil {
		return r.outcome, r.failure
	}
	return r.outcome, r.givenUp
}

// finished is the run's last event.
func (r *recorder) finished(o agent.Outcome) agent.Event {
	f := agent.RunFinish{GraphID: r.run.GraphID, Status: o.Status, Suspended: o.Suspended, Error: o.Err}
	switch {
	case r.action == CancelRollback: // however far it came, it is undone
		f = agent.RunFinish{GraphID: r.run.GraphID, Status: string(RunInterrupted), Cancel: r.action}
	case o.Status == string(RunInterrupted):
		f.Cancel = r.action
	}
	return agent.Event{Kind: agent.RunFinished, At: r.s.clock.Now().UnixMilli(), Payload: f}
}

// finish is what the outcome does to the rows of run and thread.
func (r *recorder) finish(o agent.Outcome) *Finish {
	now := r.s.clock.Now()
	f := &Finish{
		Status: RunStatus(o.Status), Suspended: o.Suspended || o.Breakpoint, HasNext: o.Suspended || o.Breakpoint,
		At: now, DropThread: r.run.Kwargs.Temporary,
	}
	if o.Err != nil {
		f.Error = errorJSON(o.Err)
	}
	if url := r.run.Kwargs.Webhook; url != "" {
		f.Webhook = &Delivery{ID: newID(), ThreadID: r.run.ThreadID, RunID: r.run.ID, URL: url, Due: now}
	}
	return f
}

// errorJSON is an error as the rows of run and thread keep it.
func errorJSON(e *agent.ErrorInfo) json.RawMessage {
	return encodeJSON(map[string]string{"error": e.Name, "message": e.Message})
}

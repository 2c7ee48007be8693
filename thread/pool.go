package thread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errStopping is the cause that ends a run's context when its worker shuts down.
var errStopping = errors.New("thread: worker is stopping")

// claimPause is how long a worker waits after the store failed to answer a claim.
const claimPause = 250 * time.Millisecond

// cancelWithin bounds how long another process's cancel may stay unseen.
const cancelWithin = time.Second

// pool runs what the store has queued: at most limit runs at once, each in a
// goroutine of its own that exists only while there is something to run.
type pool struct {
	s     *Service
	limit int

	mu      sync.Mutex
	started bool
	closing bool
	workers int
	// calls counts wakes, so that a worker which found nothing sees one that came meanwhile.
	calls   uint64
	running map[string]*active
	// custom are the custom headers of runs that this process admitted and hasn't begun.
	custom map[string]map[string]string
	// idle is closed once nothing runs any more; nil unless somebody waits for that.
	idle chan struct{}
	ctx  context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	alarm chan struct{} // the next due time may have changed
	beat  chan struct{} // a run began while none was running
}

// active is a run that this process executes.
type active struct {
	run      Run
	recorder *recorder
	cancel   context.CancelCauseFunc
	headers  map[string]string // custom ones, of the request
	armed    string            // the last action that armed a call of it; the pool's lock guards it
}

func newPool(s *Service) *pool {
	return &pool{
		s: s, limit: s.opts.Workers, running: map[string]*active{}, custom: map[string]map[string]string{},
		alarm: make(chan struct{}, 1), beat: make(chan struct{}, 1),
	}
}

// start begins to claim. Runs that wait already are looked for by all workers.
func (p *pool) start(ctx context.Context) {
	p.mu.Lock()
	ctx, p.end = context.WithCancelCause(ctx)
	p.ctx = ctx
	p.started, p.closing = true, false
	p.wg.Add(2)
	p.mu.Unlock()
	go p.watchDue(ctx)
	go p.keepLeases(ctx)
	p.wakeMany()
}

// stop ends the pool: no claims from now on; running supersteps may finish until
// ctx ends, then their runs are given back. It returns once every goroutine is gone.
func (p *pool) stop(ctx context.Context) error {
	p.mu.Lock()
	if !p.started {
		p.mu.Unlock()
		return nil
	}
	p.started, p.closing = false, true
	idle := make(chan struct{})
	if p.idle = idle; len(p.running) == 0 {
		close(idle)
		p.idle = nil
	}
	for _, a := range p.running {
		a.recorder.drain()
	}
	end := p.end
	p.mu.Unlock()

	select {
	case <-idle:
	case <-ctx.Done():
	}
	p.giveUp()
	end(errStopping)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.wg.Wait()
	}()
	select {
	case <-gone:
		return ctx.Err()
	case <-time.After(stuckAfter):
		return fmt.Errorf("thread: %d runs ignore that they were cancelled", p.active())
	}
}

// stuckAfter is how long nodes may take to return once their context has ended.
const stuckAfter = 5 * time.Second

// giveUp keeps runs that are cut off from storing that they were cancelled.
func (p *pool) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.running {
		a.recorder.giveUp()
	}
}

func (p *pool) active() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running)
}

// wake lets one more worker look for a run, unless all are busy: they look when they are done.
func (p *pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	p.spawn(false)
}

// wakeMany is wake for an unknown number of runs: each worker that finds one calls for another.
func (p *pool) wakeMany() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	p.spawn(true)
}

func (p *pool) spawn(more bool) {
	if !p.started || p.workers >= p.limit {
		return
	}
	p.workers++
	p.wg.Add(1)
	go p.work(more)
}

// offer sets a worker aside for a run that is just being admitted and returns
// what it claims with; nil when all are busy. take or withdraw must follow.
func (p *pool) offer() *Claim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started || p.workers >= p.limit {
		return nil
	}
	p.workers++
	p.wg.Add(1)
	c := p.claim()
	return &c
}

// take lets the offered worker execute the run that was claimed with its admission.
func (p *pool) take(run Run, lease Lease) {
	run.Status, run.Attempt = RunRunning, 1
	go func() {
		p.s.execute(p.ctx, run, lease)
		p.work(false)
	}()
}

// withdraw takes an offer back. A call that came meanwhile may have counted on
// the worker, so that somebody looks.
func (p *pool) withdraw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers--
	p.wg.Done()
	p.calls++
	p.spawn(false)
}

// rearm makes the alarm look for the next due time again.
func (p *pool) rearm() { signal(p.alarm) }

// work claims and executes runs until there is none. With more, it lets another
// worker look as soon as it has found something.
func (p *pool) work(more bool) {
	defer p.wg.Done()
	for {
		p.mu.Lock()
		if p.closing {
			p.workers--
			p.mu.Unlock()
			return
		}
		calls := p.calls
		p.mu.Unlock()

		run, lease, ok, err := p.s.store.ClaimRun(p.ctx, p.claim())
		if err != nil {
			if p.ctx.Err() == nil {
				p.s.log.Error("claim a run", "err", err)
			}
			_ = p.s.clock.Sleep(p.ctx, claimPause)
			if p.ctx.Err() == nil {
				continue
			}
			ok = false
		}
		if ok {
			if more {
				p.wakeMany()
			}
			p.s.execute(p.ctx, run, lease)
			continue
		}
		p.mu.Lock()
		if p.calls == calls || p.closing || p.ctx.Err() != nil {
			p.workers--
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

func (p *pool) claim() Claim {
	// The worker itself ends a run of too many attempts, so that its log says so.
	return Claim{Worker: p.s.opts.WorkerID, Lease: p.s.opts.Lease, Reserve: reserve, MaxAttempts: p.s.opts.MaxAttempts + 1}
}

// add registers a run that is being executed. It returns false when the pool is stopping.
func (p *pool) add(a *active) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return false
	}
	p.running[a.run.ID] = a
	signal(p.beat)
	return true
}

func (p *pool) remove(runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, runID)
	if p.idle != nil && len(p.running) == 0 {
		close(p.idle)
		p.idle = nil
	}
}

// cancel delivers a cancel to a run of this process; others learn of it when they renew.
func (p *pool) cancel(runID, action string) {
	if a := p.find(runID); a != nil {
		p.obey(a, action)
	}
}

// obey stops a run, or arms a call of it.
func (p *pool) obey(a *active, action string) {
	if ArmsCall(action) {
		p.arm(a, action)
		return
	}
	a.stop(action)
}

func (a *active) stop(action string) {
	a.recorder.cancel(action)
	a.cancel(&cancelCause{action: action})
}

// watchDue wakes workers when a delayed run or another worker's lease is due.
func (p *pool) watchDue(ctx context.Context) {
	defer p.wg.Done()
	pause := minAlarm
	for ctx.Err() == nil {
		wait := p.s.opts.Lease
		due, err := p.s.store.NextDue(ctx)
		if err != nil && ctx.Err() == nil {
			p.s.log.Error("look for due runs", "err", err)
		}
		now := p.s.clock.Now()
		overdue := !due.IsZero() && !due.After(now)
		switch {
		case overdue: // and not claimed yet: its thread may be busy
			wait, pause = pause, min(2*pause, p.s.opts.Lease)
		case !due.IsZero():
			wait, pause = min(wait, due.Sub(now)), minAlarm
		default:
			pause = minAlarm
		}
		called := !p.s.sleepUnless(ctx, wait, p.alarm)
		if called || overdue || !due.IsZero() && !due.After(p.s.clock.Now()) {
			p.wakeMany()
		}
	}
}

// minAlarm is the first pause before a due run that nobody could claim is tried again.
const minAlarm = 20 * time.Millisecond

// keepLeases renews the leases of all running runs and learns of cancels that
// other processes have accepted. It sleeps while nothing runs.
func (p *pool) keepLeases(ctx context.Context) {
	defer p.wg.Done()
	every := min(p.s.opts.Lease/3, cancelWithin)
	for {
		p.mu.Lock()
		actives := make([]*active, 0, len(p.running))
		for _, a := range p.running {
			actives = append(actives, a)
		}
		p.mu.Unlock()
		if len(actives) == 0 {
			select {
			case <-p.beat:
				continue
			case <-ctx.Done():
				return
			}
		}
		if p.s.clock.Sleep(ctx, every) != nil {
			return
		}
		for _, a := range actives {
			p.renew(ctx, a)
		}
	}
}

func (p *pool) renew(ctx context.Context, a *active) {
	lease, live := a.recorder.owned()
	if !live {
		return
	}
	_, action, err := p.s.store.Renew(ctx, lease, p.s.opts.Lease)
	switch {
	case errors.Is(err, ErrFenced) || errors.Is(err, ErrNotFound):
		a.recorder.fence()
		a.cancel(ErrFenced)
	case err != nil:
		if ctx.Err() == nil {
			p.s.log.Warn("renew a lease", "run", a.run.ID, "err", err)
		}
	case action != "":
		p.obey(a, action)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

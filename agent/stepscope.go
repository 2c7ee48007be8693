package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
)

// stepScope is the journal of a context: the steps of one origin as one attempt of a task passes them.
type stepScope struct {
	task   *taskContext
	origin string
	// shared is set for an origin that tasks of the thread have in common.
	shared bool
	steps  *journal

	mu    sync.Mutex
	calls map[string]int // of each step name
}

// sharedPrefix begins origins that tasks have in common; those of tasks begin with a checkpoint's id.
const sharedPrefix = "shared/"

// InOrigin returns the context with another journal: Steps (and Once) that run with it are
// keyed by origin instead of by the task, for the whole thread. Whichever tasks come by with the same
// origin, one after the other or at once, after a crash or in a later run: a step of that name is
// carried out once, and all get its result. It is no part of any fork, as the origin is the
// caller's. Called twice in a task with the same origin it begins anew to count the steps of each
// name, and so finds the same ones.
func InOrigin(ctx Context, origin string) Context {
	c := ctx.task()
	s := &stepScope{task: c, origin: sharedPrefix + origin, shared: true}
	if c.loop != nil {
		s.steps = c.loop.r.sharedJournal(s.origin)
		c.mu.Lock()
		c.shared = append(c.shared, s)
		c.mu.Unlock()
	}
	return &originContext{Context: ctx, scope: s}
}

type originContext struct {
	Context
	scope *stepScope
}

func (c *originContext) journal() *stepScope { return c.scope }

// sharedJournal is the journal of an origin that tasks have in common.
func (r *run) sharedJournal(origin string) *journal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journals == nil {
		r.journals = map[string]*journal{}
	}
	if r.journals[origin] == nil {
		r.journals[origin] = &journal{}
	}
	return r.journals[origin]
}

// enter begins the next step of a name: its key, what is journaled of it, and what
// lets the next task have it.
func (s *stepScope) enter(name string) (key stepKey, rec journaled, release func(), err error) {
	if s.task.loop == nil {
		return key, rec, nil, fmt.Errorf("agent: step %q outside of a run", name)
	}
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	key = stepKey{name: name, occurrence: s.calls[name]}
	s.calls[name]++
	s.mu.Unlock()

	release = func() {}
	if s.shared {
		if release, err = s.steps.acquire(s.task, key); err != nil {
			return key, rec, nil, err
		}
	}
	if err := s.steps.load(s); err != nil {
		release()
		return key, rec, nil, err
	}
	rec = s.steps.get(key)
	rec.Origin, rec.Name, rec.Occurrence, rec.pass = s.origin, key.name, key.occurrence, s.task
	return key, rec, release, nil
}

// Recorded tells whether the next Step of that name has been carried out in an earlier attempt: it
// will return what is recorded. It costs nothing in a task that is new.
func Recorded(ctx Context, name string) bool {
	s := ctx.journal()
	if s.task.loop == nil {
		return false
	}
	s.mu.Lock()
	key := stepKey{name: name, occurrence: s.calls[name]}
	s.mu.Unlock()
	return s.steps.load(s) == nil && s.steps.get(key).Status == StepDone
}

// acquire waits until no other task is in the step.
func (j *journal) acquire(ctx context.Context, key stepKey) (release func(), err error) {
	for {
		j.mu.Lock()
		held := j.busy[key]
		if held == nil {
			if j.busy == nil {
				j.busy = map[stepKey]chan struct{}{}
			}
			held = make(chan struct{})
			j.busy[key] = held
			j.mu.Unlock()
			return func() {
				j.mu.Lock()
				defer j.mu.Unlock()
				delete(j.busy, key)
				close(held)
			}, nil
		}
		j.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// mayBeStored tells whether the store can hold steps of the origin.
func (s *stepScope) mayBeStored() bool {
	c := s.task
	if s.shared {
		return !c.exec.Ephemeral
	}
	_, carried := c.loop.cp.Origins[c.planned.id]
	return c.run.mayHaveRun() || carried
}

// record stores a step record before the node goes on.
func (s *stepScope) record(key stepKey, rec journaled) error {
	c := s.task
	s.steps.put(key, rec)
	c.loop.r.commit(context.WithoutCancel(c), &Commit{Steps: []StepRecord{rec.StepRecord}})
	if c.loop.r.broken() != nil {
		return errNotStored
	}
	return nil
}

// idempotencyKey is the step's key for the outside world (decisions 6).
func (s *stepScope) idempotencyKey(key stepKey) string {
	var all []byte
	for _, part := range []string{s.task.exec.ThreadID, s.origin, key.name, strconv.Itoa(key.occurrence)} {
		all = appendString(all, part)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16])
}

// question names what is asked about a step whose outcome isn't known.
func (s *stepScope) question(key stepKey, attempt int) string {
	name := fmt.Sprintf("step:%s:%d:%d", key.name, key.occurrence, attempt)
	if s.shared {
		name += ":" + s.origin
	}
	return name
}

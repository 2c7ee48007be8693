package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// taskContext is the Context of one attempt of a task.
type taskContext struct {
	context.Context
	exec    *Execution
	planned *plannedTask
	attempt int
	// loop and run are nil outside of a run (state updates).
	loop *loop
	run  *taskRun
	// begun is set once the task's namespace has started.
	begun atomic.Bool
	meta  func() MessageMeta

	mu    sync.Mutex
	ids   int
	kinds map[string]int // ids given out by nextID
	// described are the messages of DescribeMessage by id.
	described map[string]MessageOptions
	asks      asks
	// own is the journal of the task; shared are those that it used beside it.
	own    stepScope
	shared []*stepScope
	// calls counts nested graphs; pend is what they left to commit.
	calls   int
	pend    Commit
	stopped bool // a nested graph stands at a breakpoint
}

// context makes the Context of an attempt.
func (l *loop) context(ctx context.Context, t *taskRun, attempt int) *taskContext {
	c := newTaskContext(ctx, l.r.exec, t.planned)
	c.attempt, c.loop, c.run = attempt, l, t
	c.meta = sync.OnceValue(c.messageMeta)
	c.own.steps = &t.journal
	return c
}

func newTaskContext(ctx context.Context, exec *Execution, planned *plannedTask) *taskContext {
	c := &taskContext{Context: ctx, exec: exec, planned: planned}
	c.own = stepScope{task: c, origin: planned.origin}
	return c
}

func (c *taskContext) task() *taskContext  { return c }
func (c *taskContext) journal() *stepScope { return &c.own }
func (c *taskContext) ThreadID() string    { return c.exec.ThreadID }
func (c *taskContext) RunID() string       { return c.exec.RunID }
func (c *taskContext) TaskID() string      { return c.planned.id }
func (c *taskContext) Node() string        { return c.planned.node.name }
func (c *taskContext) Step() int           { return c.planned.step }
func (c *taskContext) Namespace() string   { return c.planned.ns }
func (c *taskContext) Attempt() int        { return c.attempt }
func (c *taskContext) Failure() *ErrorInfo { return c.planned.failed }
func (c *taskContext) Config() Config      { return c.exec.Config }
func (c *taskContext) Items() Items        { return c.exec.Items }
func (c *taskContext) Now() time.Time      { return c.exec.Clock.Now() }

func (c *taskContext) Sleep(d time.Duration) error { return c.exec.Clock.Sleep(c, d) }

// Write implements Context. What can't be encoded is shown as text.
func (c *taskContext) Write(value any) {
	if c.loop == nil {
		return
	}
	raw, err := encode(value)
	if err != nil {
		raw = appendString(nil, fmt.Sprint(value))
	}
	r := c.loop.r
	r.emit(c.loop.ns, Event{Kind: CustomWritten, At: r.now(), NS: c.loop.ns, Payload: Custom{Value: raw}})
}

func (c *taskContext) NewID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return derivedID(c.planned.id, "id", strconv.Itoa(c.ids))
}

// emit hands on an event on the task's namespace.
func (c *taskContext) emit(k Kind, payload any) {
	if c.loop == nil {
		return
	}
	r := c.loop.r
	e := Event{Kind: k, At: r.now(), NS: c.planned.ns, Payload: payload}
	if c.begun.Load() && r.broken() == nil {
		r.exec.Recorder.Emit(e)
		return
	}
	r.emit(c.planned.ns, e)
	c.begun.Store(true)
}

// close moves what the attempt gathered to the task's result.
func (c *taskContext) close(res *taskResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	res.pend, c.pend = c.pend, Commit{}
	res.asked, res.raised, res.nested = c.asks.all(c.run.before, c.loop.answers), c.asks.raised, c.asks.nested
	switch {
	case c.asks.suspended:
		res.kind = taskSuspended
		for _, s := range append([]*stepScope{&c.own}, c.shared...) {
			res.pend.Steps = append(res.pend.Steps, s.steps.failures(c)...)
		}
	case c.stopped:
		res.kind = taskStopped
	}
}

// messageMeta describes the task to readers of its messages.
func (c *taskContext) messageMeta() MessageMeta {
	m := MessageMeta{
		Node: c.planned.node.name, Step: c.planned.step, Triggers: c.planned.triggers, Path: c.planned.pathJSON,
		CheckpointNS: c.planned.ns, Tags: c.planned.node.tags,
	}
	for k, v := range c.planned.node.metadata {
		if raw, err := encode(v); err == nil {
			if m.Extra == nil {
				m.Extra = map[string]json.RawMessage{}
			}
			m.Extra[k] = raw
		}
	}
	return m
}

// nestedMetadata is the metadata of checkpoints of a graph that the task runs (spec/rest-api.md 5.1).
func (c *taskContext) nestedMetadata(ns string) map[string]json.RawMessage {
	m := maps.Clone(c.loop.r.metadata)
	triggers, err := encode(c.planned.triggers)
	if err != nil { // strings always encode
		panic(err)
	}
	m["langgraph_step"] = json.RawMessage(strconv.Itoa(c.planned.step))
	m["langgraph_node"] = appendString(nil, c.planned.node.name)
	m["langgraph_triggers"] = triggers
	m["langgraph_path"] = c.planned.pathJSON
	m["langgraph_checkpoint_ns"] = appendString(nil, c.planned.ns)
	m["checkpoint_ns"] = appendString(nil, ns)
	return m
}

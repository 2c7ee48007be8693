package agent

import (
	"context"
	"encoding/json"
	"slices"
)

// superstep carries out the tasks that the checkpoint starts and makes the next
// checkpoint. It returns how the graph ended, or nil when it goes on.
func (l *loop) superstep(ctx context.Context) *end {
	if len(l.tasks) == 0 {
		return &end{kind: endFinished}
	}
	if len(l.tasks) == 1 && l.tasks[0].node.name == Start {
		return l.enter(ctx, &l.tasks[0])
	}
	if ctx.Err() != nil {
		return l.cutOff()
	}
	if limit := l.r.exec.Config.recursionLimit(); l.steps >= limit {
		return failed(&RecursionError{Limit: limit})
	}
	s := l.newSuperstep()
	if len(s.waiting) > 0 {
		s.showReused()
		if l.breaksAt(slices.Concat(l.g.interruptBefore, l.atRoot(l.r.exec.InterruptBefore)), l.tasks) {
			return &end{kind: endStopped}
		}
		for i := range l.tasks {
			l.started(&l.tasks[i])
		}
		l.state()
		l.r.commit(context.WithoutCancel(ctx), &l.pend)
		if l.r.broken() != nil {
			return &end{kind: endCancelled}
		}
		l.steps++
		s.run(ctx)
	}
	if e := s.ended(ctx); e != nil {
		return e
	}
	next, err := s.all()
	if err != nil {
		return failed(err)
	}
	return l.complete(s.done, next)
}

// atRoot returns breakpoints of the run, which are meant for the root graph.
func (l *loop) atRoot(names []string) []string {
	if l.ns != "" {
		return nil
	}
	return names
}

// breaksAt tells whether a static breakpoint stops the graph (spec/runtime.md
// 2.7): one of the tasks is listed, and something changed since the last stop.
func (l *loop) breaksAt(names []string, tasks []plannedTask) bool {
	if len(names) == 0 {
		return false
	}
	seen := l.ch.seen[breakpointSeen]
	changed := false
	for name, ch := range l.ch.values {
		changed = changed || ch.Version > seen[name]
	}
	return changed && slices.ContainsFunc(tasks, func(t plannedTask) bool {
		return slices.Contains(names, t.node.name) || !t.node.hidden() && slices.Contains(names, "*")
	})
}

// complete makes the checkpoint after a superstep. next are the channels with the results applied.
func (l *loop) complete(done []taskWrites, next *channels) *end {
	ran := l.tasks
	l.ch = next
	l.advance(SourceLoop, nil)
	l.announce(l.wrote(done))
	if len(l.tasks) > 0 && l.breaksAt(slices.Concat(l.g.interruptAfter, l.atRoot(l.r.exec.InterruptAfter)), ran) {
		return &end{kind: endStopped}
	}
	return nil
}

// wrote tells whether a state key was written.
func (l *loop) wrote(done []taskWrites) bool {
	for _, t := range done {
		for _, w := range t.writes {
			if spec := l.g.specs[w.Channel]; spec != nil && spec.state {
				return true
			}
		}
	}
	return false
}

// given is what the hidden node __start__ hands to the state keys: the input.
func (l *loop) given() (Values, error) {
	var input map[string]json.RawMessage
	v := l.ch.values[Start].Value
	if v == nil || json.Unmarshal(v.JSON, &input) != nil {
		return nil, &InvalidUpdateError{Message: "The input of a graph must be an object."}
	}
	values := Values{}
	for k, raw := range input {
		if spec := l.g.specs[k]; spec != nil && spec.state && spec.notInput {
			continue
		}
		values[k] = raw
	}
	return values, nil
}

// enter runs __start__ where nothing runs beside it.
func (l *loop) enter(ctx context.Context, t *plannedTask) *end {
	values, err := l.given()
	if err != nil {
		return failed(err)
	}
	tc := l.context(ctx, &taskRun{planned: t, loop: l}, 1)
	writes, err := l.g.writersOf(tc, t.node, values, l.ch, t.id)
	done := []taskWrites{t.writesOf(writes)}
	var next *channels
	if err == nil {
		next, err = l.ch.applied(done)
	}
	if err != nil {
		l.record(t, TaskRecord{Status: TaskFailed, Error: ErrorInfoOf(err)})
		return failed(err)
	}
	l.record(t, TaskRecord{Status: TaskDone, Writes: l.kept(writes)})
	return l.complete(done, next)
}

// record adds a task's record to the next commit.
func (l *loop) record(t *plannedTask, rec TaskRecord) {
	rec.NS, rec.CheckpointID, rec.TaskID, rec.Name, rec.Path = l.ns, l.cp.ID, t.id, t.node.name, t.path
	l.pend.Tasks = append(l.pend.Tasks, rec)
}

// kept leaves out writes to keys that are never stored.
func (l *loop) kept(writes []Write) []Write {
	if !slices.ContainsFunc(writes, func(w Write) bool { return l.g.specs[w.Channel] != nil && l.g.specs[w.Channel].kind == kindUntracked }) {
		return writes
	}
	return slices.DeleteFunc(slices.Clone(writes), func(w Write) bool {
		return l.g.specs[w.Channel] != nil && l.g.specs[w.Channel].kind == kindUntracked
	})
}

// cutOff ends a cancelled graph before its tasks ran.
func (l *loop) cutOff() *end {
	for i := range l.tasks {
		t := &l.tasks[i]
		if rec, ok := l.records[t.id]; ok && rec.Status != TaskCancelled && rec.Status != "" {
			continue
		}
		l.record(t, TaskRecord{Status: TaskCancelled, Error: cancelledError})
	}
	return &end{kind: endCancelled}
}

// cancelledError is what the record of a task says that a cancel cut off.
var cancelledError = &ErrorInfo{Name: "CancelledError", Message: "Run was cancelled"}

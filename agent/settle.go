package agent

import (
	"context"
	"encoding/json"
	"errors"
)

// settle takes the result of a task: it makes the record and the events, and
// commits them unless nothing else runs, in which case they go with what follows
// (decisions 5).
func (s *superstepRun) settle(ctx context.Context, res *taskResult, running int) {
	l, t := s.l, res.run.planned
	mergeCommit(&l.pend, &res.pend) // what nested graphs left comes first
	if res.kind == taskDone {
		// Results are tried before they are stored, so that none that can't be
		// applied is ever handed back (spec/runtime.md 9, no. 5).
		s.add(t, res.writes, res.asked)
		s.addHandled(t)
		if err := s.try(t, res.writes, running == 0); err != nil {
			res.kind, res.err = taskFailed, err
			s.drop(t, err)
		}
	}
	hidden := t.node.hidden() || t.failed != nil
	unfinished := func(rec TaskRecord) {
		if !res.skipped || res.run.before == nil { // what it asked before still waits
			l.record(t, rec)
		}
	}
	switch res.kind {
	case taskDone:
		l.record(t, TaskRecord{Status: TaskDone, Writes: l.kept(res.writes), Interrupts: res.asked})
		s.recordHandled(t)
		l.pend.Events = append(l.pend.Events, res.messages...)
		if data := l.g.updateOf(res.writes); !hidden && (data != nil || res.returned) {
			l.event(UpdatesEmitted, UpdatesNote{Node: t.node.name, Data: orObject(data), Cached: res.cached})
		}
	case taskFailed:
		unfinished(TaskRecord{Status: TaskFailed, Interrupts: res.asked, Error: ErrorInfoOf(res.err)})
		if !res.handled && !errors.Is(res.err, errAborted) {
			s.errs = append(s.errs, res.err)
		}
	case taskSuspended:
		s.suspended = true
		s.raised = append(s.raised, res.raised...)
		l.record(t, TaskRecord{Status: TaskInterrupted, Interrupts: res.asked, Nested: res.nested})
		kind := InterruptRaised
		if res.nested {
			kind = InterruptBubbled
		}
		for _, q := range res.raised {
			l.event(kind, q)
		}
	case taskStopped:
		s.stopped = true
		l.record(t, TaskRecord{Status: TaskInterrupted, Nested: true, Interrupts: res.asked})
	case taskCutOff:
		s.cutShort = true
		unfinished(TaskRecord{Status: TaskCancelled, Interrupts: res.asked, Error: cancelledError})
	case taskToParent:
		s.toParent = res.command // no record: should the graph go on, the task runs again
	}
	if res.kind != taskCutOff && res.kind != taskStopped && !hidden {
		l.finished(t, res)
	}
	failed := res.kind == taskFailed || res.kind == taskCutOff
	l.pend.Events = append(l.pend.Events, l.r.ends(t.ns, failed)...)
	if running > 0 {
		l.r.commit(context.WithoutCancel(ctx), &l.pend)
	}
}

// mergeCommit appends c to dst and empties it.
func mergeCommit(dst, c *Commit) {
	dst.Checkpoints = append(dst.Checkpoints, c.Checkpoints...)
	dst.Tasks = append(dst.Tasks, c.Tasks...)
	dst.Steps = append(dst.Steps, c.Steps...)
	dst.Events = append(dst.Events, c.Events...)
	*c = Commit{}
}

// started reports a task of the superstep.
func (l *loop) started(t *plannedTask) {
	if t.node.hidden() {
		return
	}
	start := TaskStart{
		ID: t.id, Name: t.node.name, Step: t.step, Triggers: t.triggers, Interrupts: []InterruptInfo{},
	}
	if t.send == nil && !l.pending && !l.unstored() {
		start.CheckpointID, start.State = l.cp.ID, l.state()
	} else {
		start.Input = l.input(t).json()
	}
	l.event(TaskStarted, start)
}

// finished reports the end of a task.
func (l *loop) finished(t *plannedTask, res *taskResult) {
	note := TaskFinish{ID: t.id, Name: t.node.name, Step: t.step, Result: json.RawMessage("{}"), Interrupts: []InterruptInfo{}}
	switch res.kind {
	case taskDone:
		note.Result = orObject(l.g.resultOf(res.writes))
	case taskFailed:
		note.Error = ErrorInfoOf(res.err)
	case taskSuspended:
		note.Interrupts = res.raised
	}
	l.event(TaskFinished, note)
}

// input is what a task gets.
func (l *loop) input(t *plannedTask) taskInput {
	if t.send != nil {
		return taskInput{raw: t.send}
	}
	return taskInput{state: l.state()}
}

// state is the present state, shared by the tasks of a superstep.
func (l *loop) state() *State {
	if l.view == nil || l.viewOf != l.cp {
		l.view, l.viewOf = l.ch.state(l.g.keys), l.cp
	}
	return l.view
}

func orObject(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// updateOf shows a task's writes to state keys as an object, or as a list of
// objects when it wrote a key more than once; nil when there are none.
func (g *Graph) updateOf(writes []Write) json.RawMessage {
	var rounds [][]Write
	for i, w := range writes {
		spec := g.specs[w.Channel]
		if spec == nil || !spec.state {
			continue
		}
		n := writesTo(writes[:i], w.Channel)
		for len(rounds) <= n {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], w)
	}
	switch len(rounds) {
	case 0:
		return nil
	case 1:
		return g.resultOf(rounds[0])
	}
	list := make([]json.RawMessage, len(rounds))
	for i, r := range rounds {
		list[i] = g.resultOf(r)
	}
	return joinElements(list)
}

package agent

// handler returns the task that handles the error of a failed one, if its node has a handler.
func (s *superstepRun) handler(res *taskResult) *taskRun {
	t := res.run.planned
	if res.kind != taskFailed || t.node.onError == "" || t.failed != nil {
		return nil
	}
	res.handled = true
	return s.l.handlerOf(res.run, ErrorInfoOf(res.err))
}

// handlerOf plans the error handler of a failed task (spec/runtime.md 1.13).
func (l *loop) handlerOf(t *taskRun, failure *ErrorInfo) *taskRun {
	p := *t.planned
	p.node = l.g.byName[p.node.onError]
	p.id = handlerTaskID(l.cp.ID, l.ns, p.step, p.node.name, t.planned.id)
	p.path = "~" + pregelPush + ", node_error_handler, " + t.planned.id
	p.triggers, p.failed, p.ns = []string{pregelPush}, failure, taskNS(l.ns, p.node.name, p.id)
	p.origin = l.cp.origin(p.id, p.node.name, "node_error_handler/"+t.planned.origin)
	p.handles = t.planned
	h := &taskRun{planned: &p, loop: l}
	if rec, ok := l.records[p.id]; ok {
		h.before = &rec
	}
	return h
}

// reuseHandler hands back the result of the handler of a task whose failure was handled.
func (s *superstepRun) reuseHandler(t *taskRun) {
	if t.before.Error == nil || t.planned.node.onError == "" {
		return
	}
	h := s.l.handlerOf(t, t.before.Error)
	if h.before != nil && h.before.Status == TaskDone {
		s.add(h.planned, h.before.Writes, h.before.Interrupts)
	}
}

// addHandled makes the failed task count as finished with its handler.
func (s *superstepRun) addHandled(t *plannedTask) {
	if t.handles != nil {
		s.add(t.handles, nil, nil)
	}
}

// recordHandled stores that the failed task counts as finished.
func (s *superstepRun) recordHandled(t *plannedTask) {
	if t.handles != nil {
		s.l.record(t.handles, TaskRecord{Status: TaskDone, Error: t.failed})
	}
}

package agent

import (
	"cmp"
	"errors"
	"slices"
)

// update applies edits as what their nodes returned: state, static and conditional edges.
func (e *editor) update(edits []Edit) error {
	ch := e.channels()
	var unfinished []plannedTask
	if e.base != nil && !e.addressed {
		for _, t := range ch.finish(e.g, e.base) {
			if t.record == nil {
				unfinished = append(unfinished, t.plannedTask)
			}
		}
	}
	derived := edits[0].AsNode == ""
	if derived {
		name, err := ch.lastNode()
		if err != nil {
			return err
		}
		edits = slices.Clone(edits)
		edits[0].AsNode = name
	}
	h := e.head(SourceUpdate)
	seed := cmp.Or(h.ParentID, h.ID)
	tasks := make([]taskWrites, len(edits))
	for i, u := range edits {
		n := e.g.byName[u.AsNode]
		if n == nil {
			return invalidUpdate("Node %q does not exist", u.AsNode)
		}
		t := plannedTask{id: cmp.Or(u.taskID, updateTaskID(seed, i)), node: n, step: h.Step, path: pullPath(n.name)}
		t.ns = taskNS(h.NS, n.name, t.id)
		update, err := e.updateOf(u)
		if err != nil {
			return err
		}
		ctx := editContext(e.ctx, e.req.ThreadID, e.req.Config, e.req.Clock, &t)
		writes, err := e.g.writersOf(ctx, n, update, ch, t.id)
		var parent *parentCommand
		if errors.As(err, &parent) {
			return invalidUpdate("a state update can't speak to the parent graph")
		}
		if err != nil {
			return err
		}
		tasks[i] = taskWrites{id: t.id, name: n.name, path: t.path, triggers: []string{triggerEdit}, writes: writes}
	}
	if err := ch.apply(tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := ch.checkTypes(t.writes); err != nil {
			return err
		}
	}
	if derived {
		h.Origins = e.keptOrigins(unfinished, ch, h)
	}
	cp := ch.freeze(h)
	if e.base != nil && !e.addressed {
		for _, t := range tasks {
			e.result.Tasks = append(e.result.Tasks, TaskRecord{
				NS: cp.NS, CheckpointID: cp.ParentID, TaskID: t.id, Name: t.name, Status: TaskDone, Path: t.path, Writes: t.writes,
			})
		}
	}
	e.commit(cp)
	return nil
}

// keptOrigins keeps the journal of tasks that an update without AsNode leaves
// pending: whoever changes the state of a waiting thread doesn't ask for what the
// waiting task has done to be done again (decisions 6).
func (e *editor) keptOrigins(unfinished []plannedTask, ch *channels, h checkpointHead) map[string]string {
	if len(unfinished) == 0 {
		return nil
	}
	origins := map[string]string{}
	for _, t := range e.g.plan(ch.freeze(h), ch) {
		i := slices.IndexFunc(unfinished, func(b plannedTask) bool { return b.path == t.path && b.triggers[0] == t.triggers[0] })
		if i >= 0 && t.node.name != Start {
			origins[t.id] = unfinished[i].origin
		}
	}
	return origins
}

// lastNode is the node that an update without AsNode speaks for: the one that
// saw the newest version, on an empty thread __start__.
func (c *channels) lastNode() (string, error) {
	var last []string
	var newest int64
	for name, seen := range c.seen {
		if c.g.byName[name] == nil {
			continue
		}
		for _, version := range seen {
			switch {
			case version > newest:
				newest, last = version, []string{name}
			case version == newest && !slices.Contains(last, name):
				last = append(last, name)
			}
		}
	}
	switch len(last) {
	case 0:
		return Start, nil
	case 1:
		return last[0], nil
	}
	slices.Sort(last)
	return "", invalidUpdate("Ambiguous update, specify \"asNode\": %q ran last", last)
}

// updateOf reads an edit as a Command: writes in the order of the document, message
// ids assigned. The ids are new ones: an equal edit of the same base is another message.
func (e *editor) updateOf(u Edit) (*Command, error) {
	update := &Command{}
	if u.Command != nil {
		update.Update, update.Goto, update.Parent = u.Command.Update, u.Command.Goto, u.Command.Parent
	} else if !isNull(u.Values) {
		for _, item := range elements(u.Values) {
			writes, err := objectWrites(item)
			if err != nil {
				return nil, &InvalidUpdateError{Code: codeReturnValue, Message: "Expected values to be an object or a list of objects"}
			}
			update.Update = append(update.Update, writes...)
		}
	}
	var err error
	update.Update, err = e.g.identified(update.Update, e.req.IDs.UUID)
	return update, err
}

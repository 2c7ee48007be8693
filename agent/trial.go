package agent

import (
	"errors"
	"slices"
)

// doneTask is a task whose result is known.
type doneTask struct {
	*plannedTask
	asked []InterruptInfo
}

// add takes a task's result into the superstep.
func (s *superstepRun) add(t *plannedTask, writes []Write, asked []InterruptInfo) {
	s.done = append(s.done, t.writesOf(writes))
	s.doneTasks = append(s.doneTasks, doneTask{t, asked})
}

// try finds out whether the newest result can be applied together with those
// before it (spec/runtime.md 9, no. 5). When it is the last, all are applied, in
// their order; before that each is tried on top of those that ended earlier.
func (s *superstepRun) try(t *plannedTask, writes []Write, last bool) error {
	if last {
		next, err := s.l.ch.applied(s.done)
		if err == nil {
			s.next = next
		}
		return err
	}
	for i, w := range writes {
		key := s.l.g.singleWrite(w)
		if key == "" {
			continue
		}
		if other, ok := s.writers[key]; ok && other.taskID != t.id {
			return &applyError{channel: w.Channel, err: s.l.g.specs[w.Channel].conflict([]write{other, {Write: w}})}
		}
		if s.writers == nil {
			s.writers = map[string]write{}
		}
		s.writers[key] = write{Write: writes[i], taskID: t.id}
	}
	if s.trial == nil {
		s.trial = s.l.ch
	}
	next, err := s.trial.applied([]taskWrites{{id: t.id, name: t.node.name, path: t.path, writes: writes}})
	if err == nil {
		s.trial = next
	}
	return err
}

// singleWrite names what only one task of a superstep may write with w; "" if any number may.
func (g *Graph) singleWrite(w Write) string {
	spec := g.specs[w.Channel]
	if spec == nil {
		return ""
	}
	switch spec.kind {
	case kindReducer, kindMessages:
		if _, ok := overwriteOf(w.Value); ok {
			return w.Channel
		}
	case kindLastValue, kindUntracked:
		return w.Channel
	case kindEphemeral:
		if !spec.several {
			return w.Channel
		}
	}
	return ""
}

// all applies all results; on an error those that can't be applied count as failed.
func (s *superstepRun) all() (*channels, error) {
	if s.next != nil {
		return s.next, nil
	}
	next, err := s.l.ch.applied(s.done)
	if err != nil {
		s.drop(nil, err)
	}
	return next, err
}

// drop takes out the result of t and those that it can't be applied with:
// the tasks that wrote to the channel that refused count as failed, too, since a
// change of the code may be meant for any of them.
func (s *superstepRun) drop(t *plannedTask, err error) {
	var refused *applyError
	errors.As(err, &refused)
	for i := len(s.done) - 1; i >= 0; i-- {
		other := s.doneTasks[i]
		own := t != nil && (other.plannedTask == t || other.plannedTask == t.handles)
		if !own && (refused == nil || writesTo(s.done[i].writes, refused.channel) == 0) {
			continue
		}
		if !own {
			s.l.record(other.plannedTask, TaskRecord{Status: TaskFailed, Interrupts: other.asked, Error: ErrorInfoOf(err)})
		}
		s.done, s.doneTasks = slices.Delete(s.done, i, i+1), slices.Delete(s.doneTasks, i, i+1)
	}
}

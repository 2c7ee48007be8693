package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SnapshotOf derives what readers see of a stored checkpoint (spec/runtime.md
// 1.11, spec/rest-api.md 5.1). latest applies the pending writes of finished tasks
// (the newest state) and leaves these out of Next; history does not. With subgraphs,
// nested snapshots are read through r. The Graph is the one that runs in the checkpoint's
// namespace (SubgraphAt); nil for a graph that isn't known, as one that a node
// invoked by hand: then the checkpoint is shown as far as it speaks for itself. A nil
// tuple gives an empty snapshot.
func (g *Graph) SnapshotOf(ctx context.Context, r Reader, t *Tuple, latest, subgraphs bool) (*Snapshot, error) {
	if t == nil || t.Checkpoint == nil {
		return &Snapshot{State: NewState(nil, nil), Next: []string{}, Tasks: []TaskView{}}, nil
	}
	s := &Snapshot{}
	describe(s, t.Checkpoint)
	if g == nil {
		plainSnapshot(s, t)
		return s, nil
	}
	ch := scratchChannels(g, t.Checkpoint)
	var tasks []pendingTask
	if latest {
		tasks = ch.finish(g, t)
	} else {
		tasks = ch.pending(g, t)
	}
	s.State = ch.state(g.keys)
	closed := !slices.ContainsFunc(tasks, func(p pendingTask) bool { return p.record == nil })
	for i := range tasks {
		p := &tasks[i]
		finished := p.record != nil
		if !latest || !finished {
			s.Next = append(s.Next, p.node.name)
		}
		view := TaskView{ID: p.id, Name: p.node.name, Path: p.pathJSON, Interrupts: []InterruptInfo{}}
		if p.node.child != nil {
			view.SubgraphNS = p.childNS(t.Checkpoint.NS)
		}
		if rec := recordOf(t, p.id); rec != nil {
			// What was answered is history: it shows once the whole superstep is.
			if !finished || !latest && closed {
				view.Interrupts = interruptsOf(rec, t.Answers, finished)
			}
			if !finished {
				view.Error = rec.Error
			}
		}
		if p.record != nil {
			view.Result = g.resultOf(p.writesShown(t.Checkpoint))
		}
		s.Tasks = append(s.Tasks, view)
	}
	if !subgraphs {
		return s, nil
	}
	for i := range tasks {
		if err := tasks[i].node.child.addNested(ctx, r, &s.Tasks[i], latest); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// describe fills in what a checkpoint itself says.
func describe(s *Snapshot, cp *Checkpoint) {
	s.NS, s.CheckpointID, s.ParentID, s.CreatedAt = cp.NS, cp.ID, cp.ParentID, cp.At
	s.Next, s.Tasks = []string{}, []TaskView{}
	parents := cp.Parents
	if parents == nil {
		parents = map[string]string{}
	}
	if cp.NS != "" {
		s.Map = maps.Clone(parents)
		s.Map[cp.NS] = cp.ID
	}
	s.Metadata = maps.Clone(orEmpty(cp.Metadata))
	s.Metadata["source"] = appendString(nil, cp.Source)
	s.Metadata["step"] = strconv.AppendInt(nil, int64(cp.Step), 10)
	raw, err := json.Marshal(parents)
	if err != nil { // strings only
		panic(err)
	}
	s.Metadata["parents"] = raw
}

// addNested reads the snapshot of the graph that a task runs.
func (g *Graph) addNested(ctx context.Context, r Reader, view *TaskView, latest bool) error {
	if view.SubgraphNS == "" || r == nil {
		return nil
	}
	t, err := r.Checkpoint(ctx, view.SubgraphNS, "")
	if err != nil {
		return fmt.Errorf("agent: read state of %s: %w", view.SubgraphNS, err)
	}
	if t == nil {
		return nil
	}
	view.Subgraph, err = g.SnapshotOf(ctx, r, t, latest, true)
	return err
}

// plainSnapshot shows a checkpoint of a graph that isn't known here: one that a node
// invoked by hand. Its tasks are those that have records.
func plainSnapshot(s *Snapshot, t *Tuple) {
	var keys []string
	values := map[string]Value{}
	for _, name := range keysOf(t.Checkpoint) {
		if ch := t.Checkpoint.Channels[name]; ch.Value != nil {
			keys = append(keys, name)
			values[name] = *ch.Value
		}
	}
	s.State = NewState(keys, values)
	for i := range t.Tasks {
		rec := &t.Tasks[i]
		if rec.TaskID == NullTask || rec.Status == TaskDone {
			continue
		}
		s.Next = append(s.Next, rec.Name)
		s.Tasks = append(s.Tasks, TaskView{
			ID: rec.TaskID, Name: rec.Name, Path: pullPathJSON(rec.Name), Error: rec.Error,
			Interrupts: interruptsOf(rec, t.Answers, false),
		})
	}
}

// keysOf are the state keys of a checkpoint; all that aren't routing, where it doesn't say.
func keysOf(cp *Checkpoint) []string {
	if cp.Keys != nil {
		return cp.Keys
	}
	var keys []string
	for name := range cp.Channels {
		if !strings.HasPrefix(name, "__") && !strings.HasPrefix(name, "branch:to:") && !strings.HasPrefix(name, "join:") {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}

// childNS is the namespace of the nested graph that a task runs.
func (t *plannedTask) childNS(ns string) string {
	if t.node.child.stateful {
		return joinNS(ns, t.node.name)
	}
	return t.ns
}

// writesShown are the writes of a finished task as readers see them: of __start__
// the input as it was given.
func (p *pendingTask) writesShown(cp *Checkpoint) []Write {
	if input := cp.Channels[Start].Value; p.node.name == Start && input != nil {
		if given, err := objectWrites(input.JSON); err == nil {
			return given
		}
	}
	return p.record.Writes
}

func recordOf(t *Tuple, taskID string) *TaskRecord {
	for i := range t.Tasks {
		if t.Tasks[i].TaskID == taskID {
			return &t.Tasks[i]
		}
	}
	return nil
}

// interruptsOf lists a task's questions: all of them, or those without an answer.
func interruptsOf(rec *TaskRecord, answers map[string]Answer, all bool) []InterruptInfo {
	open := make([]InterruptInfo, 0, len(rec.Interrupts))
	for _, q := range rec.Interrupts {
		if _, ok := answers[q.ID]; all || !ok {
			open = append(open, q)
		}
	}
	return open
}

// resultOf shows a task's writes to state keys as an object; several writes to
// one key as {"$writes": […]} (spec/runtime.md 1.11). Nil when there are none.
func (g *Graph) resultOf(writes []Write) json.RawMessage {
	var order []string
	values := map[string][]json.RawMessage{}
	for _, w := range writes {
		if spec := g.specs[w.Channel]; spec == nil || !spec.state {
			continue
		}
		if values[w.Channel] == nil {
			order = append(order, w.Channel)
		}
		values[w.Channel] = append(values[w.Channel], orNull(w.Value))
	}
	if order == nil {
		return nil
	}
	var b bytes.Buffer
	for i, key := range order {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(append(appendString(nil, key), ':'))
		if list := values[key]; len(list) == 1 {
			b.Write(list[0])
		} else {
			b.WriteString(`{"$writes":`)
			b.Write(joinElements(list))
			b.WriteByte('}')
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// asCopy is the AsNode of an update that forks (spec/runtime.md 5.1).
const asCopy = "__copy__"

// triggerEdit is what a state update has in place of a trigger. It is no channel:
// it only makes the application count as a superstep.
const triggerEdit = "__interrupt__"

// Edit is one update of a state update from outside (spec/runtime.md 5.1, 5.2).
type Edit struct {
	Values  json.RawMessage // object, list of objects, or null
	Command *Command        // replaces Values when set
	AsNode  string          // "" = derived; __input__, __copy__, __end__ as in the spec
	// taskID is the pending task whose result this is; "" for none.
	taskID string
}

// EditRequest is a state update: Supersteps are applied in order on Base, one checkpoint each.
type EditRequest struct {
	ThreadID string
	// NS is the namespace to update; the Graph that is asked is the one that runs there.
	NS string
	// Base is the checkpoint to start from; nil for an empty thread. BaseAddressed is set when the caller named it by id.
	Base          *Tuple
	BaseAddressed bool
	Supersteps    [][]Edit
	// Metadata is that of the new checkpoints.
	Metadata map[string]json.RawMessage
	Config   Config
	Reader   Reader
	Clock    Clock
	IDs      IDs
}

// EditResult is what a state update leaves; the caller stores it.
type EditResult struct {
	Checkpoints []*Checkpoint
	Tasks       []TaskRecord
}

// EditState computes a state update (spec/runtime.md 5.1, 5.2). It executes no
// node, only conditional edges, and stores nothing. Errors: *InvalidUpdateError.
func (g *Graph) EditState(ctx context.Context, req EditRequest) (*EditResult, error) {
	if len(req.Supersteps) == 0 {
		return nil, invalidUpdate("no supersteps were given")
	}
	e := &editor{g: g, ctx: ctx, req: req, base: req.Base, addressed: req.BaseAddressed}
	for _, edits := range req.Supersteps {
		if err := e.superstep(edits); err != nil {
			var invalid *InvalidUpdateError
			if errors.As(err, &invalid) {
				return nil, err
			}
			return nil, &InvalidUpdateError{Message: err.Error()}
		}
	}
	return &e.result, nil
}

func invalidUpdate(format string, args ...any) error {
	return &InvalidUpdateError{Message: fmt.Sprintf(format, args...)}
}

// editor applies supersteps one after the other.
type editor struct {
	g         *Graph
	ctx       context.Context
	req       EditRequest
	base      *Tuple // nil for an empty thread
	addressed bool   // base was named by id: what is pending on it isn't applied
	result    EditResult
}

// superstep makes the next checkpoint.
func (e *editor) superstep(edits []Edit) error {
	if len(edits) == 0 {
		return invalidUpdate("a superstep has no updates")
	}
	for _, u := range edits {
		special := u.AsNode == asCopy || u.AsNode == inputNode || u.AsNode == End
		if len(edits) > 1 && u.AsNode == "" {
			return invalidUpdate("\"asNode\" is required when applying multiple updates")
		}
		if len(edits) > 1 && special {
			return invalidUpdate("an update as %q excludes others in its superstep", u.AsNode)
		}
	}
	first := edits[0]
	null := isNull(first.Values) && first.Command == nil
	switch {
	case first.AsNode == "" && null:
		return e.repeat()
	case first.AsNode == End && null:
		return e.end()
	case first.AsNode == asCopy:
		return e.fork(first)
	case first.AsNode == inputNode:
		return e.input(first)
	}
	return e.update(edits)
}

// commit adds a checkpoint to the result and goes on from it.
func (e *editor) commit(cp *Checkpoint) {
	e.result.Checkpoints = append(e.result.Checkpoints, cp)
	e.base, e.addressed = &Tuple{Checkpoint: cp}, false
}

// head is the head of a checkpoint that follows the base. On an empty thread
// the first update is step 0, input is step -1.
func (e *editor) head(source string) checkpointHead {
	h := checkpointHead{
		ID: e.req.IDs.Checkpoint(), NS: e.req.NS, Source: source, At: e.req.Clock.Now(), Metadata: e.req.Metadata,
	}
	if e.base == nil {
		if source == SourceInput {
			h.Step = -1
		}
		return h
	}
	cp := e.base.Checkpoint
	h.ParentID, h.Step, h.Parents = cp.ID, cp.Step+1, cp.Parents
	return h
}

// channels returns the base's channels.
func (e *editor) channels() *channels {
	if e.base == nil {
		return newChannels(e.g, nil)
	}
	ch := newChannels(e.g, e.base.Checkpoint)
	if e.addressed { // it may be an older one
		ch.unseal()
	}
	return ch
}

// repeat stores an equal checkpoint. Its tasks stay pending and keep their journal.
func (e *editor) repeat() error {
	ch := e.channels()
	if e.base == nil {
		e.commit(ch.freeze(e.head(SourceUpdate)))
		return nil
	}
	if !e.addressed {
		_ = ch.applyCommand(commandWrites(e.base)) // what can't be applied isn't in the state that readers see
	}
	h := e.head(SourceUpdate)
	h.Origins = e.g.carriedOrigins(e.base.Checkpoint, ch, ch.freeze(h), ch)
	e.commit(ch.freeze(h))
	return nil
}

// end applies what is finished and drops the other tasks.
func (e *editor) end() error {
	ch := e.channels()
	if e.base != nil {
		tasks := ch.pending(e.g, e.base)
		finished := ch.clone()
		if finished.apply(withWrites(tasks)) == nil {
			ch = finished
		} else if err := ch.drop(tasks); err != nil { // results that can't be applied go with the rest
			return err
		}
	}
	e.commit(ch.freeze(e.head(SourceUpdate)))
	return nil
}

// fork copies the base beside it. With a list of [values, asNode] pairs it
// applies these on top, as results of the copy's tasks.
func (e *editor) fork(u Edit) error {
	if e.base == nil {
		return invalidUpdate("Cannot copy a non-existent checkpoint")
	}
	h := e.head(SourceFork)
	h.ParentID = e.base.Checkpoint.ParentID
	ch := newChannels(e.g, e.base.Checkpoint)
	ch.unseal()
	cp := ch.freeze(h)
	e.commit(cp)
	var pairs [][]json.RawMessage
	if isArray(u.Values) {
		_ = json.Unmarshal(u.Values, &pairs) // anything else is a plain copy
	}
	if len(pairs) == 0 {
		return nil
	}
	tasks := e.g.plan(cp, newChannels(e.g, cp))
	var edits []Edit
	for _, pair := range pairs {
		edit := Edit{}
		if len(pair) > 0 {
			edit.Values = pair[0]
		}
		if len(pair) > 1 && json.Unmarshal(pair[1], &edit.AsNode) != nil {
			return invalidUpdate("a copy's update is [values, asNode]")
		}
		if i := slices.IndexFunc(tasks, func(t plannedTask) bool { return t.node.name == edit.AsNode }); i >= 0 {
			edit.taskID = tasks[i].id
			tasks = slices.Delete(tasks, i, i+1)
		}
		edits = append(edits, edit)
	}
	return e.superstep(edits)
}

// input applies values as a run's input would be: pending tasks are dropped.
func (e *editor) input(u Edit) error {
	values, err := e.inputValues(u)
	if err != nil {
		return err
	}
	ch := e.channels()
	if e.base != nil {
		if err := ch.drop(ch.pending(e.g, e.base)); err != nil {
			return err
		}
	}
	write := Write{Channel: Start, Value: values}
	if err := ch.apply([]taskWrites{{name: inputNode, path: nullPath, writes: []Write{write}}}); err != nil {
		return err
	}
	e.commit(ch.freeze(e.head(SourceInput)))
	return nil
}

// inputValues returns an update's values as one input object, message ids assigned.
func (e *editor) inputValues(u Edit) (json.RawMessage, error) {
	update, err := e.updateOf(u)
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for _, w := range update.Update {
		if !slices.Contains(e.g.keys, w.Channel) {
			if e.g.strict {
				return nil, invalidUpdate("unknown state key: %s", w.Channel)
			}
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, w.Channel), ':'), w.Value...)
	}
	if isNull(u.Values) && u.Command == nil {
		return nil, invalidUpdate("Received no input writes for %q", Start)
	}
	return append(out, '}'), nil
}

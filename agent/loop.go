package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
)

// breakpointSeen is the pseudo node whose seen versions tell what changed since
// the last stop at a breakpoint (spec/runtime.md 2.7).
const breakpointSeen = "__interrupt__"

// endKind says how a graph came to an end.
type endKind uint8

const (
	endFinished endKind = iota
	endSuspended
	endStopped // at a breakpoint
	endFailed
	endCancelled
	endToParent // a node spoke to the graph around
)

// end is how a graph came to an end.
type end struct {
	kind    endKind
	err     error           // of endFailed
	command *Command        // of endToParent
	raised  []InterruptInfo // of endSuspended: the questions that wait
}

func failed(err error) *end { return &end{kind: endFailed, err: err} }

// loop runs one graph in one namespace. It is used by one goroutine.
type loop struct {
	r  *run
	g  *Graph
	ns string
	// caller is the task that runs this graph; nil at the root.
	caller *taskContext
	// unlisted is set where SubgraphAt doesn't find g: for graphs that a node invoked by hand.
	unlisted bool
	// parents and metadata go into the graph's checkpoints.
	parents  map[string]string
	metadata map[string]json.RawMessage

	cp *Checkpoint
	ch *channels
	// tasks are those that cp starts.
	tasks []plannedTask
	// loaded is set while cp is one that was stored before: its tasks may have
	// records, journals and nested graphs.
	loaded  bool
	records map[string]TaskRecord
	answers map[string]Answer
	// pending is set when ch holds command writes that cp doesn't.
	pending bool
	// steps counts supersteps of nodes.
	steps int
	// view is the state of the checkpoint viewOf, made once.
	view   *State
	viewOf *Checkpoint
	// pend is what the next commit stores.
	pend Commit
	// claims are the tasks of the superstep of claimsOf that claimed something.
	claiming sync.Mutex
	claims   map[string]string
	claimsOf string
}

func (r *run) loop(g *Graph, ns string, caller *taskContext) *loop {
	l := &loop{r: r, g: g, ns: ns, caller: caller, metadata: r.metadata}
	if caller != nil {
		up := caller.loop
		l.parents = maps.Clone(up.parents)
		if l.parents == nil {
			l.parents = map[string]string{}
		}
		l.parents[up.ns] = up.cp.ID
		l.unlisted = up.unlisted || caller.planned.node.child != g
		l.metadata = caller.nestedMetadata(ns)
	}
	return l
}

// loopInput says what a graph begins with. All empty: it continues.
type loopInput struct {
	values       json.RawMessage // new input
	command      *Command        // update and goto
	checkpointID string          // where to begin; "" is the newest
	// fresh says that nothing can be stored in the namespace.
	fresh bool
	// visit is set for nested graphs: what is stored is continued if it belongs to this visit.
	visit bool
}

// execute runs the graph to its end.
func (l *loop) execute(ctx context.Context, in loopInput) end {
	if e := l.begin(ctx, in); e != nil {
		return *e
	}
	for {
		if e := l.superstep(ctx); e != nil {
			return *e
		}
	}
}

// begin loads the checkpoint to stand on and maps the input (spec/runtime.md 1.3, 1.9, 3.2, 5.3).
func (l *loop) begin(ctx context.Context, in loopInput) *end {
	var t *Tuple
	replay := false
	if !in.fresh {
		var err error
		if t, replay, in, err = l.load(ctx, in); err != nil {
			if ctx.Err() != nil {
				return &end{kind: endCancelled}
			}
			l.r.fail(fmt.Errorf("agent: read checkpoint: %w", err))
			return &end{kind: endCancelled}
		}
	}
	if err := l.stand(t); err != nil {
		return failed(err)
	}
	if l.ns != "" {
		l.r.begin(l.ns)
	}
	if replay || in.visit && in.values != nil { // a new line of the history, a new visit: decisions 6, 14
		l.ch.unseal()
	}
	switch {
	case in.values != nil:
		return l.beginInput(in.values)
	case in.command != nil:
		return l.beginCommand(in.command, replay)
	case t == nil:
		return failed(&EmptyInputError{Message: `Received no input for "` + Start + `": the thread has no checkpoint to continue from.`})
	case replay:
		l.r.replayFrom = t.Checkpoint.ID
		l.ch.seeAll(breakpointSeen)
		l.advance(SourceFork, nil)
		l.announce(true)
		return nil
	}
	if lost := l.g.lostTasks(t.Tasks); len(lost) > 0 {
		return failed(l.g.errChanged(lost))
	}
	l.ch.seeAll(breakpointSeen)
	l.tasks = l.g.plan(l.cp, l.ch)
	l.announceAgain()
	return nil
}

// load reads what the input addresses. replay is set for a checkpoint that isn't the newest.
func (l *loop) load(ctx context.Context, in loopInput) (t *Tuple, replay bool, _ loopInput, err error) {
	reader := l.r.exec.Reader
	t, err = reader.Checkpoint(ctx, l.ns, "")
	if err != nil {
		return nil, false, in, err
	}
	if in.visit {
		if t != nil && (!l.g.stateful || t.Checkpoint.Parents[l.caller.loop.ns] == l.caller.loop.cp.ID) {
			return t, false, loopInput{}, nil
		}
		if t != nil && l.r.replayFrom != "" {
			older, err := reader.Checkpoints(ctx, l.ns, CheckpointQuery{Limit: 1, Before: l.r.replayFrom})
			if err != nil {
				return nil, false, in, err
			}
			if t = nil; len(older) > 0 {
				t = older[0]
			}
		}
		return t, false, in, nil
	}
	if t != nil && string(t.Checkpoint.Metadata["run_id"]) == string(appendString(nil, l.r.exec.RunID)) {
		return t, false, loopInput{}, nil // the run goes on after a crash: its input has been applied
	}
	if in.checkpointID == "" || t != nil && t.Checkpoint.ID == in.checkpointID {
		return t, false, in, nil
	}
	t, err = reader.Checkpoint(ctx, l.ns, in.checkpointID)
	return t, t != nil, in, err
}

// stand makes a stored checkpoint, or with nil an empty thread, the one the graph continues from.
func (l *loop) stand(t *Tuple) error {
	if t == nil {
		l.cp = &Checkpoint{NS: l.ns, Step: -2}
		l.ch = newChannels(l.g, nil)
		return nil
	}
	l.cp, l.ch, l.loaded = t.Checkpoint, newChannels(l.g, t.Checkpoint), true
	l.records, l.answers = make(map[string]TaskRecord, len(t.Tasks)), t.Answers
	for _, rec := range t.Tasks {
		l.records[rec.TaskID] = rec
	}
	if rec, ok := l.records[NullTask]; ok && len(rec.Writes) > 0 {
		l.pending = true
		return l.ch.apply([]taskWrites{{id: NullTask, path: nullPath, writes: rec.Writes}})
	}
	return nil
}

// beginInput starts the graph anew with an input: what was pending is dropped (spec/runtime.md 1.9).
func (l *loop) beginInput(values json.RawMessage) *end {
	writes := []taskWrites{{id: NullTask, path: nullPath, writes: []Write{{Channel: Start, Value: values}}}}
	if l.cp.ID != "" {
		for _, t := range l.g.plan(l.cp, l.ch) {
			writes = append(writes, t.writesOf(nil))
		}
	}
	if err := l.ch.apply(writes); err != nil {
		return failed(err)
	}
	l.advance(SourceInput, nil)
	l.saved(nil)
	return nil
}

// beginCommand applies a command's update and goto (spec/runtime.md 3.2).
func (l *loop) beginCommand(cmd *Command, replay bool) *end {
	if len(cmd.Update) == 0 && len(cmd.Goto) == 0 {
		return failed(&EmptyInputError{Message: "Received empty Command input."})
	}
	if cmd.Parent {
		return failed(&InvalidUpdateError{Message: "There is no parent graph."})
	}
	w := updateWriter{g: l.g, taskID: l.r.exec.RunID}
	if err := w.add(&Command{Update: cmd.Update, Goto: cmd.Goto}); err != nil {
		return failed(err)
	}
	base, before := l.cp, l.ch.clone()
	if err := l.ch.apply([]taskWrites{{id: NullTask, path: nullPath, writes: w.writes}}); err != nil {
		return failed(err)
	}
	l.ch.seeAll(breakpointSeen)
	source := SourceInput
	if replay {
		source = SourceFork
		l.r.replayFrom = base.ID
	}
	l.advance(source, func(next *Checkpoint) map[string]string {
		if base.ID == "" || replay {
			return nil
		}
		return l.g.carriedOrigins(base, before, next, l.ch)
	})
	l.announce(true)
	return nil
}

// advance makes the channels the next checkpoint and plans its tasks. origins
// tells the origins of tasks that are carried over; nil for none.
func (l *loop) advance(source string, origins func(next *Checkpoint) map[string]string) {
	var keys []string
	if l.unlisted {
		keys = l.g.keys
	}
	cp := l.ch.freeze(checkpointHead{
		ID: l.r.exec.IDs.Checkpoint(), ParentID: l.cp.ID, NS: l.ns, Source: source, At: l.r.exec.Clock.Now(),
		Step: l.cp.Step + 1, Parents: l.parents, Metadata: l.metadata, Keys: keys,
	})
	if origins != nil {
		cp.Origins = origins(cp)
	}
	l.cp, l.loaded, l.pending, l.records, l.answers = cp, false, false, nil, nil
	l.tasks = l.g.plan(cp, l.ch)
	l.pend.Checkpoints = append(l.pend.Checkpoints, cp)
}

package agent

import (
	"context"
	"slices"
)

// ResumeRequest asks to answer interrupts of a suspended thread.
type ResumeRequest struct {
	ThreadID string
	// Head is the newest root checkpoint; nil for an empty thread.
	Head *Tuple
	// Pending are the thread's open interrupts (all namespaces) in the order they were raised.
	Pending []InterruptInfo
	Command Command
	// Trusted answers are the server's own, those of deadlines: response schemas, which are for people, don't bind them.
	Trusted bool
	Config  Config
	Reader  Reader
	Clock   Clock
	IDs     IDs
}

// ResumePlan is a checked command: what its admission stores.
type ResumePlan struct {
	// Answers to store, by interrupt id, in the order of Pending. Empty for a
	// command that only updates or goes somewhere.
	Answers []Answer
	// Writes is the record (NullTask on the head) of update and goto beside
	// answers; nil for none. It holds what an earlier resume of the same
	// head has stored there, too. Message ids are assigned here, once.
	Writes *TaskRecord
	// Command is the command as checked: message ids assigned, unknown keys
	// dropped. A run that carries out update and goto itself (no Answers) has to
	// be given this one, so that a second attempt keeps the ids.
	Command Command
	// Warnings name dropped unknown keys.
	Warnings []string
}

// CheckCommand validates a command against the head by a dry run, before
// anything is stored (design 3.2, decisions 8). Errors: *ResumeError, *InvalidCommandError.
func (g *Graph) CheckCommand(_ context.Context, req ResumeRequest) (*ResumePlan, error) {
	answers, err := checkAnswers(req)
	if err != nil {
		return nil, err
	}
	if err := g.checkAskers(req, answers); err != nil {
		return nil, err
	}
	cmd := req.Command
	w := updateWriter{g: g, taskID: NullTask}
	var problems []string
	note := func(where string, err error) {
		if err != nil {
			problems = append(problems, where+": "+err.Error())
		}
	}
	if cmd.Parent {
		problems = append(problems, "graph: only a node may speak to its parent graph")
	}
	for _, wr := range cmd.Update {
		given, err := g.identified([]Write{wr}, req.IDs.UUID)
		if err == nil {
			err = w.set(wr.Channel, given[0].Value)
		}
		note("update", err)
	}
	updates := slices.Clone(w.writes)
	var routed []Write
	for _, t := range cmd.Goto {
		writes, err := g.route([]Target{t})
		note("goto", err)
		routed = append(routed, writes...)
	}
	plan := &ResumePlan{Answers: answers, Warnings: dropWarnings("update", w.dropped)}
	plan.Command = Command{Resume: cmd.Resume, HasResume: len(answers) > 0, Update: updates, Goto: cmd.Goto}
	stored := commandWrites(req.Head)
	// Gotos stand before updates (spec/runtime.md 3.1).
	writes := g.mergeWrites(stored, append(routed, updates...))
	if problems == nil {
		var head *Checkpoint
		if req.Head != nil {
			head = req.Head.Checkpoint
		}
		note("update", g.dryRun(head, writes))
	}
	if problems != nil {
		return nil, &InvalidCommandError{Problems: problems}
	}
	if len(answers) > 0 && len(routed)+len(updates) > 0 {
		plan.Writes = &TaskRecord{
			NS: req.Head.Checkpoint.NS, CheckpointID: req.Head.Checkpoint.ID, TaskID: NullTask,
			Name: inputNode, Status: TaskDone, Path: nullPath, Writes: writes,
		}
	}
	return plan, nil
}

// inputNode is the name that writes from outside have where a task's would be.
const inputNode = "__input__"

// commandWrites returns the writes of earlier commands on a checkpoint.
func commandWrites(t *Tuple) []Write {
	if t == nil {
		return nil
	}
	for _, rec := range t.Tasks {
		if rec.TaskID == NullTask {
			return rec.Writes
		}
	}
	return nil
}

// mergeWrites puts the writes of a command behind those of earlier commands on
// the same checkpoint. A key that takes one value per superstep gets the newest.
func (g *Graph) mergeWrites(stored, writes []Write) []Write {
	merged := slices.DeleteFunc(slices.Clone(stored), func(old Write) bool {
		spec := g.specs[old.Channel]
		return spec != nil && spec.single() && slices.ContainsFunc(writes, func(w Write) bool { return w.Channel == old.Channel })
	})
	return append(merged, writes...)
}

// single tells whether the channel refuses a second write in a superstep.
func (s *channelSpec) single() bool {
	return s.kind == kindLastValue || s.kind == kindUntracked || s.kind == kindEphemeral && !s.several
}

// dryRun applies writes to a checkpoint's channels (nil: those of an empty
// thread) and throws the result away. What is written must fit the Go types of the state.
func (g *Graph) dryRun(cp *Checkpoint, writes []Write) error {
	ch := scratchChannels(g, cp)
	if err := ch.apply([]taskWrites{{id: NullTask, path: nullPath, writes: writes}}); err != nil {
		return err
	}
	return ch.checkTypes(writes)
}

// scratchChannels is newChannels for states that are tried or shown, not kept:
// what is appended to their lists doesn't take the place of what the next run appends.
func scratchChannels(g *Graph, cp *Checkpoint) *channels {
	ch := newChannels(g, cp)
	for name, c := range ch.values {
		if c.Value != nil && c.Value.List != nil {
			fork := c.Value.List.Fork()
			ch.values[name] = Channel{Version: c.Version, Value: &Value{List: &fork}}
		}
	}
	return ch
}

// checkTypes checks that nodes will be able to decode the state keys that were written.
func (c *channels) checkTypes(writes []Write) error {
	for _, w := range writes {
		spec, v := c.g.specs[w.Channel], c.values[w.Channel].Value
		if spec == nil || !spec.state || spec.kind == kindMessages || v == nil || v.JSON == nil {
			continue
		}
		if err := spec.decodes(v.JSON); err != nil {
			return err
		}
	}
	return nil
}

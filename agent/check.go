package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent/message"
)

// ResumeRequest asks to answer interrupts of a suspended thread.
type ResumeRequest struct {
	ThreadID string
	// Head is the newest root checkpoint; nil for an empty thread.
	Head *Tuple
	// Pending are the thread's open interrupts (all namespaces) in the order they were raised.
	Pending []InterruptInfo
	Command Command
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

// checkAnswers finds out which questions a command answers and checks the answers.
func checkAnswers(req ResumeRequest) ([]Answer, error) {
	cmd := req.Command
	nothingElse := len(cmd.Update) == 0 && len(cmd.Goto) == 0 && !cmd.Parent
	if !cmd.HasResume || isNull(cmd.Resume) {
		if nothingElse {
			return nil, &ResumeError{Code: EmptyCommand, Pending: req.Pending, Message: "Received empty Command input"}
		}
		return nil, nil
	}
	given, order, err := addressed(cmd.Resume, req.Pending)
	if err != nil {
		return nil, err
	}
	var issues []Issue
	var answers []Answer
	now := req.Clock.Now()
	for _, id := range order {
		q := req.Pending[slices.IndexFunc(req.Pending, func(q InterruptInfo) bool { return q.ID == id })]
		issues = append(issues, answerIssues(q, given[id])...)
		answers = append(answers, Answer{InterruptID: id, Value: given[id], At: now})
	}
	if issues != nil {
		ids := []string{}
		for _, issue := range issues {
			if !slices.Contains(ids, issue.InterruptID) {
				ids = append(ids, issue.InterruptID)
			}
		}
		return nil, &ResumeError{
			Code: InvalidAnswer, IDs: ids, Pending: req.Pending, Issues: issues,
			Message: "The answer does not satisfy the response schema of its interrupt",
		}
	}
	return answers, nil
}

// addressed returns the answers by interrupt id, and the ids in the order of pending.
func addressed(resume json.RawMessage, pending []InterruptInfo) (map[string]json.RawMessage, []string, error) {
	open := make([]string, len(pending))
	for i, q := range pending {
		open[i] = q.ID
	}
	if given, ok := resumeMap(resume); ok {
		var unknown, order []string
		for _, id := range open {
			if _, ok := given[id]; ok {
				order = append(order, id)
			}
		}
		for id := range given {
			if !slices.Contains(open, id) {
				unknown = append(unknown, id)
			}
		}
		if unknown != nil {
			slices.Sort(unknown)
			return nil, nil, &ResumeError{
				Code: InterruptNotPending, IDs: unknown, Pending: pending,
				Message: "No such interrupt is pending: " + strings.Join(unknown, ", "),
			}
		}
		return given, order, nil
	}
	switch len(open) {
	case 0:
		return nil, nil, &ResumeError{Code: NothingPending, Message: "No interrupt is pending on this thread"}
	case 1:
		return map[string]json.RawMessage{open[0]: resume}, open, nil
	}
	return nil, nil, &ResumeError{
		Code: AmbiguousResume, IDs: open, Pending: pending,
		Message: "Several interrupts are pending; resume with an object of answers by interrupt id",
	}
}

// resumeMap reads a resume whose keys are all interrupt ids (spec/rest-api.md
// 3.7); any other value is a plain answer.
func resumeMap(resume json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(resume, &m) != nil || len(m) == 0 {
		return nil, false
	}
	for key := range m {
		if !isInterruptID(key) {
			return nil, false
		}
	}
	return m, true
}

func isInterruptID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

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
		if err := json.Unmarshal(v.JSON, reflect.New(spec.typ).Interface()); err != nil {
			return &InvalidUpdateError{Message: fmt.Sprintf("Invalid value for state key %q: %v", w.Channel, err)}
		}
	}
	return nil
}

// CheckInput validates plain input by a dry run of the reducers and assigns ids to messages
// without one, so that a retry of the run keeps them. It returns the input to store and warnings
// that name dropped keys. Null input (continue) is returned as nil. Errors: *InvalidUpdateError.
func (g *Graph) CheckInput(_ context.Context, input json.RawMessage, ids IDs) (json.RawMessage, []string, error) {
	if isNull(input) {
		return nil, nil, nil
	}
	fields, err := objectWrites(input)
	if err != nil {
		return nil, nil, &InvalidUpdateError{Message: "Invalid input: must be an object of state keys"}
	}
	var writes []Write
	var dropped []string
	out := []byte{'{'}
	for _, f := range fields {
		if !slices.Contains(g.inputKeys, f.Channel) {
			dropped = append(dropped, f.Channel)
			continue
		}
		if g.specs[f.Channel].kind == kindMessages {
			// What a Remove message removes is known to the run only: coercion is all that is checked here.
			given, err := g.identified([]Write{f}, ids.UUID)
			if err != nil {
				return nil, nil, err
			}
			f = given[0]
		} else {
			writes = append(writes, f)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, f.Channel), ':'), f.Value...)
	}
	if g.strict && dropped != nil {
		return nil, nil, &InvalidUpdateError{Message: "Invalid input: unknown state keys: " + strings.Join(dropped, ", ")}
	}
	if err := g.dryRun(nil, writes); err != nil {
		return nil, nil, err
	}
	return append(out, '}'), dropWarnings("input", dropped), nil
}

// identified returns the writes with messages in their wire form, those without
// an id given one: whatever is done with the writes later, the ids stay.
func (g *Graph) identified(writes []Write, newID func() string) ([]Write, error) {
	writes = slices.Clone(writes)
	for i, w := range writes {
		spec := g.specs[w.Channel]
		if spec == nil || !spec.state || spec.kind != kindMessages {
			continue
		}
		value, overwrite := overwriteOf(w.Value)
		if !overwrite {
			value = w.Value
		}
		value, err := message.Normalize(value, newID)
		if err != nil {
			return nil, invalidMessages(w.Channel, err)
		}
		if overwrite {
			if value, err = encode(Overwrite(value)); err != nil {
				return nil, invalidMessages(w.Channel, err)
			}
		}
		writes[i].Value = value
	}
	return writes, nil
}

// dropWarnings reports dropped keys (decisions 8).
func dropWarnings(where string, keys []string) []string {
	var warnings []string
	for _, key := range keys {
		warnings = append(warnings, fmt.Sprintf("%s: dropped %q, which is no state key", where, key))
	}
	return warnings
}

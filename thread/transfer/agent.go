package transfer

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

// TaskOf is a task record as a dump has it.
func TaskOf(t agent.TaskRecord) *Task {
	out := &Task{NS: t.NS, Checkpoint: t.CheckpointID, ID: t.TaskID, Name: t.Name, Status: string(t.Status), Path: t.Path, Nested: t.Nested, Failure: errorOf(t.Error)}
	for _, w := range t.Writes {
		out.Writes = append(out.Writes, Write{Channel: w.Channel, Value: Raw(w.Value)})
	}
	for _, i := range t.Interrupts {
		out.Asks = append(out.Asks, Asked{ID: i.ID, Value: Raw(i.Value), Schema: Raw(i.ResponseSchema)})
	}
	return out
}

// Record is the task as stores encode it.
func (t *Task) Record() agent.TaskRecord {
	out := agent.TaskRecord{NS: t.NS, CheckpointID: t.Checkpoint, TaskID: t.ID, Name: t.Name, Status: agent.TaskStatus(t.Status), Path: t.Path, Nested: t.Nested, Error: t.Failure.info()}
	for _, w := range t.Writes {
		out.Writes = append(out.Writes, agent.Write{Channel: w.Channel, Value: json.RawMessage(w.Value)})
	}
	for _, a := range t.Asks {
		out.Interrupts = append(out.Interrupts, agent.InterruptInfo{ID: a.ID, Value: json.RawMessage(a.Value), ResponseSchema: json.RawMessage(a.Schema)})
	}
	return out
}

// StepOf is a step record as a dump has it.
func StepOf(s agent.StepRecord) *Step {
	return &Step{Origin: s.Origin, Name: s.Name, Occurrence: int64(s.Occurrence), Status: string(s.Status), Attempt: int64(s.Attempt), Result: Raw(s.Result), Failure: errorOf(s.Error)}
}

// Record is the step as stores encode it.
func (s *Step) Record() agent.StepRecord {
	return agent.StepRecord{Origin: s.Origin, Name: s.Name, Occurrence: int(s.Occurrence), Status: agent.StepStatus(s.Status), Attempt: int(s.Attempt), Result: json.RawMessage(s.Result), Error: s.Failure.info()}
}

// Record is the checkpoint as stores encode it, without blobs and lists.
func (c *Checkpoint) Record() agent.CheckpointRecord {
	return agent.CheckpointRecord{NS: c.NS, ID: c.ID, ParentID: c.Parent, RunID: c.Run, Step: int(c.Step), Source: c.Source, AtMillis: c.AtMillis, Metadata: c.Metadata, State: c.State}
}

func errorOf(e *agent.ErrorInfo) *Error {
	if e == nil {
		return nil
	}
	return &Error{Name: e.Name, Message: e.Message}
}

func (e *Error) info() *agent.ErrorInfo {
	if e == nil {
		return nil
	}
	return &agent.ErrorInfo{Name: e.Name, Message: e.Message}
}

package agent

import (
	"context"
	"encoding/json"
)

// ResumeRequest asks to answer interrupts of a suspended thread.
type ResumeRequest struct {
	ThreadID string
	// Head is the newest root checkpoint; nil for an empty thread.
	Head *Tuple
	// Pending are the thread's open interrupts (all namespaces) in the order they were raised.
	Pending []InterruptInfo
	// Answered are accepted answers to interrupts that the command names.
	Command Command
	Config  Config
	Reader  Reader
	Clock   Clock
	IDs     IDs
}

// ResumePlan is a checked resume: what its admission stores.
type ResumePlan struct {
	// Answers to store, by interrupt id, in the order of Pending.
	Answers []Answer
	// Writes is the record (NullTask on the head) of update and goto; nil for none.
	// Message ids are assigned here, once.
	Writes *TaskRecord
	// Warnings name dropped unknown keys.
	Warnings []string
}

// CheckCommand validates a command against the head by a dry run, before
// anything is stored (design 3.2, decisions 8). Errors: *ResumeError, *InvalidCommandError.
func (g *Graph) CheckCommand(ctx context.Context, req ResumeRequest) (*ResumePlan, error) {
	panic("unimplemented")
}

// CheckInput validates plain input by a dry run of the reducers and assigns ids to messages
// without one, so that a retry of the run keeps them. It returns the input to store and warnings.
func (g *Graph) CheckInput(ctx context.Context, input json.RawMessage, ids IDs) (json.RawMessage, []string, error) {
	panic("unimplemented")
}

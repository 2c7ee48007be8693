package agent

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSuspended is returned by Interrupt when the task has to wait for a person. Return it from the node.
var ErrSuspended = errors.New("agent: suspended until a person answers")

// NamedError is an error with a class name as clients show it.
type NamedError struct {
	Name    string
	Message string
}

// Error returns the message alone; the name is sent beside it.
func (e *NamedError) Error() string { return e.Message }

// InvalidUpdateError reports values that the channels refuse (two writes to a LastValue, a failing reducer, an unknown node).
type InvalidUpdateError struct {
	Code    string // INVALID_CONCURRENT_GRAPH_UPDATE, INVALID_GRAPH_NODE_RETURN_VALUE or ""
	Message string
}

func (e *InvalidUpdateError) Error() string { return e.Message }

// RecursionError says that the graph did not end within the limit of user supersteps.
type RecursionError struct{ Limit int }

func (e *RecursionError) Error() string {
	return fmt.Sprintf("Recursion limit of %d reached without hitting a stop condition. You can increase the limit by setting the \"recursion_limit\" config key.", e.Limit)
}

// Codes of a ResumeError (decisions 8).
const (
	NothingPending      = "nothing_pending"
	InterruptNotPending = "interrupt_not_pending"
	AmbiguousResume     = "ambiguous_resume"
	InvalidAnswer       = "invalid_answer"
	EmptyCommand        = "empty_command"
	// GraphChanged: the node that asked is no longer part of the agent.
	GraphChanged = "graph_changed"
)

// ResumeError is a resume that can't be accepted; nothing was stored.
type ResumeError struct {
	Code string
	// IDs are the interrupts named; Pending those that wait.
	IDs     []string
	Pending []InterruptInfo
	// Issues say what is wrong with an answer, one per fault.
	Issues  []Issue
	Message string
}

func (e *ResumeError) Error() string { return e.Message }

// Issue is one fault of an answer.
type Issue struct {
	InterruptID string `json:"interrupt_id"`
	Path        string `json:"path"` // JSON pointer into the answer
	Message     string `json:"message"`
}

// InvalidCommandError reports a goto to an unknown node, an update that fails, graph: PARENT at the root.
type InvalidCommandError struct{ Problems []string }

func (e *InvalidCommandError) Error() string {
	return "invalid command: " + strings.Join(e.Problems, "; ")
}

// EmptyInputError says that there is nothing to run.
type EmptyInputError struct{ Message string }

func (e *EmptyInputError) Error() string { return e.Message }

// ErrorInfoOf returns an error as clients see it: its message, and its class name from a
// NamedError or an ErrorName method, "Error" when it has none.
func ErrorInfoOf(err error) *ErrorInfo {
	var named *NamedError
	var update *InvalidUpdateError
	var recursion *RecursionError
	var empty *EmptyInputError
	var own interface{ ErrorName() string }
	name := "Error"
	switch {
	case errors.As(err, &own):
		name = own.ErrorName()
	case errors.As(err, &named):
		name = named.Name
	case errors.As(err, &update):
		name = "InvalidUpdateError"
	case errors.As(err, &recursion):
		name = "GraphRecursionError"
	case errors.As(err, &empty):
		name = "EmptyInputError"
	}
	return &ErrorInfo{Name: name, Message: err.Error()}
}

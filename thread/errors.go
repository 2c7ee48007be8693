package thread

import (
	"errors"

	"github.com/parley-dev/parley/agent"
)

// InvalidInputError names the field that is wrong.
type InvalidInputError struct {
	Path    []string
	Message string
}

func (e *InvalidInputError) Error() string { return e.Message }

// NotFoundError says what was not found; it matches ErrNotFound. Kind is
// thread, run, assistant, version, graph, cron, item, review, key or delivery.
type NotFoundError struct{ Kind, ID string }

func (e *NotFoundError) Error() string { return e.Kind + " " + e.ID + " not found" }

// Unwrap makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// NoGraphError says that the thread's metadata names no graph, so that its state
// can't be edited.
type NoGraphError struct{ ThreadID string }

func (e *NoGraphError) Error() string { return "Thread " + e.ThreadID + " has no graph ID" }

// InputWhileInterruptedError says that new input was refused because questions are open
// (Options.OnInputWhileInterrupted "error", decisions 13).
type InputWhileInterruptedError struct{ Pending []agent.InterruptInfo }

func (e *InputWhileInterruptedError) Error() string {
	return "the thread waits for answers; resume it or cancel first"
}

// notFound gives a store's ErrNotFound its kind; other errors pass.
func notFound(err error, kind, id string) error {
	if err == nil {
		return nil
	}
	var typed *NotFoundError
	if errors.Is(err, ErrNotFound) && !errors.As(err, &typed) {
		return &NotFoundError{Kind: kind, ID: id}
	}
	return err
}

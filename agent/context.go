package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Context is what a node gets beside its state.
type Context interface {
	context.Context
	ThreadID() string
	RunID() string
	// TaskID, Node, Step and Namespace say which task of which superstep this is; Namespace includes the node's own segment.
	TaskID() string
	Node() string
	Step() int
	Namespace() string
	// Attempt counts the attempts of this task, from 1.
	Attempt() int
	// Failure is the error that an error handler (OnError) handles; nil in other nodes.
	Failure() *ErrorInfo
	Config() Config
	// Items is the long-term store; nil if there is none.
	Items() Items
	// Now and Sleep are the run's clock; Sleep ends early, with an error, when the run is cancelled.
	Now() time.Time
	Sleep(d time.Duration) error
	// Write sends a value to the custom stream.
	Write(value any)
	// NewID returns an id that is the same each time this task asks for the n-th one.
	NewID() string
	task() *taskContext
	// journal is where the context's steps are kept.
	journal() *stepScope
}

// ContextOf decodes the run's static context; the zero value when there is none.
func ContextOf[T any](ctx Context) (T, error) {
	var v T
	raw := ctx.Config().Context
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("agent: decode context: %w", err)
	}
	return v, nil
}

// editContext is the Context of conditional edges that are evaluated outside of a run (state updates).
func editContext(ctx context.Context, threadID string, cfg Config, clock Clock, t *plannedTask) Context {
	exec := Execution{ThreadID: threadID, Config: cfg, Clock: clock}
	return newTaskContext(ctx, &exec, t)
}

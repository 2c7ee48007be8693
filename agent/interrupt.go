package agent

import (
	"encoding/json"
)

// InterruptOption configures Interrupt: Named, ResponseSchema.
type InterruptOption func(*interruptOptions)

type interruptOptions struct{}

// Interrupt asks a person and suspends the run until the answer is there; then
// the node runs again from its start and Interrupt returns the answer. The error
// says that the task is suspended: return it. A suspension can't be swallowed: whatever the node returns
// after it is thrown away.
func Interrupt[T any](ctx Context, value any, opts ...InterruptOption) (T, error) {
	panic("unimplemented")
}

// Named keys the question by name instead of by call order.
func Named(name string) InterruptOption { panic("unimplemented") }

// ResponseSchema makes answers be checked before they are stored.
func ResponseSchema(schema json.RawMessage) InterruptOption { panic("unimplemented") }

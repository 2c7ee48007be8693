package agent

import (
	"context"
	"time"
)

// StepOption configures Step.
type StepOption func(*stepOptions)

type stepOptions struct{}

// AtMostOnce asks a person when a crash left the outcome of the step unknown (decisions 6). Default: AtLeastOnce, the step runs again.
func AtMostOnce() StepOption { panic("unimplemented") }

// StepTimeoutOf bounds one attempt of the step.
func StepTimeoutOf(d time.Duration) StepOption { panic("unimplemented") }

// StepContext is what a durable step gets. It offers no Interrupt and no Step.
type StepContext interface {
	context.Context
	// IdempotencyKey is stable over retries, resumes and recovery.
	IdempotencyKey() string
	Attempt() int
}

// Step runs fn once and journals its result: when the task runs again after a
// suspension or a crash, the recorded result is returned and fn isn't called.
func Step[T any](ctx Context, name string, fn func(ctx StepContext) (T, error), opts ...StepOption) (T, error) {
	panic("unimplemented")
}

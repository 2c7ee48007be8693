package agent

import "errors"

// Bubbles reports whether what came up in a call inside a task, with err or without,
// is for the runtime and no failure of the call: the task waits for a person or
// stands at a breakpoint, was cancelled, or speaks to the graph around its own. Code that turns
// errors of its callees into results asks here first; the node then returns
// err, or ErrSuspended where there is none.
func Bubbles(ctx Context, err error) bool {
	c := ctx.task()
	c.mu.Lock()
	waits := c.asks.suspended || c.stopped
	c.mu.Unlock()
	var up *parentCommand
	return waits || c.Err() != nil || errors.Is(err, ErrSuspended) || errors.Is(err, errNotStored) || errors.As(err, &up)
}

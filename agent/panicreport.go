package agent

import "runtime/debug"

// ReportPanic tells the run's host, with the stack, of a panic that the node's code has
// recovered from: clients and models don't get to see it. Call it in the deferred function that recovers.
func ReportPanic(ctx Context, value any) {
	c := ctx.task()
	if c.exec.Panicked != nil {
		c.exec.Panicked(c.planned.node.name, value, debug.Stack())
	}
}

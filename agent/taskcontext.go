package agent

import (
	"context"
	"strconv"
	"time"
)

// taskContext is the Context of one attempt of a task.
type taskContext struct {
	context.Context
	exec    *Execution
	planned *plannedTask
	attempt int
	ids     int
}

func (c *taskContext) task() *taskContext  { return c }
func (c *taskContext) ThreadID() string    { return c.exec.ThreadID }
func (c *taskContext) RunID() string       { return c.exec.RunID }
func (c *taskContext) TaskID() string      { return c.planned.id }
func (c *taskContext) Node() string        { return c.planned.node.name }
func (c *taskContext) Step() int           { return c.planned.step }
func (c *taskContext) Namespace() string   { return c.planned.ns }
func (c *taskContext) Attempt() int        { return c.attempt }
func (c *taskContext) Failure() *ErrorInfo { return c.planned.failed }
func (c *taskContext) Config() Config      { return c.exec.Config }
func (c *taskContext) Items() Items        { return c.exec.Items }
func (c *taskContext) Now() time.Time      { return c.exec.Clock.Now() }

func (c *taskContext) Sleep(d time.Duration) error { return c.exec.Clock.Sleep(c, d) }

func (c *taskContext) Write(value any) {}

func (c *taskContext) NewID() string {
	c.ids++
	return derivedID(c.planned.id, "id", strconv.Itoa(c.ids))
}

package agent

import "time"

// RunBegan is when the run of the task began by its clock; when a worker took it over, for one that is
// recovered. The zero time outside of a run.
func RunBegan(ctx Context) time.Time {
	if c := ctx.task(); c.loop != nil {
		return c.loop.r.began
	}
	return time.Time{}
}

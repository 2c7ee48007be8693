package agent

// StepsLeft is how many supersteps the graph of the task may still make in this run, the
// present one not counted.
func StepsLeft(ctx Context) int {
	c := ctx.task()
	if c.loop == nil {
		return 0
	}
	return max(0, c.exec.Config.recursionLimit()-c.loop.steps)
}

func (c Config) recursionLimit() int {
	if c.RecursionLimit <= 0 {
		return DefaultRecursionLimit
	}
	return c.RecursionLimit
}

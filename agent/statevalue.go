package agent

// CurrentState is the state that the task's superstep began with, as the thread has it: the
// state keys with a value, a Command's update applied. A task that was reached by a Send gets only
// the Send's input, which a client may have made up; this it can't. Don't change it.
// Outside of a run it is empty.
func CurrentState(ctx Context) *State {
	c := ctx.task()
	if c.loop == nil || c.loop.view == nil {
		return NewState(nil, nil)
	}
	return c.loop.view
}

// StateValue is one key of CurrentState; false if it has no value.
func StateValue(ctx Context, key string) (Value, bool) { return CurrentState(ctx).Value(key) }

package tool

import "time"

// Option configures a tool: Timeout, AtMostOnce, AtLeastOnce, ReturnDirect, Annotate.
type Option func(*options)

type options struct {
	timeout     time.Duration
	repeat      repeat
	direct      bool
	annotations Annotations
}

// repeat says what becomes of a call whose outcome a crash left unknown.
type repeat uint8

const (
	byPolicy repeat = iota // at most once where a person decides on the call, else at least once
	atMostOnce
	atLeastOnce
)

func newOptions(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Timeout bounds one call of a Func or Raw tool; the context that the function gets ends
// then, and the model is told. A function that doesn't look at its context isn't bounded.
// Default: no bound.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// AtMostOnce makes a Func or Raw tool ask a person when a crash left it unknown whether
// a call took place. Default: at most once where the agent's policy has a person decide
// on the call, else AtLeastOnce (decisions 6).
func AtMostOnce() Option { return func(o *options) { o.repeat = atMostOnce } }

// AtLeastOnce makes a Func or Raw tool run again, unasked, when a crash left it unknown
// whether a call took place; also where a person has decided on it. For tools that only
// read, or that tell repeats by CallContext.IdempotencyKey.
func AtLeastOnce() Option { return func(o *options) { o.repeat = atLeastOnce } }

// ReturnDirect makes the tool's result the end of the agent's turn: the model isn't
// called again, unless the call failed or others of the same message aren't direct (spec/runtime.md 7.2).
func ReturnDirect() Option { return func(o *options) { o.direct = true } }

// Annotate says what the tool does to the world, for review policies and for people.
func Annotate(a Annotations) Option { return func(o *options) { o.annotations = a } }

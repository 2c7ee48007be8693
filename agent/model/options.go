package model

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/parley-dev/parley/agent"
)

// Option configures Generate.
type Option func(*options)

type options struct {
	step     string
	stepOpts []agent.StepOption
	id, name string
	tags     []string
	metadata map[string]json.RawMessage
	retry    agent.RetryPolicy
	// quiet calls are not to be seen; whole ones are when the node returns the message.
	quiet, whole bool
}

// StepName names the journaled step, by default "model". Calls that run at
// the same time in one node need names of their own.
func StepName(name string) Option { return func(o *options) { o.step = name } }

// StepOptions are handed on to the step, a timeout for instance.
func StepOptions(opts ...agent.StepOption) Option {
	return func(o *options) { o.stepOpts = append(o.stepOpts, opts...) }
}

// MessageID gives the message its id, by default the model's, else one derived from the task.
func MessageID(id string) Option { return func(o *options) { o.id = id } }

// MessageName names the message, after the agent that speaks.
func MessageName(name string) Option { return func(o *options) { o.name = name } }

// Tags are added to the stream's metadata. The tags "nostream" and
// "langsmith:nostream" keep the call off the stream.
func Tags(tags ...string) Option {
	return func(o *options) { o.tags = append(o.tags, tags...) }
}

// Metadata adds keys to the stream's metadata.
func Metadata(extra map[string]json.RawMessage) Option {
	return func(o *options) {
		if o.metadata == nil {
			o.metadata = map[string]json.RawMessage{}
		}
		maps.Copy(o.metadata, extra)
	}
}

// Unstreamed keeps the tokens off the stream: readers see the message whole, once the node returned it.
func Unstreamed() Option { return func(o *options) { o.whole = true } }

// Retrying is what a Model that is worth repeating implements.
type Retrying interface {
	// RetryPolicy is what Generate does unless told otherwise by Retry.
	RetryPolicy() agent.RetryPolicy
}

// Retry repeats a failing call, by default as the model's RetryPolicy says, once
// only when it has none. Readers are told to forget what they saw; the message
// keeps its id (decisions 7). Zero fields of the policy stand for its defaults.
func Retry(p agent.RetryPolicy) Option {
	return func(o *options) {
		if p.MaxAttempts == 0 {
			p.MaxAttempts = 3
		}
		o.retry = p
	}
}

func newOptions(m Model, opts []Option) *options {
	o := &options{step: "model", retry: agent.RetryPolicy{MaxAttempts: 1}}
	if r, ok := m.(Retrying); ok {
		Retry(r.RetryPolicy())(o)
	}
	for _, opt := range opts {
		opt(o)
	}
	if slices.Contains(o.tags, "nostream") || slices.Contains(o.tags, "langsmith:nostream") {
		o.quiet = true
	}
	return o
}

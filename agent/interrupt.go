package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/parley-dev/parley/agent/exactjson"
)

// InterruptOption configures Interrupt: Named, ResponseSchema, InterruptID, Expires.
type InterruptOption func(*interruptOptions)

type interruptOptions struct {
	name   string
	schema json.RawMessage
	given  bool // the schema is the node's own
	id     *string
	expiry *Expiry
}

// Interrupt asks a person and suspends the run until the answer is there; then
// the node runs again from its start and Interrupt returns the answer, decoded by exactjson. The error
// says that the task is suspended: return it. A suspension can't be swallowed: whatever the node returns
// after it is thrown away. A nil value asks without one.
func Interrupt[T any](ctx Context, value any, opts ...InterruptOption) (T, error) {
	var out T
	var o interruptOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.schema == nil {
		o.schema = answerSchema(reflect.TypeFor[T]())
	}
	answer, err := ctx.task().ask(value, o)
	if err != nil {
		return out, err
	}
	// As the response schema has read it: it knows of no other casings.
	if err := exactjson.Unmarshal(answer.Value, &out); err != nil {
		return out, fmt.Errorf("agent: answer of an interrupt in node %q: %w", ctx.Node(), err)
	}
	return out, nil
}

// Named keys the question by name instead of by call order.
func Named(name string) InterruptOption { return func(o *interruptOptions) { o.name = name } }

// ResponseSchema makes answers be checked before they are stored. A schema that
// is broken, or refers to another document, is an error of Interrupt. Default: an
// answer must decode into the type that Interrupt returns; no key is required.
func ResponseSchema(schema json.RawMessage) InterruptOption {
	return func(o *interruptOptions) { o.schema, o.given = schema, true }
}

// InterruptID stores the question's id in id, before Interrupt returns.
func InterruptID(id *string) InterruptOption { return func(o *interruptOptions) { o.id = id } }

// asks is what an attempt of a task asked.
type asks struct {
	// calls counts questions without a name; names those of each name.
	calls  int
	names  map[string]int
	asked  []InterruptInfo
	raised []InterruptInfo
	// waiting is set once a question without a name has no answer: those
	// after it have no place in the order yet.
	waiting, suspended bool
	// nested is set when the questions are those of a nested graph.
	nested bool
}

// ask returns the answer to a question, or suspends the task (spec/runtime.md 2.1, 2.2).
func (c *taskContext) ask(value any, o interruptOptions) (Answer, error) {
	if c.loop == nil || c.exec.Ephemeral {
		return Answer{}, &NamedError{Name: "GraphValueError", Message: "No checkpointer set: an interrupt needs a thread that is kept."}
	}
	var info InterruptInfo
	if value != nil {
		raw, err := encode(value)
		if err != nil {
			return Answer{}, fmt.Errorf("agent: encode the value of an interrupt: %w", err)
		}
		info.Value = raw
	}
	info.ResponseSchema = o.schema

	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.asks
	if o.name == "" {
		if a.waiting {
			return Answer{}, ErrSuspended
		}
		info.ID = interruptID(c.planned.ns, a.calls)
		a.calls++
	} else {
		if a.names == nil {
			a.names = map[string]int{}
		}
		key := o.name
		if n := a.names[o.name]; n > 0 {
			key += "#" + strconv.Itoa(n)
		}
		a.names[o.name]++
		info.ID = namedInterruptID(c.planned.ns, key)
	}
	if o.id != nil {
		*o.id = info.ID
	}
	answer, answered := c.loop.answers[info.ID]
	if !answered && o.given && !isNull(info.ResponseSchema) {
		// No answer could ever fit: better that the node fails than that it waits for good.
		if _, err := compileResponseSchema(info.ResponseSchema); err != nil {
			return Answer{}, fmt.Errorf("interrupt in node %q: %w", c.Node(), err)
		}
	}
	if !answered {
		var err error
		if info.Expiry, err = o.expiry.prepare(info); err != nil {
			return Answer{}, fmt.Errorf("interrupt in node %q: %w", c.Node(), err)
		}
	}
	a.asked = append(a.asked, info)
	if answered {
		return answer, nil
	}
	a.suspended, a.waiting = true, a.waiting || o.name == ""
	a.raised = append(a.raised, info)
	return Answer{}, ErrSuspended
}

// askNested takes over the questions of a nested graph.
func (c *taskContext) askNested(raised []InterruptInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks.suspended, c.asks.nested = true, true
	c.asks.raised = append(c.asks.raised, raised...)
	c.asks.asked = append(c.asks.asked, raised...)
}

// all lists the questions of a task for its record, answered ones included. Of
// those of nested graphs the answered ones are known from the record before only.
func (a *asks) all(before *TaskRecord, answers map[string]Answer) []InterruptInfo {
	if before == nil || !before.Nested {
		return a.asked
	}
	var all []InterruptInfo
	for _, q := range before.Interrupts {
		if _, answered := answers[q.ID]; answered && !slices.ContainsFunc(a.asked, func(r InterruptInfo) bool { return r.ID == q.ID }) {
			all = append(all, q)
		}
	}
	return append(all, a.asked...)
}

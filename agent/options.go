package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// GraphOption configures a graph: ContextType, Reducer, InterruptBefore, InterruptAfter, Stateful, DefaultRetry, StepTimeout, Strict, Sealed.
type GraphOption func(*Graph)

// NodeOption configures a node: Retry, Timeout, Cached, Defer, Ends, Invokes, Tags, OnError, NodeMetadata.
type NodeOption func(*node)

// ContextType declares the type of the run's static context, for the schema: ContextType[T]().
func ContextType[T any]() GraphOption {
	return func(g *Graph) { g.contextType = reflect.TypeFor[T]() }
}

// reducerOption is a reducer given by option.
type reducerOption struct {
	initial json.RawMessage
	fold    func(old json.RawMessage, updates []json.RawMessage) (json.RawMessage, error)
}

// Reducer gives a state key a reducer. A nil default means: the first value is stored as it is.
func Reducer[T, U any](key string, def func() T, reduce func(old T, update U) (T, error)) GraphOption {
	r := reducerOption{fold: func(old json.RawMessage, updates []json.RawMessage) (json.RawMessage, error) {
		var value T
		if err := json.Unmarshal(old, &value); err != nil {
			return nil, fmt.Errorf("decode value: %w", err)
		}
		for _, raw := range updates {
			var u U
			if err := json.Unmarshal(raw, &u); err != nil {
				return nil, fmt.Errorf("decode update: %w", err)
			}
			next, err := reduce(value, u)
			if err != nil {
				return nil, err
			}
			value = next
		}
		return encode(value)
	}}
	if def != nil {
		raw, err := encode(def())
		if err != nil {
			panic(fmt.Sprintf("agent: default of reducer %q: %v", key, err))
		}
		r.initial = raw
	}
	return func(g *Graph) {
		if g.reducers == nil {
			g.reducers = map[string]reducerOption{}
		}
		g.reducers[key] = r
	}
}

// InterruptBefore compiles static breakpoints into the graph; "*" names all nodes.
func InterruptBefore(nodes ...string) GraphOption {
	return func(g *Graph) { g.interruptBefore = append(g.interruptBefore, nodes...) }
}

// InterruptAfter is InterruptBefore for stops behind the nodes.
func InterruptAfter(nodes ...string) GraphOption {
	return func(g *Graph) { g.interruptAfter = append(g.interruptAfter, nodes...) }
}

// Stateful makes a subgraph keep its state between visits (one namespace per thread).
func Stateful() GraphOption { return func(g *Graph) { g.stateful = true } }

// StepTimeout bounds each superstep.
func StepTimeout(d time.Duration) GraphOption { return func(g *Graph) { g.stepTimeout = d } }

// ErrorGrace says how long the other tasks of a superstep may go on after one has
// failed; then they are cancelled. Results of those that end in time are kept. Default 30 s.
func ErrorGrace(d time.Duration) GraphOption { return func(g *Graph) { g.grace = d } }

// Strict rejects unknown keys in input and updates instead of dropping them.
func Strict() GraphOption { return func(g *Graph) { g.strict = true } }

// DefaultRetry gives all nodes a retry policy.
func DefaultRetry(p RetryPolicy) GraphOption { return func(g *Graph) { g.retry = &p } }

// Retry gives a node a retry policy.
func Retry(p RetryPolicy) NodeOption { return func(n *node) { n.retry = &p } }

// Timeout bounds one attempt of a node. The error is retryable.
func Timeout(d time.Duration) NodeOption { return func(n *node) { n.timeout = d } }

// Defer makes a node wait until no other node would run.
func Defer() NodeOption { return func(n *node) { n.deferred = true } }

// Ends declares where the node's Commands may lead.
func Ends(nodes ...string) NodeOption { return func(n *node) { n.ends = append(n.ends, nodes...) } }

// Invokes declares the graph that the node's function invokes, so that states
// show it under the node's task, as they show a graph that is a node.
func Invokes(g *Graph) NodeOption { return func(n *node) { n.child, n.embeds = g, true } }

// Tags adds tags to the node's tasks ("langsmith:hidden", "nostream").
func Tags(tags ...string) NodeOption { return func(n *node) { n.tags = append(n.tags, tags...) } }

// NodeMetadata adds metadata that is streamed with the node's messages and shown in drawings.
func NodeMetadata(metadata map[string]any) NodeOption {
	return func(n *node) { n.metadata = metadata }
}

// Cached reuses a node's writes for equal input for ttl. A nil key compares the whole input.
func Cached(ttl time.Duration, key func(input json.RawMessage) string) NodeOption {
	return func(n *node) { n.cacheTTL, n.cacheKey = ttl, key }
}

// OnError names a handler node that runs once the node's retries are used up. It
// gets what the failed node got; ctx.Failure tells the error.
func OnError(handler string) NodeOption { return func(n *node) { n.onError = handler } }

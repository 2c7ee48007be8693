package agent

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Start and End are the entry and exit of every graph.
const (
	Start = "__start__"
	End   = "__end__"
)

// Agent is something that runs can be created for: a name and a graph, which a
// factory may build per configuration.
type Agent interface {
	// Name is the graph id.
	Name() string
	// Graph returns the compiled graph for a configuration. It is called for each run and state read.
	Graph(ctx context.Context, cfg Config) (*Graph, error)
}

// Factory is an Agent whose graph depends on the configuration.
type Factory struct {
	ID    string
	Build func(ctx context.Context, cfg Config) (*Graph, error)
}

// Name implements Agent.
func (f Factory) Name() string { return f.ID }

// Graph implements Agent.
func (f Factory) Graph(ctx context.Context, cfg Config) (*Graph, error) { return f.Build(ctx, cfg) }

// Graph is a compiled graph. It is safe for concurrent use.
type Graph struct {
	name string
	// keys are the state keys in declared order; inputKeys and outputKeys those of the schemas.
	keys, inputKeys, outputKeys []string
	// specs describes every channel, state keys and routing channels alike;
	// order lists them, state keys first.
	specs map[string]*channelSpec
	order []string
	// nodes without __start__, in declared order; the hidden __start__ is in byName only.
	nodes  []*node
	byName map[string]*node
	edges  []edge
	joins  []join
	// branches by the node they start from, in declared order.
	branches map[string][]*branch

	stateType, contextType          reflect.Type
	interruptBefore, interruptAfter []string
	stateful, strict                bool
	retry                           *RetryPolicy
	stepTimeout, grace              time.Duration
	reducers                        map[string]reducerOption
	cache                           *nodeCache
	sealed                          []string // keys of sealed channels
	reviewRules                     map[string]ReviewRule
}

// errorGrace is the time that tasks have after another failed.
func (g *Graph) errorGrace() time.Duration {
	if g.grace > 0 {
		return g.grace
	}
	return 30 * time.Second
}

// edge is a static edge; its ends may be Start and End.
type edge struct{ from, to string }

// join is an edge from several nodes.
type join struct {
	from []string
	to   string
}

// channel is the name of the join's barrier.
func (j join) channel() string { return "join:" + strings.Join(j.from, "+") + ":" + j.to }

// branch is a conditional edge.
type branch struct {
	from    string
	targets []string
	choose  func(ctx Context, in taskInput) ([]Target, error)
}

// node is a node of a graph.
type node struct {
	name string
	// run is nil for __start__.
	run func(ctx Context, in taskInput) (Update, error)
	// child is the graph that the node is, or, with embeds, that its function invokes.
	child  *Graph
	embeds bool
	// inputType is what the function takes: the state struct, or what a Send carries.
	inputType reflect.Type
	// triggers are the channels that start the node, in declared order.
	triggers []string
	deferred bool
	ends     []string
	tags     []string
	metadata map[string]any
	retry    *RetryPolicy
	timeout  time.Duration
	cacheTTL time.Duration
	cacheKey func(input json.RawMessage) string
	onError  string
}

// isGraph tells whether the node is a nested graph, rather than a function.
func (n *node) isGraph() bool { return n.child != nil && !n.embeds }

// hidden tells whether the node's tasks are left out of streams.
func (n *node) hidden() bool {
	if n.name == Start {
		return true
	}
	for _, t := range n.tags {
		if t == "langsmith:hidden" {
			return true
		}
	}
	return false
}

// taskInput is what a task gets: the state, or the input of a Send.
type taskInput struct {
	state *State
	raw   []byte // of a Send; nil otherwise
}

// json returns the input as JSON.
func (in taskInput) json() []byte {
	if in.raw != nil {
		return in.raw
	}
	return in.state.JSON()
}

// Name is the graph's name; a compiled graph is an Agent, too.
func (g *Graph) Name() string { return g.name }

// Graph implements Agent.
func (g *Graph) Graph(context.Context, Config) (*Graph, error) { return g, nil }

// SubgraphAt returns the graph that runs in a namespace; nil when there is none.
func (g *Graph) SubgraphAt(ns string) *Graph {
	if ns == "" {
		return g
	}
	for _, segment := range strings.Split(ns, "|") {
		name, _, _ := strings.Cut(segment, ":")
		n := g.byName[name]
		if n == nil && strings.Trim(segment, "0123456789") == "" {
			continue // a further call of the same task
		}
		if n == nil || n.child == nil {
			return nil
		}
		g = n.child
	}
	return g
}

// branchChannel is the trigger channel of a node.
func branchChannel(node string) string { return "branch:to:" + node }

// pregelTasks is the channel of pending Sends.
const pregelTasks = "__pregel_tasks"

package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// Builder builds a graph over the state type S, a struct: each field with a
// json tag is a channel. A message.List field uses the add-messages reducer; the
// tag agent:"append" makes a slice field a list-concat reducer with default [],
// agent:"append,nodefault" one without; agent:"default=<JSON>" gives a default;
// agent:"untracked", "ephemeral", "any", "topic", "topic,accumulate", "topic,unique" choose the other channel kinds; a plain
// field is LastValue; agent:"-input", "-output" leave the key out of the input or output schema; "private" out of both.
type Builder[S any] struct {
	g   *Graph
	dec *decoder
	// errs are mistakes found while building; Compile reports them.
	errs []error

	mu       sync.Mutex
	compiled *Graph
}

// NewGraph starts a graph named name.
func NewGraph[S any](name string, opts ...GraphOption) *Builder[S] {
	g := &Graph{
		name: name, specs: map[string]*channelSpec{}, byName: map[string]*node{}, branches: map[string][]*branch{},
		stateType: reflect.TypeFor[S](), cache: newNodeCache(),
	}
	for _, o := range opts {
		o(g)
	}
	b := &Builder[S]{g: g, dec: newDecoder(reflect.TypeFor[S]())}
	if g.stateType.Kind() != reflect.Struct {
		b.errs = append(b.errs, fmt.Errorf("agent: state of graph %q: %s is not a struct", name, g.stateType))
	}
	return b
}

// Node adds a node that gets the state.
func (b *Builder[S]) Node(name string, fn func(ctx Context, s S) (Update, error), opts ...NodeOption) *Builder[S] {
	b.add(&node{name: name, inputType: b.dec.typ, run: func(ctx Context, in taskInput) (Update, error) {
		var s S
		if err := b.dec.decode(in, &s); err != nil {
			return nil, err
		}
		return fn(ctx, s)
	}}, opts)
	return b
}

// NodeOf adds a node that is reached by Send and gets the Send's input, decoded as In.
// Reached by an edge it gets the state, decoded as In.
func NodeOf[In, S any](b *Builder[S], name string, fn func(ctx Context, in In) (Update, error), opts ...NodeOption) *Builder[S] {
	dec := newDecoder(reflect.TypeFor[In]())
	b.add(&node{name: name, inputType: dec.typ, run: func(ctx Context, in taskInput) (Update, error) {
		var v In
		if err := dec.decode(in, &v); err != nil {
			return nil, err
		}
		return fn(ctx, v)
	}}, opts)
	return b
}

// Subgraph adds a compiled graph as a node; it shares the state keys of equal name.
func (b *Builder[S]) Subgraph(name string, child *Graph, opts ...NodeOption) *Builder[S] {
	b.add(&node{name: name, inputType: b.dec.typ, child: child, run: func(ctx Context, in taskInput) (Update, error) {
		return runSubgraph(ctx, child, in)
	}}, opts)
	return b
}

func (b *Builder[S]) add(n *node, opts []NodeOption) {
	for _, o := range opts {
		o(n)
	}
	b.changed()
	if b.g.byName[n.name] != nil {
		b.errs = append(b.errs, fmt.Errorf("agent: graph %q has two nodes named %q", b.g.name, n.name))
		return
	}
	b.g.nodes = append(b.g.nodes, n)
	b.g.byName[n.name] = n
}

func (b *Builder[S]) changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.compiled = nil
}

// Edge leads from one node (or Start) to the next (or End).
func (b *Builder[S]) Edge(from, to string) *Builder[S] {
	b.changed()
	b.g.edges = append(b.g.edges, edge{from, to})
	return b
}

// Join leads to a node once all of the others have run.
func (b *Builder[S]) Join(from []string, to string) *Builder[S] {
	b.changed()
	b.g.joins = append(b.g.joins, join{from, to})
	return b
}

// Branch leads from a node (or Start) to the node that choose names. Targets lists the possible ones, for checks and drawing.
func (b *Builder[S]) Branch(from string, choose func(s S) string, targets ...string) *Builder[S] {
	return b.BranchTo(from, func(_ Context, s S) ([]Target, error) {
		return []Target{{Node: choose(s)}}, nil
	}, targets...)
}

// BranchTo is Branch for several targets and Sends.
func (b *Builder[S]) BranchTo(from string, choose func(ctx Context, s S) ([]Target, error), targets ...string) *Builder[S] {
	return BranchOf(b, from, choose, targets...)
}

// BranchOf is BranchTo with the state decoded as In, for keys that S doesn't have (ExtraState).
func BranchOf[In, S any](b *Builder[S], from string, choose func(ctx Context, in In) ([]Target, error), targets ...string) *Builder[S] {
	b.changed()
	dec := newDecoder(reflect.TypeFor[In]())
	b.g.branches[from] = append(b.g.branches[from], &branch{from: from, targets: targets, choose: func(ctx Context, in taskInput) ([]Target, error) {
		var v In
		if err := dec.decode(in, &v); err != nil {
			return nil, err
		}
		return choose(ctx, v)
	}})
	return b
}

// Compile checks the graph. Later calls return the same graph until the builder is changed.
func (b *Builder[S]) Compile() (*Graph, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.compiled != nil {
		return b.compiled, nil
	}
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	g, err := b.g.compile()
	if err != nil {
		return nil, err
	}
	b.compiled = g
	return g, nil
}

// MustCompile is Compile for graphs known to be right; it panics otherwise.
func (b *Builder[S]) MustCompile() *Graph {
	g, err := b.Compile()
	if err != nil {
		panic(err)
	}
	return g
}

// Name implements Agent, so that a graph can be served as it is after Compile.
func (b *Builder[S]) Name() string { return b.g.name }

// Graph implements Agent.
func (b *Builder[S]) Graph(context.Context, Config) (*Graph, error) { return b.Compile() }

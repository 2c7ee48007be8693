package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// Servers are several servers with one owner. They are safe for concurrent use.
type Servers struct {
	list []*Server
	by   map[string]*Server
}

// ConnectAll connects to all servers at once. One that fails (see Connect) ends
// the others, and the error tells of all that failed.
func ConnectAll(ctx context.Context, configs ...ServerConfig) (*Servers, error) {
	set := &Servers{list: make([]*Server, len(configs)), by: map[string]*Server{}}
	for _, c := range configs {
		if _, ok := set.by[c.Name]; ok {
			return nil, fmt.Errorf("mcp: two servers are named %q", c.Name)
		}
		set.by[c.Name] = nil
	}
	errs := make([]error, len(configs))
	var wg sync.WaitGroup
	for i, c := range configs {
		wg.Go(func() { set.list[i], errs[i] = Connect(ctx, c) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	for _, s := range set.list {
		set.by[s.Name()] = s
	}
	return set, nil
}

// Server is the server of that name; false when there is none.
func (ss *Servers) Server(name string) (*Server, bool) {
	s, ok := ss.by[name]
	return s, ok
}

// Tools are the tools that the references name, in their order and each once: "server.tool", or
// "server.*" and "server" for all of a server. Without a reference it is all tools. A
// server that is down and was never reached has none, whatever is asked of it. Errors:
// an unknown server, a tool that a server which is there doesn't offer, *NameCollisionError.
func (ss *Servers) Tools(refs ...string) ([]tool.Tool, error) {
	if len(refs) == 0 {
		for _, s := range ss.list {
			refs = append(refs, s.Name())
		}
	}
	var all []*Tool
	seen := map[string]bool{}
	for _, ref := range refs {
		found, err := ss.find(ref)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !seen[t.Ref()] {
				seen[t.Ref()] = true
				all = append(all, t)
			}
		}
	}
	if err := checkNames(all); err != nil {
		return nil, err
	}
	tools := make([]tool.Tool, len(all))
	for i, t := range all {
		tools[i] = t
	}
	return tools, nil
}

// find is what one reference names.
func (ss *Servers) find(ref string) ([]*Tool, error) {
	name, wanted, _ := strings.Cut(ref, ".")
	s, ok := ss.by[name]
	if !ok {
		return nil, fmt.Errorf("mcp: %s: there is no server %q", ref, name)
	}
	tools, reached := s.snapshot()
	if wanted == "" || wanted == "*" || !reached {
		return tools, nil
	}
	offered := make([]string, len(tools))
	for i, t := range tools {
		if t.remote == wanted {
			return tools[i : i+1], nil
		}
		offered[i] = t.remote
	}
	return nil, &UnknownToolError{Server: name, Tool: wanted, Offered: offered}
}

// UnknownToolError says that a server doesn't offer a tool.
type UnknownToolError struct {
	Server, Tool string
	Offered      []string
}

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("mcp: server %q offers no tool %q, only %s", e.Server, e.Tool, strings.Join(e.Offered, ", "))
}

// version changes when a tool of a server does.
func (ss *Servers) version() int {
	n := 0
	for _, s := range ss.list {
		s.mu.Lock()
		n += s.version
		s.mu.Unlock()
	}
	return n
}

// Agent is an agent that has the tools of servers: build makes its graph of them, and makes
// it again when they have changed, for the runs that begin then. It gets the tools that refs name (see
// Tools), less those that a server has stopped to offer.
func (ss *Servers) Agent(name string, build func(tools []tool.Tool) (*agent.Graph, error), refs ...string) agent.Agent {
	return &changing{name: name, servers: ss, build: build, refs: refs, version: -1}
}

// Close closes all servers and returns when nothing is left of them.
func (ss *Servers) Close() error {
	errs := make([]error, len(ss.list))
	var wg sync.WaitGroup
	for i, s := range ss.list {
		if s != nil {
			wg.Go(func() { errs[i] = s.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// changing is an agent whose tools change.
type changing struct {
	name    string
	servers *Servers
	build   func([]tool.Tool) (*agent.Graph, error)
	refs    []string

	mu      sync.Mutex
	version int // of graph; -1 for none
	graph   *agent.Graph
}

// Name implements agent.Agent.
func (c *changing) Name() string { return c.name }

// Graph implements agent.Agent.
func (c *changing) Graph(context.Context, agent.Config) (*agent.Graph, error) {
	return c.Compile()
}

// Compile builds the graph of the tools that there are; servers call it at the start, to see faults early.
func (c *changing) Compile() (*agent.Graph, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := c.servers.version()
	if version == c.version {
		return c.graph, nil
	}
	tools, err := c.tools()
	if err != nil {
		return nil, err
	}
	graph, err := c.build(tools)
	if err != nil {
		return nil, err
	}
	c.version, c.graph = version, graph
	return graph, nil
}

// tools are those of the references. Once there was a graph, a tool that is gone is left out: the
// agent goes on without it.
func (c *changing) tools() ([]tool.Tool, error) {
	refs := c.refs
	for {
		tools, err := c.servers.Tools(refs...)
		var unknown *UnknownToolError
		if c.version < 0 || !errors.As(err, &unknown) {
			return tools, err
		}
		var left []string
		for _, ref := range refs {
			if ref != unknown.Server+"."+unknown.Tool {
				left = append(left, ref)
			}
		}
		if len(left) == 0 {
			return nil, nil
		}
		refs = left
	}
}

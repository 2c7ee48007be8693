package manifest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/mcp"
)

// BuildOptions say how agents are made.
type BuildOptions struct {
	// Logger is that of MCP servers. Default: slog.Default().
	Logger *slog.Logger
	// LateKeys leaves a model's missing key to its first call. Default: it is a fault.
	LateKeys bool
	// Offline connects no MCP server; agents are without their tools.
	Offline bool
	// Previous are agents whose connections to MCP servers are taken over, if the
	// file says the same of all servers. They stay theirs, too.
	Previous *Agents
}

// Agents are the agents of a file, with what they need. Close it when no run uses them any more.
type Agents struct {
	manifest *Manifest
	names    []string
	all      map[string]agent.Agent
	own      map[string]tool.Tool
	models   map[string]model.Model
	servers  *connections // nil without MCP
	missing  map[string]string
}

// Build makes the agents and connects to their MCP servers; ctx bounds that alone.
// Errors: *Error with everything that can't be, then nothing is left connected.
func (m *Manifest) Build(ctx context.Context, o BuildOptions) (*Agents, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	b := &builder{m: m, o: o, models: map[string]model.Model{}, all: map[string]agent.Agent{}}
	m.doc.faults = nil
	b.own = b.ownTools() //nolint:contextcheck // its calls have contexts of their own
	for _, name := range m.doc.names("agents") {
		at, a := pointer("/agents", name), m.Agents[name]
		b.modelOf(at+"/model", a.Model)
		if s := a.Context.Summarise; s != nil && s.Model != "" {
			b.modelOf(at+"/context/summarise/model", s.Model)
		}
	}
	if err := m.doc.err(); err != nil {
		return nil, err
	}
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	for _, name := range m.doc.names("agents") {
		b.agent(ctx, name)
	}
	if err := m.doc.err(); err != nil {
		return nil, errors.Join(err, b.servers.release())
	}
	return &Agents{
		manifest: m, names: m.doc.names("agents"), all: b.all, own: b.own, models: b.models,
		servers: b.servers, missing: b.missingKeys(),
	}, nil
}

// List are the agents that clients can ask for, in the order of the file.
func (a *Agents) List() []agent.Agent {
	var list []agent.Agent
	for _, name := range a.names {
		if !a.manifest.Agents[name].Internal {
			list = append(list, &described{a.all[name], a.manifest.Agents[name].Description})
		}
	}
	return list
}

// described is an agent that says what it is for.
type described struct {
	agent.Agent
	description string
}

// Description is what the file says of the agent; "" for nothing.
func (d *described) Description() string { return d.description }

// Close lets go of the connections to MCP servers; they end with the last agents that have them.
func (a *Agents) Close() error { return a.servers.release() }

// builder makes the agents of a manifest.
type builder struct {
	m       *Manifest
	o       BuildOptions
	models  map[string]model.Model
	own     map[string]tool.Tool
	servers *connections
	all     map[string]agent.Agent
}

// agent makes an agent, and before it its subagents. Circles were found by the check.
func (b *builder) agent(ctx context.Context, name string) agent.Agent {
	if a, ok := b.all[name]; ok {
		return a
	}
	b.all[name] = nil
	for _, sub := range b.m.Agents[name].Subagents {
		if b.agent(ctx, sub) == nil {
			return nil // its fault is known
		}
	}
	build := func(offered []tool.Tool) (*agent.Graph, error) { return b.graph(ctx, name, offered) }
	var made interface {
		agent.Agent
		Compile() (*agent.Graph, error)
	}
	if refs := b.serversOf(name); len(refs) > 0 && b.servers != nil {
		var ok bool
		if made, ok = b.servers.all.Agent(name, build, refs...).(interface {
			agent.Agent
			Compile() (*agent.Graph, error)
		}); !ok {
			b.fault(name, errors.New("an agent of MCP tools can't be compiled"))
			return nil
		}
		if _, err := made.Compile(); err != nil {
			b.fault(name, err)
			return nil
		}
		b.all[name] = made
		return made
	}
	g, err := build(nil)
	if err != nil {
		b.fault(name, err)
		return nil
	}
	b.all[name] = g
	return g
}

func (b *builder) fault(name string, err error) {
	text := strings.TrimPrefix(err.Error(), "react: ")
	text = strings.TrimPrefix(text, fmt.Sprintf("agent %q: ", name))
	b.m.doc.atKey(pointer("/agents", name), text)
}

// serversOf lists, as references to all of their tools, the MCP servers that an agent or one of
// its subagents has tools of: when these change its graph is made again.
func (b *builder) serversOf(name string) []string {
	var refs []string
	for _, entry := range b.m.Agents[name].Tools {
		server, _, dotted := strings.Cut(entry, ".")
		if ref := server + ".*"; dotted && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	for _, sub := range b.m.Agents[name].Subagents {
		for _, ref := range b.serversOf(sub) {
			if !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// graph compiles an agent with the tools that its servers offer.
func (b *builder) graph(ctx context.Context, name string, offered []tool.Tool) (*agent.Graph, error) {
	a := b.m.Agents[name]
	tools := choose(a.Tools, b.own, offered)
	c := react.Config{
		Name: name, Speaker: name, Prompt: b.m.prompts[name], Model: b.models[a.Model],
		Review: hitl.Config{
			Policy: policy(a.Review, tools), Mode: hitl.Mode(a.ReviewMode), Casing: hitl.Casing(a.Casing),
		},
		Limits: react.Limits{
			Steps: a.Limits.Steps, Tokens: a.Limits.Tokens, Cost: a.Limits.Cost,
			WallTime: time.Duration(a.Limits.WallTime), ErrorOnLimit: a.Limits.OnLimit == "fail",
			Prices: b.prices(a),
		},
		Middleware: b.context(a),
	}
	for _, l := range tools {
		c.Tools = append(c.Tools, l.tool)
	}
	for _, sub := range a.Subagents {
		g, err := b.all[sub].Graph(ctx, agent.Config{})
		if err != nil {
			return nil, err
		}
		c.Tools = append(c.Tools, react.Subagent(sub, b.m.Agents[sub].Description, g))
	}
	if len(a.Output) > 0 {
		c.Response = &react.Response{Schema: a.Output}
	}
	return react.New(c)
}

// context are the middlewares for long conversations: what is summed up first, what is shown then.
func (b *builder) context(a Agent) []react.Middleware {
	var all []react.Middleware
	if s := a.Context.Summarise; s != nil {
		m := b.models[a.Model]
		if s.Model != "" {
			m = b.models[s.Model]
		}
		all = append(all, react.Summarize(react.Summary{Model: m, Messages: s.Messages, Tokens: s.Tokens, Keep: s.Keep}))
	}
	if t := a.Context.Trim; t != nil {
		all = append(all, react.Trim(react.Trimming{Messages: t.Messages, Tokens: t.Tokens}))
	}
	return all
}

// prices are those of the models that an agent uses, by the names that they report.
func (b *builder) prices(a Agent) map[string]react.Price {
	names := []string{a.Model}
	if s := a.Context.Summarise; s != nil && s.Model != "" {
		names = append(names, s.Model)
	}
	prices := map[string]react.Price{}
	for _, name := range names {
		if p, m := b.m.Models[name].Price, b.models[name]; p != nil && m != nil {
			prices[m.Info().Name] = react.Price{Input: p.Input, Output: p.Output, CachedInput: p.Cached}
		}
	}
	return prices
}

// connect reaches the MCP servers, and checks that they offer what agents list.
func (b *builder) connect(ctx context.Context) error {
	configs := b.serverConfigs()
	if len(configs) == 0 || b.o.Offline {
		return nil
	}
	key := digest(configs)
	if p := b.o.Previous; p != nil && p.servers != nil && p.servers.key == key && p.servers.take() {
		b.servers = p.servers
	} else {
		for i := range configs {
			configs[i].Logger = b.o.Logger
		}
		servers, err := mcp.ConnectAll(ctx, configs...)
		if err != nil {
			b.connectFaults(err)
			return b.m.doc.err()
		}
		b.servers = &connections{all: servers, key: key, users: 1}
	}
	for _, name := range b.m.doc.names("agents") {
		for i, entry := range b.m.Agents[name].Tools {
			b.checkOffered(fmt.Sprintf("%s/tools/%d", pointer("/agents", name), i), entry)
		}
	}
	if err := b.m.doc.err(); err != nil {
		return errors.Join(err, b.servers.release())
	}
	return nil
}

// connectFaults says of each server why it can't be reached.
func (b *builder) connectFaults(err error) {
	list := []error{err}
	for i := 0; i < len(list); i++ {
		var down *mcp.DownError
		joined, many := list[i].(interface{ Unwrap() []error }) //nolint:errorlint // each of the joined errors is looked at
		switch {
		case many:
			list = append(list, joined.Unwrap()...)
		case errors.As(list[i], &down):
			b.m.doc.atKey(pointer("/mcp", down.Server), "the server can't be reached: "+down.Err.Error())
		default:
			b.m.doc.atKey("/mcp", strings.TrimPrefix(list[i].Error(), "mcp: "))
		}
	}
}

// checkOffered adds a fault for a tool that its server, which is there, doesn't offer.
func (b *builder) checkOffered(at, entry string) {
	name, pattern, dotted := strings.Cut(entry, ".")
	if !dotted {
		return
	}
	server, ok := b.servers.all.Server(name)
	if !ok || server.Down() != nil && len(server.Tools()) == 0 {
		return
	}
	var offered []string
	for _, t := range server.Tools() {
		if m, ok := t.(*mcp.Tool); ok {
			if covers(entry, m.Ref()) {
				return
			}
			_, remote, _ := strings.Cut(m.Ref(), ".")
			offered = append(offered, remote)
		}
	}
	if pattern != "*" {
		b.m.doc.at(at, fmt.Sprintf("the server %s offers no tool %s", name, pattern)+suggestion(pattern, offered))
	}
}

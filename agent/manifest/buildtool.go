package manifest

import (
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/builtin"
	"github.com/parley-dev/parley/agent/tool/mcp"
	"github.com/parley-dev/parley/agent/tool/request"
)

// builtinNames are the tools that need no entry.
func builtinNames() []string {
	var names []string
	for _, t := range builtin.All() {
		names = append(names, t.Definition().Name)
	}
	return names
}

// listed is a tool with the name that it has in the file.
type listed struct {
	name string
	tool tool.Tool
}

// ownTools makes the tools that aren't of MCP servers, by name.
func (b *builder) ownTools() map[string]tool.Tool {
	own := map[string]tool.Tool{}
	for _, t := range builtin.All() {
		own[t.Definition().Name] = t
	}
	for _, name := range b.m.doc.names("tools") {
		said := b.m.Tools[name]
		h := said.HTTP
		t, err := request.New(request.Config{
			Name: name, Description: said.Description, Parameters: said.Parameters,
			Method: h.Method, URL: b.expand(h.URL), Headers: b.expandAll(h.Headers),
			Timeout: time.Duration(h.Timeout), MaxBytes: h.MaxBytes, Idempotent: h.Idempotent,
		})
		if err != nil {
			b.m.doc.at(pointer("/tools", name)+"/http", strings.TrimPrefix(err.Error(), "request: "))
			continue
		}
		own[name] = t
	}
	return own
}

// choose lists an agent's tools in its order; offered are those of MCP servers.
func choose(entries []string, own map[string]tool.Tool, offered []tool.Tool) []listed {
	var all []listed
	add := func(l listed) {
		if !slices.ContainsFunc(all, func(have listed) bool { return have.name == l.name }) {
			all = append(all, l)
		}
	}
	for _, entry := range entries {
		if t, ok := own[entry]; ok {
			add(listed{entry, t})
			continue
		}
		for _, t := range offered {
			if m, ok := t.(*mcp.Tool); ok && covers(entry, m.Ref()) {
				add(listed{m.Ref(), t})
			}
		}
	}
	return all
}

// policy is what a person decides on: what the file says of a tool, the longest name that
// fits first, else what the tool says of itself.
func policy(rules map[string]Review, tools []listed) hitl.Policy {
	p := hitl.Policy{}
	for _, l := range tools {
		r, said := ruleFor(rules, l.name)
		if said && r.Off || !said && !mcp.NeedsReview(l.tool) {
			continue
		}
		p[l.tool.Definition().Name] = r.rule()
	}
	return p
}

// rule is what the file says as the agent has it.
func (r Review) rule() hitl.Rule {
	return hitl.Rule{
		Description: r.Description, Decisions: r.decisions(),
		Deadline: time.Duration(r.Deadline), Warn: time.Duration(r.Warn), OnExpiry: hitl.OnExpiry(r.OnExpiry),
	}
}

// decisions are those of a rule; a rule without any has all.
func (r Review) decisions() []hitl.Decision {
	if len(r.Decisions) == 0 {
		return hitl.All()
	}
	all := make([]hitl.Decision, len(r.Decisions))
	for i, d := range r.Decisions {
		all[i] = hitl.Decision(d)
	}
	return all
}

// ruleFor is what the file says of a tool.
func ruleFor(rules map[string]Review, name string) (Review, bool) {
	best, found := "", false
	for pattern := range rules {
		if covers(pattern, name) && (!found || pattern == name || best != name && len(pattern) > len(best)) {
			best, found = pattern, true
		}
	}
	return rules[best], found
}

// toolName is the name of a tool as models see it.
func (b *builder) toolName(name string) string {
	server, remote, dotted := strings.Cut(name, ".")
	if dotted {
		return mcp.ServerConfig{Name: server, Prefix: server}.ToolName(remote)
	}
	return name
}

// serverConfigs are the MCP servers in the order of the file.
func (b *builder) serverConfigs() []mcp.ServerConfig {
	var all []mcp.ServerConfig
	for _, name := range b.m.doc.names("mcp") {
		s := b.m.MCP[name]
		c := mcp.ServerConfig{
			Name: name, URL: b.expand(s.URL), Args: s.Args, OnDown: mcp.OnDown(s.OnDown),
			ConnectTimeout: time.Duration(s.Connect), Timeout: time.Duration(s.Timeout),
			Allow: s.Allow, Deny: s.Deny, Elicit: s.Elicit, IgnoreAnnotations: s.Trust != nil && !*s.Trust,
		}
		if s.Command != "" {
			c.Command, c.Dir, c.Env = b.command(s.Command), b.m.Dir, b.expandAll(s.Env)
		} else {
			c.Headers = b.expandAll(s.Headers)
		}
		all = append(all, c)
	}
	return all
}

// command is a program; one with a path lies where the file does.
func (b *builder) command(name string) string {
	if strings.ContainsAny(name, `/\`) {
		return b.m.inside(name)
	}
	return name
}

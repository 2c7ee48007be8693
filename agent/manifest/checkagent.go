package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent/react"
)

func (c *checker) agent(at, name string, a Agent) {
	if a.Model != "" {
		c.modelRef(at+"/model", a.Model)
	}
	c.prompt(at, name, a)
	c.tools(at, a)
	c.review(at, a)
	c.subagents(at, name, a)
	if a.Limits.Cost > 0 && a.Model != "" && !c.priced(a.Model) {
		c.d.at(at+"/limits/cost", fmt.Sprintf("the model %s has no price; give it one under models", a.Model))
	}
	for _, key := range []string{"trim", "summarise"} {
		p := pointer(at+"/context", key)
		if c.has(at+"/context", key) && !c.d.bad[p] && !c.has(p, "messages") && !c.has(p, "tokens") {
			c.d.atKey(p, "missing: messages or tokens")
		}
	}
	if s := a.Context.Summarise; s != nil && s.Model != "" {
		c.modelRef(at+"/context/summarise/model", s.Model)
	}
	c.schema(at+"/output", a.Output)
}

// modelRef checks the name of a model.
func (c *checker) modelRef(at, name string) {
	if c.d.bad[at] || slices.Contains(c.d.names("models"), name) {
		return
	}
	if strings.Contains(name, ":") {
		c.provider(at, name)
		return
	}
	known := c.d.names("models")
	text := fmt.Sprintf("there is no model %q under models", name)
	if len(known) > 0 {
		text += suggestion(name, known)
	}
	c.d.at(at, text+"; or name a provider's model, as openai:gpt-5-mini")
}

// provider checks the provider of a model like openai:gpt-5-mini.
func (c *checker) provider(at, name string) {
	provider, _, _ := strings.Cut(name, ":")
	if known := providerNames(); !slices.Contains(known, provider) {
		c.d.at(at, fmt.Sprintf("unknown provider %q", provider)+suggestion(provider, known))
	}
}

func (c *checker) priced(model string) bool {
	m, ok := c.f.Models[model]
	return ok && m.Price != nil
}

func (c *checker) prompt(at, name string, a Agent) {
	text := a.Prompt
	switch {
	case a.PromptFile == "" || c.d.bad[at+"/prompt_file"]:
	case c.has(at, "prompt"):
		c.d.atKey(at+"/prompt_file", "an agent has a prompt or a prompt_file, not both")
	default:
		file := c.m.inside(a.PromptFile)
		c.d.files = append(c.d.files, file)
		b, err := readFile(file)
		if err != nil {
			text := strings.TrimPrefix(err.Error(), "manifest: ")
			if errors.Is(err, fs.ErrNotExist) {
				text = a.PromptFile + " doesn't exist"
			}
			c.d.at(at+"/prompt_file", text)
			return
		}
		text = string(b)
	}
	c.m.prompts[name] = strings.TrimSpace(text)
}

func (c *checker) tools(at string, a Agent) {
	for i, name := range a.Tools {
		p := fmt.Sprintf("%s/tools/%d", at, i)
		switch {
		case c.d.bad[p]:
		case slices.Index(a.Tools, name) < i:
			c.d.at(p, fmt.Sprintf("%s is there twice", name))
		default:
			c.toolRef(p, name)
		}
	}
}

// toolRef checks the name of a tool. Whether a server has it is known when it is connected.
func (c *checker) toolRef(at, name string) {
	server, tool, dotted := strings.Cut(name, ".")
	servers := c.d.names("mcp")
	switch {
	case !dotted && slices.Contains(c.toolNames(), name):
	case !dotted && slices.Contains(servers, name):
		c.d.at(at, fmt.Sprintf("%s is an MCP server; write %s.* for all of its tools, or %s.tool for one", name, name, name))
	case !dotted:
		known := c.toolNames()
		for _, s := range servers {
			known = append(known, s+".*")
		}
		c.d.at(at, fmt.Sprintf("there is no tool %q", name)+suggestion(name, known))
	case !slices.Contains(servers, server):
		c.d.at(at, fmt.Sprintf("there is no MCP server %q under mcp", server)+suggestion(server, servers))
	case tool == "":
		c.d.at(at, fmt.Sprintf("name a tool of %s behind the dot, or * for all", server))
	default:
		if _, err := path.Match(tool, ""); err != nil {
			c.d.at(at, fmt.Sprintf("%q is no pattern: %v", tool, err))
		}
	}
}

func (c *checker) review(at string, a Agent) {
	for _, name := range slices.Sorted(maps.Keys(a.Review)) {
		if _, err := path.Match(name, ""); err != nil {
			c.d.atKey(pointer(at+"/review", name), fmt.Sprintf("%q is no pattern: %v", name, err))
			continue
		}
		if !slices.ContainsFunc(a.Tools, func(t string) bool { return covers(t, name) || covers(name, t) }) {
			c.d.atKey(pointer(at+"/review", name), fmt.Sprintf("%s is no tool of this agent: a rule for it would guard nothing", name)+suggestion(name, a.Tools))
		}
		if e := a.Review[name].rule().Expiry(); e != nil {
			if err := e.Check(); err != nil {
				c.d.at(pointer(at+"/review", name), "on_expiry: "+err.Error())
			}
		}
	}
}

// covers reports whether a name of a tool or a pattern, in which * stands for anything within a
// server's tools or within those that are no server's, stands for a name.
func covers(pattern, name string) bool {
	if pattern == name {
		return true
	}
	server, pattern, dotted := cutServer(pattern)
	other, tool, also := cutServer(name)
	if dotted != also || server != other {
		return false
	}
	ok, err := path.Match(pattern, tool)
	return ok && err == nil
}

// cutServer parts server.tool; a name without a dot is a tool of no server.
func cutServer(name string) (server, tool string, dotted bool) {
	if server, tool, dotted = strings.Cut(name, "."); !dotted {
		return "", name, false
	}
	return server, tool, true
}

func (c *checker) subagents(at, name string, a Agent) {
	known := c.d.names("agents")
	if i := slices.Index(a.Tools, react.TaskTool); i >= 0 && len(a.Subagents) > 0 {
		c.d.at(fmt.Sprintf("%s/tools/%d", at, i), react.TaskTool+" is the tool that subagents are called by; name yours differently")
	}
	for i, sub := range a.Subagents {
		p := fmt.Sprintf("%s/subagents/%d", at, i)
		switch {
		case c.d.bad[p]:
		case sub == name:
			c.d.at(p, "an agent can't be its own subagent")
		case !slices.Contains(known, sub):
			c.d.at(p, fmt.Sprintf("there is no agent %q", sub)+suggestion(sub, known))
		case slices.Index(a.Subagents, sub) < i:
			c.d.at(p, sub+" is there twice")
		case c.f.Agents[sub].Description == "":
			c.d.atKey(pointer("/agents", sub), fmt.Sprintf("missing: description; %s has it as a subagent, and its model has to know when to ask it", name))
		}
	}
}

// circles finds agents that are subagents of themselves by way of others.
func (c *checker) circles() {
	done := map[string]bool{}
	var visit func(name string, way []string)
	visit = func(name string, way []string) {
		if i := slices.Index(way, name); i >= 0 {
			if len(way)-i > 1 {
				c.d.atKey(pointer("/agents", way[i])+"/subagents", "subagents in a circle: "+strings.Join(append(way[i:], name), " → "))
			}
			return
		}
		if done[name] {
			return
		}
		for _, sub := range c.f.Agents[name].Subagents {
			visit(sub, append(slices.Clone(way), name))
		}
		done[name] = true
	}
	for _, name := range c.d.names("agents") {
		visit(name, nil)
	}
}

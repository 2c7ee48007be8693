package manifest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/tool"
)

// missingKeys says of each agent which keys its models lack; they can only lack some with LateKeys.
func (b *builder) missingKeys() map[string]string {
	missing := map[string]string{}
	for _, name := range b.m.doc.names("agents") {
		if text := b.missingKey(pointer("/agents", name)+"/model", b.m.Agents[name].Model); text != "" {
			missing[name] = text
		}
	}
	return missing
}

// Summarize writes what the agents are: models, tools, and what a person decides on.
func (a *Agents) Summarize(w io.Writer) error {
	var b strings.Builder
	for i, name := range a.names {
		if i > 0 {
			b.WriteByte('\n')
		}
		a.describe(&b, name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a *Agents) describe(b *strings.Builder, name string) {
	said := a.manifest.Agents[name]
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-10s %s\n", label, text)
		}
	}
	b.WriteString(name)
	if said.Internal {
		b.WriteString(" (internal)")
	}
	b.WriteByte('\n')
	line("model", a.modelText(said.Model))
	line("", a.missing[name])
	tools, absent := a.toolsOf(said)
	var names, reviewed []string
	rules := policy(said.Review, tools)
	for _, l := range tools {
		names = append(names, l.name)
		if r, ok := rules[l.tool.Definition().Name]; ok {
			reviewed = append(reviewed, l.name+": "+decisionsText(r.Decisions)+deadlineText(r))
		}
	}
	line("tools", strings.Join(names, ", "))
	line("not seen", strings.Join(absent, ", "))
	for _, entry := range absent {
		reviewed = append(reviewed, a.unseenReview(said.Review, entry)...)
	}
	if len(names) > 0 && len(reviewed) == 0 {
		reviewed = []string{"nothing"}
	}
	for i, text := range reviewed {
		label := ""
		if i == 0 {
			label = "review"
		}
		line(label, text)
	}
	line("subagents", strings.Join(said.Subagents, ", "))
	line("limits", said.Limits.text())
}

// unseenReview is what is known of the review of tools that no server has shown: what the
// file says of them, and of those among them.
func (a *Agents) unseenReview(rules map[string]Review, entry string) []string {
	names := []string{entry}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if name != entry && covers(entry, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		server, _, _ := cutServer(name)
		trust := a.manifest.MCP[server].Trust
		r, said := ruleFor(rules, name)
		switch {
		case said && r.Off:
			names[i] += ": nothing"
		case said || trust != nil && !*trust:
			names[i] += ": " + decisionsText(r.decisions())
		default:
			names[i] += ": as its server says"
		}
	}
	return names
}

// deadlineText says how long a call waits for its reviewer, and what comes then.
func deadlineText(r hitl.Rule) string {
	if r.Deadline <= 0 {
		return ""
	}
	action := r.OnExpiry.Action
	switch r.OnExpiry.Action {
	case "":
		action = agent.ExpireReject
	case agent.ExpireEscalate:
		action += " to " + r.OnExpiry.Role
	}
	return fmt.Sprintf(" (within %s, then %s)", durationText(Duration(r.Deadline)), action)
}

func decisionsText(all []hitl.Decision) string {
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = string(d)
	}
	return strings.Join(texts, ", ")
}

func (a *Agents) modelText(name string) string {
	m := a.manifest.Models[name]
	switch {
	case len(m.Script) > 0:
		return name + " (a script)"
	case m.Model != "":
		return name + " (" + m.Model + ")"
	}
	return name
}

// toolsOf are an agent's tools, and the entries for which no tool is known: their
// server isn't connected.
func (a *Agents) toolsOf(said Agent) (tools []listed, absent []string) {
	var offered []tool.Tool
	for _, name := range a.manifest.doc.names("mcp") {
		if a.servers == nil {
			break
		}
		if s, ok := a.servers.all.Server(name); ok {
			offered = append(offered, s.Tools()...)
		}
	}
	tools = choose(said.Tools, a.own, offered)
	for _, entry := range said.Tools {
		if !slices.ContainsFunc(tools, func(l listed) bool { return covers(entry, l.name) }) {
			absent = append(absent, entry)
		}
	}
	return tools, absent
}

// text is the limits in words.
func (l Limits) text() string {
	var parts []string
	add := func(some bool, format string, v any) {
		if some {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(l.Steps > 0, "%d steps", l.Steps)
	add(l.Tokens > 0, "%d tokens", l.Tokens)
	add(l.Cost > 0, "a cost of %g", l.Cost)
	add(l.WallTime > 0, "%v", durationText(l.WallTime))
	return strings.Join(parts, ", ")
}

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// compile checks the graph and makes its channels.
func (g *Graph) compile() (*Graph, error) {
	c := *g
	c.specs, c.byName = map[string]*channelSpec{}, maps.Clone(g.byName)
	c.nodes, c.edges, c.joins = slices.Clone(g.nodes), slices.Clone(g.edges), slices.Clone(g.joins)
	c.branches = maps.Clone(g.branches)
	for i, n := range c.nodes {
		own := *n
		c.nodes[i], c.byName[n.name] = &own, &own
	}
	if err := c.stateChannels(); err != nil {
		return nil, err
	}
	if err := c.checkEnds(); err != nil {
		return nil, err
	}
	c.routingChannels()
	return &c, c.checkReach()
}

// stateChannels makes the channels of the state keys.
func (g *Graph) stateChannels() error {
	reducers := maps.Clone(g.reducers)
	for _, f := range stateFields(g.stateType) {
		s := &channelSpec{name: f.key, state: true, typ: f.typ}
		if f.typ == listType {
			s.kind = kindMessages
		}
		if err := s.applyTag(f.tag); err != nil {
			return fmt.Errorf("agent: graph %q, state key %q: %w", g.name, f.key, err)
		}
		if r, ok := reducers[f.key]; ok {
			s.kind, s.initial, s.fold = kindReducer, r.initial, r.fold
			delete(reducers, f.key)
		}
		if s.initial != nil && s.fold == nil {
			if err := json.Unmarshal(s.initial, reflect.New(f.typ).Interface()); err != nil {
				return fmt.Errorf("agent: graph %q, state key %q: default: %s", g.name, f.key, typeFault(err))
			}
		}
		if g.specs[f.key] != nil {
			return fmt.Errorf("agent: graph %q has state key %q twice", g.name, f.key)
		}
		g.specs[f.key] = s
		g.keys = append(g.keys, f.key)
		g.order = append(g.order, f.key)
		if !s.notInput {
			g.inputKeys = append(g.inputKeys, f.key)
		}
		if !s.notOutput {
			g.outputKeys = append(g.outputKeys, f.key)
		}
	}
	for key := range reducers {
		return fmt.Errorf("agent: graph %q has a reducer for %q, which is no state key", g.name, key)
	}
	return nil
}

// applyTag reads a field's agent tag.
func (s *channelSpec) applyTag(tag string) error {
	for tag != "" {
		if v, ok := strings.CutPrefix(tag, "default="); ok { // the rest of the tag is JSON
			if !json.Valid([]byte(v)) {
				return fmt.Errorf("default %s is not JSON", v)
			}
			s.initial = json.RawMessage(v)
			return nil
		}
		var word string
		word, tag, _ = strings.Cut(tag, ",")
		switch word {
		case "append":
			s.kind, s.fold, s.initial = kindReducer, concat, json.RawMessage("[]")
		case "nodefault":
			s.initial = nil
		case "untracked":
			s.kind = kindUntracked
		case "ephemeral":
			s.kind = kindEphemeral
		case "any":
			s.kind = kindAnyValue
		case "topic":
			s.kind = kindTopic
		case "accumulate":
			s.accumulate = true
		case "unique":
			s.unique = true
		case "-input":
			s.notInput = true
		case "-output":
			s.notOutput = true
		case "private":
			s.notInput, s.notOutput = true, true
		case "messages":
			s.kind = kindMessages
		default:
			return fmt.Errorf("unknown tag %q", word)
		}
	}
	return nil
}

// routingChannels makes __start__, the trigger channels and barriers, and the nodes' triggers.
func (g *Graph) routingChannels() {
	add := func(s *channelSpec) {
		g.specs[s.name] = s
		g.order = append(g.order, s.name)
	}
	for _, key := range g.sealed {
		if g.specs[sealedPrefix+key] == nil {
			add(&channelSpec{name: sealedPrefix + key, kind: kindSealed})
		}
	}
	add(&channelSpec{name: Start, kind: kindEphemeral})
	add(&channelSpec{name: pregelTasks, kind: kindTopic})
	g.byName[Start] = &node{name: Start, triggers: []string{Start}}
	for _, n := range g.nodes {
		s := &channelSpec{name: branchChannel(n.name), kind: kindEphemeral, several: true}
		if n.deferred {
			s.kind = kindDeferredValue
		}
		add(s)
		n.triggers = append(n.triggers, s.name)
	}
	for _, j := range g.joins {
		s := &channelSpec{name: j.channel(), kind: kindBarrier, names: j.from}
		n := g.byName[j.to]
		if n.deferred {
			s.kind = kindDeferredBarrier
		}
		add(s)
		n.triggers = append(n.triggers, s.name)
	}
}

// checkEnds checks names and the ends of edges.
func (g *Graph) checkEnds() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("agent: graph %q: %w", g.name, fmt.Errorf(format, args...))
	}
	for _, n := range g.nodes {
		switch {
		case n.name == "" || n.name == Start || n.name == End || strings.ContainsAny(n.name, "|:\r\n\x00"): // they end up in the names of streamed events
			return fail("%q can't be a node name", n.name)
		case g.specs[n.name] != nil:
			return fail("%q is a node and a state key", n.name)
		}
		for _, end := range n.ends {
			if end != End && g.byName[end] == nil {
				return fail("node %q declares the unknown end %q", n.name, end)
			}
		}
		if n.onError != "" {
			if g.byName[n.onError] == nil {
				return fail("node %q has the unknown error handler %q", n.name, n.onError)
			}
		}
	}
	from := func(name string) bool { return name == Start || g.byName[name] != nil }
	to := func(name string) bool { return name == End || g.byName[name] != nil }
	for _, e := range g.edges {
		if !from(e.from) || !to(e.to) {
			return fail("edge from %q to %q: unknown node", e.from, e.to)
		}
	}
	for _, j := range g.joins {
		if g.byName[j.to] == nil || len(j.from) == 0 {
			return fail("join to %q: unknown node", j.to)
		}
		for _, f := range j.from {
			if g.byName[f] == nil {
				return fail("join from %q: unknown node", f)
			}
		}
	}
	for name, list := range g.branches {
		if !from(name) {
			return fail("branch from %q: unknown node", name)
		}
		for _, b := range list {
			for _, t := range b.targets {
				if !to(t) {
					return fail("branch from %q to %q: unknown node", name, t)
				}
			}
		}
	}
	for _, name := range append(slices.Clone(g.interruptBefore), g.interruptAfter...) {
		if name != "*" && g.byName[name] == nil {
			return fail("breakpoint at %q: unknown node", name)
		}
	}
	return nil
}

// checkReach checks that every node can be reached. A branch without declared
// targets may lead anywhere.
func (g *Graph) checkReach() error {
	reached := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if reached[name] || name == End {
			return
		}
		reached[name] = true
		for _, e := range g.edges {
			if e.from == name {
				visit(e.to)
			}
		}
		for _, j := range g.joins {
			if slices.Contains(j.from, name) {
				visit(j.to)
			}
		}
		for _, b := range g.branches[name] {
			if len(b.targets) == 0 {
				for _, n := range g.nodes {
					visit(n.name)
				}
			}
			for _, t := range b.targets {
				visit(t)
			}
		}
		if n := g.byName[name]; n != nil {
			for _, end := range n.ends {
				visit(end)
			}
			if n.onError != "" {
				visit(n.onError)
			}
		}
	}
	visit(Start)
	if len(reached) == 1 && len(g.nodes) > 0 {
		return fmt.Errorf("agent: graph %q has no edge from %s", g.name, Start)
	}
	for _, n := range g.nodes {
		if !reached[n.name] {
			return fmt.Errorf("agent: graph %q: node %q is not reachable (UNREACHABLE_NODE)", g.name, n.name)
		}
	}
	return nil
}

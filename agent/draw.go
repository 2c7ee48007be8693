package agent

import (
	"encoding/json"
	"slices"
)

// Drawing is a graph as drawn by clients (GET /assistants/{id}/graph).
type Drawing struct {
	Nodes []DrawnNode `json:"nodes"`
	Edges []DrawnEdge `json:"edges"`
}

// DrawnNode is a node of a Drawing.
type DrawnNode struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"` // schema or runnable
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// DrawnEdge is an edge of a Drawing.
type DrawnEdge struct {
	Source      string `json:"source"`
	Target      string `json:"target"`
	Data        string `json:"data,omitempty"`
	Conditional bool   `json:"conditional"`
}

// Draw returns the drawing (spec/rest-api.md 2.2); subgraphs are expanded xray
// levels deep (-1: all), their nodes named parent:child.
func (g *Graph) Draw(xray int) Drawing {
	schemas := g.Schemas()
	d := Drawing{Nodes: []DrawnNode{{ID: Start, Type: "schema", Data: orNull(schemas.Input)}}}
	// Where edges that enter or leave an expanded node end instead.
	entry, exit := map[string]string{}, map[string]string{}
	var inner []DrawnEdge
	for _, n := range g.nodes {
		if n.child == nil || xray == 0 {
			d.Nodes = append(d.Nodes, drawNode(n))
			continue
		}
		sub := n.child.Draw(xray - 1).within(n.name)
		entry[n.name], exit[n.name] = sub.trim(n.name)
		d.Nodes = append(d.Nodes, sub.Nodes...)
		inner = append(inner, sub.Edges...)
	}
	d.Nodes = append(d.Nodes, DrawnNode{ID: End, Type: "schema", Data: orNull(schemas.Output)})
	for _, e := range g.drawEdges() {
		if to, ok := exit[e.Source]; ok {
			e.Source = to
		}
		if to, ok := entry[e.Target]; ok {
			e.Target = to
		}
		d.Edges = append(d.Edges, e)
	}
	d.Edges = append(d.Edges, inner...)
	return d
}

func drawNode(n *node) DrawnNode {
	id := "RunnableCallable"
	if n.isGraph() {
		id = "CompiledStateGraph"
	}
	data, err := json.Marshal(map[string]any{"id": []string{"langgraph", id}, "name": n.name})
	if err != nil { // strings only
		panic(err)
	}
	metadata := json.RawMessage("{}")
	if len(n.metadata) > 0 {
		if raw, err := json.Marshal(n.metadata); err == nil {
			metadata = raw
		}
	}
	return DrawnNode{ID: n.name, Type: "runnable", Data: data, Metadata: metadata}
}

// drawEdges lists the graph's own edges: static ones, joins, then what branches,
// Commands and error handlers may lead to.
func (g *Graph) drawEdges() []DrawnEdge {
	edges := []DrawnEdge{}
	add := func(e DrawnEdge) {
		if !slices.Contains(edges, e) {
			edges = append(edges, e)
		}
	}
	for _, e := range g.edges {
		add(DrawnEdge{Source: e.from, Target: e.to})
	}
	for _, j := range g.joins {
		for _, from := range j.from {
			add(DrawnEdge{Source: from, Target: j.to})
		}
	}
	sources := append([]string{Start}, nodeNames(g.nodes)...)
	for _, from := range sources {
		for _, b := range g.branches[from] {
			targets := b.targets
			if len(targets) == 0 { // undeclared: it may lead anywhere else
				targets = slices.DeleteFunc(append(nodeNames(g.nodes), End), func(n string) bool { return n == from })
			}
			for _, to := range targets {
				add(DrawnEdge{Source: from, Target: to, Conditional: true})
			}
		}
	}
	for _, n := range g.nodes {
		for _, to := range n.ends {
			add(DrawnEdge{Source: n.name, Target: to, Conditional: true})
		}
		if n.onError != "" {
			add(DrawnEdge{Source: n.name, Target: n.onError, Data: "error", Conditional: true})
		}
	}
	return edges
}

func nodeNames(nodes []*node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.name
	}
	return names
}

// within renames all nodes to parent:name.
func (d Drawing) within(parent string) Drawing {
	for i := range d.Nodes {
		d.Nodes[i].ID = parent + ":" + d.Nodes[i].ID
	}
	for i, e := range d.Edges {
		d.Edges[i].Source, d.Edges[i].Target = parent+":"+e.Source, parent+":"+e.Target
	}
	return d
}

// trim removes the entry and exit of an expanded graph where a single node
// stands behind them, and returns the nodes that edges lead to and come from.
func (d *Drawing) trim(parent string) (entry, exit string) {
	entry, exit = parent+":"+Start, parent+":"+End
	only := func(match, other func(DrawnEdge) string, id string) (string, bool) {
		found, n := DrawnEdge{}, 0
		for _, e := range d.Edges {
			if match(e) == id {
				found, n = e, n+1
			}
		}
		next := other(found)
		if n != 1 || found.Conditional {
			return "", false
		}
		for _, e := range d.Edges {
			if other(e) == next && e != found {
				return "", false
			}
		}
		return next, true
	}
	source := func(e DrawnEdge) string { return e.Source }
	target := func(e DrawnEdge) string { return e.Target }
	first, trimStart := only(source, target, entry)
	last, trimEnd := only(target, source, exit)
	if trimStart && first != exit {
		d.remove(entry)
		entry = first
	}
	if trimEnd && last != parent+":"+Start {
		d.remove(exit)
		exit = last
	}
	return entry, exit
}

func (d *Drawing) remove(id string) {
	d.Nodes = slices.DeleteFunc(d.Nodes, func(n DrawnNode) bool { return n.ID == id })
	d.Edges = slices.DeleteFunc(d.Edges, func(e DrawnEdge) bool { return e.Source == id || e.Target == id })
}

// Subgraphs lists nested graphs by path (node|node), the first level only unless recurse.
func (g *Graph) Subgraphs(recurse bool) (paths []string, graphs map[string]*Graph) {
	graphs = map[string]*Graph{}
	for _, n := range g.nodes {
		if n.child == nil {
			continue
		}
		paths = append(paths, n.name)
		graphs[n.name] = n.child
		if !recurse {
			continue
		}
		inner, children := n.child.Subgraphs(true)
		for _, path := range inner {
			paths = append(paths, joinNS(n.name, path))
			graphs[joinNS(n.name, path)] = children[path]
		}
	}
	return paths, graphs
}

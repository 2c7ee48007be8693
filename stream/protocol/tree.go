package protocol

import (
	"strings"

	"github.com/parley-dev/parley/agent"
)

// TreeNode is one namespace of a run in the reply of agent.getTree
// (spec/streaming-protocol.md 2.3).
type TreeNode struct {
	Namespace []string `json:"namespace"`
	// Status is started, running, completed, failed or interrupted.
	Status    string      `json:"status"`
	GraphName string      `json:"graph_name"`
	Children  []*TreeNode `json:"children,omitempty"`
}

// Tree folds a run's events to the tree of its namespaces.
type Tree struct {
	root  *TreeNode
	nodes map[string]*TreeNode // by namespace
}

// NewTree returns the tree of a run of the graph that has not said anything yet.
func NewTree(graph string) *Tree {
	root := &TreeNode{Namespace: []string{}, Status: "started", GraphName: graph}
	return &Tree{root: root, nodes: map[string]*TreeNode{"": root}}
}

// Root is the tree as it is now.
func (t *Tree) Root() *TreeNode { return t.root }

// Add takes the run's next events.
func (t *Tree) Add(events ...agent.Event) {
	for _, e := range events {
		switch v := e.Payload.(type) {
		case agent.RunStart:
			t.root.Status = "running"
		case agent.RunFinish:
			t.root.Status = terminal(v)
		case agent.NamespaceNote:
			n := t.node(e.NS, v.Name)
			switch {
			case e.Kind == agent.NamespaceStarted:
				n.Status = "running"
			case v.Failed:
				n.Status = "failed"
			default:
				n.Status = "completed"
			}
		}
	}
}

// node finds a namespace's node or makes it, with those above it.
func (t *Tree) node(ns, name string) *TreeNode {
	if n, ok := t.nodes[ns]; ok {
		return n
	}
	above, segment := "", ns
	if i := strings.LastIndexByte(ns, '|'); i >= 0 {
		above, segment = ns[:i], ns[i+1:]
	}
	if name == "" {
		name, _, _ = strings.Cut(segment, ":")
	}
	parent := t.node(above, "")
	n := &TreeNode{Namespace: strings.Split(ns, "|"), Status: "running", GraphName: name}
	parent.Children = append(parent.Children, n)
	t.nodes[ns] = n
	return n
}

// terminal is how the root says that a run has ended: an interrupt and a cancel
// alike are "interrupted" (spec/streaming-protocol.md 3.4).
func terminal(f agent.RunFinish) string {
	switch {
	case f.Status == "error":
		return "failed"
	case f.Status == "interrupted" || f.Suspended:
		return "interrupted"
	}
	return "completed"
}

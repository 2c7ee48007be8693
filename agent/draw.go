package agent

import (
	"encoding/json"
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

// Draw returns the drawing; subgraphs are expanded xray levels deep (-1: all).
func (g *Graph) Draw(xray int) Drawing { panic("unimplemented") }

// Subgraphs lists nested graphs by path (node|node), the first level only unless recurse.
func (g *Graph) Subgraphs(recurse bool) (paths []string, graphs map[string]*Graph) {
	panic("unimplemented")
}

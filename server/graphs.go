package server

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// graph resolves an assistant's graph, compiled with its configuration.
func (s *Server) graph(c echo.Context) (thread.Assistant, *agent.Graph, error) {
	a, err := s.assistant(c, "read", param(c, "assistant_id"))
	if err != nil {
		return a, nil, err
	}
	g, err := s.svc.GraphOf(c.Request().Context(), a)
	return a, g, err
}

// assistantGraph is GET /assistants/{assistant_id}/graph.
func (s *Server) assistantGraph(c echo.Context) error {
	_, g, err := s.graph(c)
	if err != nil {
		return err
	}
	levels := 0
	xray := c.QueryParam("xray")
	if n, err := strconv.Atoi(xray); err == nil {
		levels = max(n, 0)
	} else if truthy(xray) {
		levels = -1
	}
	return writeJSON(c, http.StatusOK, g.Draw(levels))
}

// assistantSchemas is GET /assistants/{assistant_id}/schemas.
func (s *Server) assistantSchemas(c echo.Context) error {
	a, g, err := s.graph(c)
	if err != nil {
		return err
	}
	o := (&object{}).any("graph_id", a.GraphID)
	schemas(o, "_schema", g)
	return writeJSON(c, http.StatusOK, o.done())
}

// schemas appends a graph's schemas, leaving out what can't be derived. The
// context's schema is that of config, too.
func schemas(o *object, suffix string, g *agent.Graph) {
	sc := g.Schemas()
	for _, m := range []struct {
		name   string
		schema json.RawMessage
	}{{"input", sc.Input}, {"output", sc.Output}, {"state", sc.State}, {"config", sc.Context}, {"context", sc.Context}} {
		if m.schema != nil {
			o.raw(m.name+suffix, m.schema)
		}
	}
}

// assistantSubgraphs is GET /assistants/{assistant_id}/subgraphs[/{namespace}].
func (s *Server) assistantSubgraphs(c echo.Context) error {
	_, g, err := s.graph(c)
	if err != nil {
		return err
	}
	namespace := param(c, "namespace")
	paths, graphs := g.Subgraphs(truthy(c.QueryParam("recurse")) || namespace != "")
	out := &object{}
	for _, path := range paths {
		if namespace != "" && path != namespace {
			continue
		}
		one := &object{}
		schemas(one, "", graphs[path])
		out.raw(string(encode(path)[1:len(encode(path))-1]), one.done())
	}
	return writeJSON(c, http.StatusOK, out.done())
}

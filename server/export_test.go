package server

// Route is a method and a path with :parameters.
type Route struct{ Method, Path string }

// Routes lists the built-in routes for tests.
func (s *Server) Routes() []Route {
	var out []Route
	for _, r := range s.routes() {
		out = append(out, Route{r.method, r.path})
	}
	return out
}

// RunCommandLine is Main without its exit.
var RunCommandLine = run

// ServeMCPOver speaks MCP over two streams.
var ServeMCPOver = (*Server).serveMCPOver

package server

import "github.com/alecthomas/kong"

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

// ServeOptions are the options that flags of serve make.
func ServeOptions(o Options, args ...string) (Options, error) {
	var cmd serveCommand
	parser, err := kong.New(&cmd, kong.Vars{
		"host": "", "port": "", "data": "", "sets": "", "grace": "", "drain": "", "live": "", "ready": "",
	})
	if err != nil {
		return o, err
	}
	if _, err := parser.Parse(args); err != nil {
		return o, err
	}
	return cmd.options(&environment{options: o})
}

// Commands lists the commands of the thread protocol that have a class.
func Commands() []string {
	var out []string
	for method := range commandClasses {
		out = append(out, method)
	}
	return out
}

// ClassedRoutes lists the routes that the table of classes has.
func ClassedRoutes() []string {
	var out []string
	for route := range routeClasses {
		out = append(out, route)
	}
	return out
}

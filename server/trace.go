package server

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
)

// traceIDMark stands in Options.TraceURL where a trace's id goes.
const traceIDMark = "{trace_id}"

// traceFlags say where traces are looked at.
type traceFlags struct {
	TraceURL string `name:"trace-url" help:"Where a trace is looked at, with {trace_id} in it; executions link there." env:"PARLEY_TRACE_URL" placeholder:"URL"`
}

// apply takes the flags over.
func (f traceFlags) apply(o *Options) { override(&o.TraceURL, f.TraceURL) }

// checkTraceURL refuses what would make no links.
func checkTraceURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(strings.ReplaceAll(address, traceIDMark, "0"))
	switch {
	case err != nil:
		return fmt.Errorf("server: TraceURL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("server: TraceURL: it must begin with http:// or https://")
	case !strings.Contains(address, traceIDMark):
		return errors.New("server: TraceURL: {trace_id} is missing in it")
	}
	return nil
}

// traceLink is where a trace is looked at; "" without Options.TraceURL.
func (s *Server) traceLink(id string) string {
	return strings.ReplaceAll(s.opts.TraceURL, traceIDMark, id)
}

// traced makes a request a part of the trace that it names, for what is logged about it.
func traced(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if p := c.Request().Header.Get(agent.TraceHeader); p != "" {
			c.SetRequest(c.Request().WithContext(agent.WithTraceParent(c.Request().Context(), p)))
		}
		return next(c)
	}
}

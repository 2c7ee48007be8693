package agent

import (
	"context"
	"log/slog"
	"strings"
)

// TraceHeader is the name under which the place in a distributed trace travels (W3C Trace Context).
const TraceHeader = "traceparent"

type traceKey struct{}

// WithTraceParent returns a context whose run is a part of a trace. traceparent is the value of a request's
// TraceHeader; what isn't one is left out.
func WithTraceParent(ctx context.Context, traceparent string) context.Context {
	p := ParseTraceParent(traceparent)
	if p == "" || p == TraceParent(ctx) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, p)
}

// TraceParent is the place in the trace of the request that started or resumed this run, for the TraceHeader of
// requests that the run makes; "" where there is none. ctx is that of a node, a step or a tool. Models, MCP servers and
// requests of manifests get it by themselves. It is stored with the run: whichever process goes on with it has it.
func TraceParent(ctx context.Context) string {
	p, _ := ctx.Value(traceKey{}).(string)
	return p
}

// TraceID is the id of the trace that a traceparent belongs to; "" for what isn't one.
func TraceID(traceparent string) string {
	if p := ParseTraceParent(traceparent); p != "" {
		return p[3:35]
	}
	return ""
}

// traceparentLength is that of version 00: version, trace id, parent id and flags, in hex, with dashes between them.
const traceparentLength = 55

// ParseTraceParent checks a traceparent; "" for what isn't one. Of versions to come, which may be longer, it keeps what
// is known (W3C Trace Context 4.3).
func ParseTraceParent(s string) string {
	if len(s) < traceparentLength || strings.HasPrefix(s, "ff") || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return ""
	}
	if later := len(s) > traceparentLength; later && (strings.HasPrefix(s, "00") || s[traceparentLength] != '-') {
		return ""
	}
	known := s[:traceparentLength]
	for i, r := range []byte(known) {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') && i != 2 && i != 35 && i != 52 {
			return ""
		}
	}
	if strings.Trim(known[3:35], "0") == "" || strings.Trim(known[36:52], "0") == "" {
		return ""
	}
	return "00" + known[2:]
}

// TracedLogs returns a handler that adds trace_id to what is logged with a context that belongs to a trace.
func TracedLogs(next slog.Handler) slog.Handler {
	if _, already := next.(tracedLogs); already {
		return next
	}
	return tracedLogs{next}
}

type tracedLogs struct{ slog.Handler }

// Handle implements slog.Handler.
func (h tracedLogs) Handle(ctx context.Context, r slog.Record) error {
	if id := TraceID(TraceParent(ctx)); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h tracedLogs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLogs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h tracedLogs) WithGroup(name string) slog.Handler { return tracedLogs{h.Handler.WithGroup(name)} }

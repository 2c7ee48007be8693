package server

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// streamModes are the modes that a run can be streamed in.
var streamModes = []string{
	"values", "updates", "messages", "messages-tuple", "events", "tasks", "checkpoints", "debug", "custom", "tools",
}

// runFields reads the body that all run-creating endpoints share (spec/rest-api.md 2.4).
func runFields(f *fields) (thread.StartRun, error) {
	r := thread.StartRun{
		AssistantID: f.str("assistant_id"),
		Input:       f.values["input"], HasInput: f.has("input"),
		Command: f.object("command"), Metadata: f.metadata(), Config: f.object("config"), Context: f.raw("context"),
		StreamMode: modes(f, "stream_mode"), StreamSubgraphs: f.boolean("stream_subgraphs"), StreamResumable: f.boolean("stream_resumable"),
		InterruptBefore: breakpoints(f, "interrupt_before"), InterruptAfter: breakpoints(f, "interrupt_after"),
		MultitaskStrategy: f.enum("multitask_strategy", "reject", "reject", "interrupt", "rollback", "enqueue"),
		OnDisconnect:      f.enum("on_disconnect", "continue", "cancel", "continue"),
		CreateThread:      f.enum("if_not_exists", "reject", "reject", "create") == "create",
		AfterSeconds:      f.number("after_seconds", 0), Webhook: webhook(f), FeedbackKeys: f.strings("feedback_keys"),
		OnCompletion: "delete", Durability: durability(f),
	}
	if f.str("on_completion") == "keep" { // other values are ignored
		r.OnCompletion = "keep"
	}
	r.CheckpointID, r.CheckpointNS = startAt(f)
	r.Langsmith = tracer(f)
	checkConfig(f)
	return r, f.err()
}

// startAt finds the checkpoint to start from; the later wins:
// config.configurable.checkpoint_id, checkpoint_id, checkpoint (spec/rest-api.md 3.5).
func startAt(f *fields) (id, ns string) {
	if raw := f.object("config"); raw != nil {
		if config, ok := newFields(raw, f.at("config")...); ok {
			if inner := config.object("configurable"); inner != nil {
				configurable, _ := newFields(inner, config.at("configurable")...)
				id = configurable.uuid("checkpoint_id")
				f.issues = append(f.issues, configurable.issues...)
			}
		}
	}
	if given := f.uuid("checkpoint_id"); given != "" {
		id = given
	}
	if at, in := checkpoint(f, "checkpoint"); at != "" {
		id, ns = at, in
	}
	return id, ns
}

// checkConfig notes what would be misread later.
func checkConfig(f *fields) {
	raw := f.object("config")
	if raw == nil {
		return
	}
	config, _ := newFields(raw, f.at("config")...)
	config.strings("tags")
	config.object("configurable")
	config.integer("recursion_limit", 1, 1, 1<<31-1)
	config.integer("max_concurrency", 0, 0, 1<<31-1)
	f.issues = append(f.issues, config.issues...)
}

// modes reads stream modes: one, or a list; an empty list is the default.
func modes(f *fields, key string) []string {
	list := f.oneOrMany(key)
	for i, m := range list {
		if !slices.Contains(streamModes, m) {
			f.issues = append(f.issues, issue{
				Code: "invalid_enum_value", Path: f.at(key, i), Received: m,
				Message: "Invalid enum value. Expected '" + strings.Join(streamModes, "' | '") + "', received '" + m + "'",
			})
		}
	}
	if len(list) == 0 {
		return []string{"values"}
	}
	return list
}

// breakpoints reads "*" or node names.
func breakpoints(f *fields, key string) json.RawMessage {
	raw := f.raw(key)
	switch kindOf(raw) {
	case "":
		return nil
	case "string":
		if f.str(key) == "*" {
			return raw
		}
	}
	return encode(orEmpty(f.oneOrMany(key)))
}

// durability reads durability, or the older checkpoint_during.
func durability(f *fields) string {
	def := "async"
	if f.raw("checkpoint_during") != nil && !f.boolean("checkpoint_during") {
		def = "exit"
	}
	return f.enum("durability", def, "sync", "async", "exit")
}

// webhook reads where to report the end of the run: a URL, or a path of this server.
func webhook(f *fields) string {
	s := f.str("webhook")
	if s == "" || strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") {
		return s
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		f.fault("webhook", "Invalid url")
	}
	return s
}

// tracer reads where a tracing graph is to report to.
func tracer(f *fields) thread.LangsmithTracer {
	raw := f.object("langsmith_tracer")
	if raw == nil {
		return thread.LangsmithTracer{}
	}
	t, _ := newFields(raw, f.at("langsmith_tracer")...)
	out := thread.LangsmithTracer{ProjectName: t.str("project_name"), ExampleID: t.str("example_id")}
	f.issues = append(f.issues, t.issues...)
	return out
}

// fromRequest adds what the request says beside its body: headers, user and key.
func (s *Server) fromRequest(c echo.Context, r *thread.StartRun) {
	h := c.Request().Header
	r.CustomHeaders = customHeaders(h, s.opts.CustomHeaders)
	r.IdempotencyKey = h.Get("Idempotency-Key")
	r.Headers = configurableHeaders(h, s.opts.CustomHeaders)
	r.Principal = principal(c)
	r.TraceParent = agent.ParseTraceParent(h.Get(agent.TraceHeader))
	r.Config = withoutUser(r.Config)
	if u := knownUser(c); u != nil {
		r.AuthUser = encode(u)
	}
}

// notCopied are x- headers that stay out of configurable: they hold secrets.
var notCopied = []string{"x-api-key", "x-tenant-id", "x-service-key"}

// configurableHeaders are the headers that go into the run's configurable (spec/rest-api.md 1.7).
// Custom headers are kept out: what is configurable is stored.
func configurableHeaders(h map[string][]string, prefixes []string) map[string]string {
	var out map[string]string
	for name, values := range h {
		lower := strings.ToLower(name)
		if lower != "user-agent" && (!strings.HasPrefix(lower, "x-") || slices.Contains(notCopied, lower)) {
			continue
		}
		if _, custom := customName(lower, prefixes); custom {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[lower] = strings.Join(values, ", ")
	}
	return out
}

// withoutUser takes out of a client's config what only the server may say: who the user is.
func withoutUser(config json.RawMessage) json.RawMessage {
	f, ok := newFields(config)
	if !ok {
		return config
	}
	inner, ok := newFields(f.values["configurable"])
	if !ok {
		return config
	}
	known := len(inner.values)
	for k := range inner.values { // decoded: its text may be escaped
		if strings.HasPrefix(k, "langgraph_auth_") {
			delete(inner.values, k)
		}
	}
	if len(inner.values) == known {
		return config
	}
	f.values["configurable"] = encode(inner.values)
	return encode(f.values)
}

// snakeCase renames the camelCase options of a batch, as one client sends them.
func snakeCase(f *fields) {
	for camel, snake := range map[string]string{
		"assistantId": "assistant_id", "streamMode": "stream_mode", "streamSubgraphs": "stream_subgraphs",
		"streamResumable": "stream_resumable", "interruptBefore": "interrupt_before", "interruptAfter": "interrupt_after",
		"checkpointId": "checkpoint_id", "checkpointDuring": "checkpoint_during", "multitaskStrategy": "multitask_strategy",
		"onCompletion": "on_completion", "onDisconnect": "on_disconnect", "afterSeconds": "after_seconds",
		"ifNotExists": "if_not_exists", "feedbackKeys": "feedback_keys", "langsmithTracer": "langsmith_tracer",
	} {
		if v, ok := f.values[camel]; ok && !f.has(snake) {
			f.values[snake] = v
		}
	}
}

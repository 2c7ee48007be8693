package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// messagesKey is the state key of conversations.
const messagesKey = "messages"

// describer is an agent that says what it is for.
type describer interface{ Description() string }

// agentTool describes an agent as a tool. One whose state has messages takes a message,
// any other one the input of its graph.
func (s *Server) agentTool(r *http.Request, name string) (*mcp.Tool, error) {
	a, ok := s.svc.Agent(name)
	if !ok {
		return nil, &thread.NotFoundError{Kind: "graph", ID: name}
	}
	var cfg agent.Config
	if d, ok := s.opts.GraphDefaults[name]; ok {
		cfg.Context = d.Context
	}
	g, err := a.Graph(r.Context(), cfg)
	if err != nil {
		return nil, err
	}
	properties := map[string]any{
		"thread_id": map[string]any{"type": "string", "format": "uuid", "description": "The conversation to go on with, from an earlier result. Leave it out to begin one."},
	}
	required, what := "message", "Send it a message; it answers with its last words."
	if input := g.Schemas().Input; conversational(input) {
		properties["message"] = map[string]any{"type": "string", "description": "What to say to the agent."}
	} else {
		required, what = "input", "Give it its input; it answers with its state."
		properties["input"] = rawOr(input, `{"type":"object"}`)
	}
	description := "The agent " + name + ". " + what
	if d, ok := a.(describer); ok && d.Description() != "" {
		description = d.Description()
	}
	return &mcp.Tool{
		Name: toolName(name), Title: name, Description: description, OutputSchema: json.RawMessage(runSchema),
		InputSchema: map[string]any{
			"type": "object", "required": []string{required}, "properties": properties, "additionalProperties": false,
		},
	}, nil
}

// conversational reports whether a graph's input has messages.
func conversational(input json.RawMessage) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(input, &schema) == nil && schema.Properties[messagesKey] != nil
}

// toolName is an agent's name in the characters that hosts and models accept.
func toolName(agent string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, agent)
}

// callAgent starts a run of an agent and waits for its end.
func (s *Server) callAgent(c *mcpCall) (*mcp.CallToolResult, error) {
	f, err := objectOf(rawOr(c.req.Params.Arguments, "{}"))
	if err != nil {
		return nil, err
	}
	r := mcpRun(c.agent)
	r.HasInput = true
	switch {
	case f.has("input"):
		r.Input = f.object("input")
	default:
		f.require("message")
		r.Input = encode(map[string]any{messagesKey: []any{map[string]string{"role": "user", "content": f.str("message")}}})
	}
	threadID := f.uuid("thread_id")
	if err := f.err(); err != nil {
		return nil, err
	}
	if threadID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		threadID, r.CreateThread = id.String(), true
	} else if waits, err := s.waiting(c.echo, threadID); err != nil {
		return nil, err
	} else if waits { // a new message would drop the question
		if err := s.allowThread(c.echo, "read", threadID); err != nil {
			return nil, err
		}
		return nil, &textError{http.StatusConflict, "The thread waits for an answer: use the tool resume."}
	}
	return s.runMCP(c, threadID, r)
}

// mcpRun is a run for MCP.
func mcpRun(assistant string) thread.StartRun {
	return thread.StartRun{
		AssistantID: assistant, Metadata: thread.Metadata{"source": encode("mcp")}, MetadataToThread: true,
		StreamMode: []string{"values", "messages-tuple"}, StreamResumable: true,
		MultitaskStrategy: "reject", OnDisconnect: "continue", OnCompletion: "keep", Durability: "async",
	}
}

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

// Tool is a tool of an MCP server. It stays usable when the connection is made
// again, and while the server has forgotten the tool: then calls fail.
type Tool struct {
	server     *Server
	remote     string // the server's name of it
	listed     []byte // what the server said of it
	definition model.Tool
	known      tool.Annotations
	plain      tool.Tool // calls that nothing is asked during
}

var (
	_ tool.Tool      = (*Tool)(nil)
	_ tool.Annotated = (*Tool)(nil)
)

// newTool makes a tool of what a server lists. Errors: a schema that can't be used.
func newTool(s *Server, listed *sdk.Tool) (*Tool, error) {
	raw, err := json.Marshal(listed)
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(listed)
	if err != nil {
		return nil, err
	}
	t := &Tool{server: s, remote: listed.Name, listed: raw, definition: model.Tool{
		Name: s.cfg.ToolName(listed.Name), Description: listed.Description, Schema: schema,
	}}
	if !s.cfg.IgnoreAnnotations {
		t.known = annotationsOf(listed)
	} else {
		t.known.Title = annotationsOf(listed).Title
	}
	opts := []tool.Option{tool.Annotate(t.known)}
	if t.repeatable() {
		opts = append(opts, tool.AtLeastOnce())
	}
	t.plain = tool.Raw(t.definition.Name, t.definition.Description, schema, t.call, opts...)
	return t, nil
}

// schemaOf is the schema of a tool's arguments; one that takes nothing gets an object's.
func schemaOf(listed *sdk.Tool) (json.RawMessage, error) {
	raw, err := json.Marshal(listed.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("schema: not an object: %s", raw)
	}
	if len(object) == 0 {
		raw = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if _, err := agent.NewChecker(raw); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return raw, nil
}

func annotationsOf(listed *sdk.Tool) tool.Annotations {
	a := tool.Annotations{Title: listed.Title}
	h := listed.Annotations
	if h == nil {
		return a
	}
	if a.Title == "" {
		a.Title = h.Title
	}
	a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld = h.ReadOnlyHint, h.DestructiveHint, h.IdempotentHint, h.OpenWorldHint
	return a
}

// Definition implements tool.Tool.
func (t *Tool) Definition() model.Tool { return t.definition }

// Annotations implements tool.Annotated: what the server says of the tool, unless it
// isn't to be believed (ServerConfig.IgnoreAnnotations).
func (t *Tool) Annotations() tool.Annotations { return t.known }

// Ref is the tool's name in configurations: server.tool, with the server's own name of it.
func (t *Tool) Ref() string { return t.server.cfg.Name + "." + t.remote }

// Server is the name of the tool's server.
func (t *Tool) Server() string { return t.server.cfg.Name }

// Call implements tool.Tool.
func (t *Tool) Call(ctx tool.Context) (any, error) {
	if t.server.cfg.Elicit {
		return t.converse(ctx)
	}
	return t.plain.Call(ctx)
}

// call is one call during which nothing is asked.
func (t *Tool) call(ctx tool.CallContext, args json.RawMessage) (any, error) {
	res, err := t.server.call(ctx, t, &sdk.CallToolParams{Name: t.remote, Arguments: args}, func(p Progress) { ctx.Progress(p) })
	if err != nil {
		return nil, err
	}
	if res.NeedsInput() {
		return nil, fmt.Errorf("%s wants to ask the user, which isn't allowed here; it did not go on", t.Ref())
	}
	return resultOf(res, t.server.cfg.MaxText)
}

// repeatable reports whether a call whose outcome is unknown may be made again.
func (t *Tool) repeatable() bool { return t.known.ReadOnly || t.known.Idempotent }

func (t *Tool) ifRepeatable(worthwhile bool) verdict {
	if worthwhile && t.repeatable() {
		return harmless
	}
	return final
}

// same reports whether both tools are the same as listed.
func (t *Tool) same(other *Tool) bool { return bytes.Equal(t.listed, other.listed) }

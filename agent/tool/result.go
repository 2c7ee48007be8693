package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Result is a tool's result in two parts.
type Result struct {
	// Content is what the model reads: a string, Blocks, or anything that has a JSON form.
	Content any
	// Artifact is kept beside it in the tool message, for clients: anything that has a JSON form; nil for none.
	Artifact any
	// Failed marks the message as an error, as MCP servers do with results that tell of one.
	Failed bool
}

// Artifact is a result whose content the model reads and whose artifact only clients get.
func Artifact(content, artifact any) Result { return Result{Content: content, Artifact: artifact} }

// Blocks are content blocks (text, image, …), for results that aren't text alone. Each
// must have the JSON form of a content block.
type Blocks []any

// Answer is a Command that answers a call with a text and writes further state
// keys, in order. It says nothing of success (spec/conformance-frontends.md 4.1).
func Answer(call message.ToolCall, text string, more ...agent.Write) *agent.Command {
	m := message.NewTool(call.ID, call.Name, text)
	return &agent.Command{Update: append(slices.Clone(more), agent.Write{
		Channel: messagesKey, Value: message.New(m).AppendJSON(nil),
	})}
}

// contentOf is a result as the content of a message.
func contentOf(result any) (json.RawMessage, error) {
	switch r := result.(type) {
	case string:
		return message.TextContent(r), nil
	case Blocks:
		if len(r) == 0 {
			return message.TextContent(""), nil
		}
		return encode([]any(r))
	}
	raw, err := encode(result)
	if err != nil {
		return nil, fmt.Errorf("encode its result: %w", err)
	}
	if v := reflect.ValueOf(result); v.Kind() == reflect.String && raw[0] == '"' {
		return raw, nil // of a type made of string
	}
	return message.TextContent(string(raw)), nil
}

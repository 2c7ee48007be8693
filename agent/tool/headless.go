package tool

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model"
)

// clientCall is what a headless tool asks; clients know it by its type (spec/streaming-protocol.md 5.3).
type clientCall struct {
	Type     string   `json:"type"` // tool
	ToolCall toolCall `json:"toolCall"`
}

type toolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Headless returns a tool that has no implementation here: the client carries the
// call out and answers with its result. A is the struct of its arguments, as in New.
func Headless[A any](name, description string, opts ...Option) Tool {
	return &function{
		definition: model.Tool{Name: name, Description: description, Schema: SchemaOf[A]()},
		options:    newOptions(opts),
		call: func(ctx Context) (any, error) {
			call := ctx.ToolCall()
			answer, err := agent.Interrupt[json.RawMessage](ctx, clientCall{
				Type: "tool", ToolCall: toolCall{ID: call.ID, Name: call.Name, Args: call.Args},
			})
			if err != nil {
				return nil, err
			}
			var text string
			if json.Unmarshal(answer, &text) == nil && len(answer) > 0 && answer[0] == '"' {
				return text, nil
			}
			return answer, nil
		},
	}
}

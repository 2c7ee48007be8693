package react_test

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// Rows is what the model fills in to read a table.
type Rows struct {
	Table string `json:"table"`
	Limit int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=100"`
}

// readTable returns a text for the model and the rows for the frontend.
func readTable(_ tool.CallContext, r Rows) (tool.Result, error) {
	rows := []map[string]int{{"id": 1}, {"id": 2}}
	return tool.Artifact("There are 2 rows.", rows), nil
}

// tail shows each line while the tool runs; the model gets all of them in the end.
func tail(_ tool.CallContext, r Rows) (iter.Seq[string], error) {
	return slices.Values([]string{"first line\n", "second line\n"}), nil
}

// draw returns content blocks.
func draw(_ tool.CallContext, r Rows) (tool.Blocks, error) {
	return tool.Blocks{map[string]string{"type": "image", "url": "https://example.com/chart.png"}}, nil
}

var tableTools = []tool.Tool{
	tool.Func("read_table", "Reads a table.", readTable, tool.AtLeastOnce(), tool.Annotate(tool.Annotations{ReadOnly: true})),
	tool.Func("tail", "Reads the end of a log.", tail),
	tool.Func("draw", "Draws a chart for the user.", draw, tool.ReturnDirect()),
	tool.Raw("query", "Runs a query.", json.RawMessage(`{"type":"object","properties":{"sql":{"type":"string"}}}`),
		func(_ tool.CallContext, args json.RawMessage) (any, error) { return args, nil }),
	tool.New("archive", "Archives a table.", archive),
}

// archive is a durable tool: it asks a person itself, and what it does in steps is done once.
func archive(ctx tool.Context, r Rows) (any, error) {
	copied, err := agent.Step(ctx, "copy", func(agent.StepContext) (int, error) { return 2, nil })
	if err != nil {
		return nil, err
	}
	sure, err := agent.Interrupt[bool](ctx, map[string]any{"question": "Delete the original, too?", "copied": copied})
	if err != nil {
		return nil, err // suspended: the tool runs again from its start, and the copy isn't made again
	}
	if !sure {
		return "Copied, and kept.", nil
	}
	_, err = agent.Step(ctx, "delete", func(agent.StepContext) (bool, error) { return true, nil }, agent.AtMostOnce())
	return "Moved.", err
}

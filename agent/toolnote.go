package agent

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent/message"
)

// ToolCallStarted reports a tool call; ToolCallOutput, ToolCallFinished and ToolCallFailed report what becomes of it.
func ToolCallStarted(ctx Context, callID, name string, args json.RawMessage) {
	ctx.task().tool(ToolStarted, ToolNote{CallID: callID, Name: name, Input: string(args)})
}

// ToolCallOutput reports a piece of output; what can't be encoded is shown as text.
func ToolCallOutput(ctx Context, callID, name string, delta any) {
	raw, err := encode(delta)
	if err != nil {
		raw = appendString(nil, fmt.Sprint(delta))
	}
	ctx.task().tool(ToolOutput, ToolNote{CallID: callID, Name: name, Delta: raw})
}

// ToolCallFinished reports the result.
func ToolCallFinished(ctx Context, callID, name string, result message.Message) {
	ctx.task().tool(ToolFinished, ToolNote{CallID: callID, Name: name, Output: result.AppendJSON(nil)})
}

// ToolCallFailed reports a failure. A call that waits for a person hasn't failed: report nothing.
func ToolCallFailed(ctx Context, callID, name string, err error) {
	ctx.task().tool(ToolFailed, ToolNote{CallID: callID, Name: name, Error: err.Error()})
}

func (c *taskContext) tool(k Kind, note ToolNote) {
	if !c.planned.node.hidden() {
		c.emit(k, note)
	}
}

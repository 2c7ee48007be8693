package agent

import (
	"encoding/json"
	"github.com/parley-dev/parley/agent/message"
)

// ToolCallStarted, ToolCallOutput, ToolCallFinished and ToolCallFailed report a tool call's lifecycle.
func ToolCallStarted(ctx Context, callID, name string, args json.RawMessage) { panic("unimplemented") }

// ToolCallOutput reports a piece of output.
func ToolCallOutput(ctx Context, callID, name string, delta any) { panic("unimplemented") }

// ToolCallFinished reports the result.
func ToolCallFinished(ctx Context, callID, name string, result message.Message) {
	panic("unimplemented")
}

// ToolCallFailed reports a failure.
func ToolCallFailed(ctx Context, callID, name string, err error) { panic("unimplemented") }

package agent

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent/message"
)

// textBlock is a text or reasoning block.
func textBlock(kind, text string) json.RawMessage {
	return message.AppendTextBlock(make([]byte, 0, len(text)+40), kind, text, "")
}

// callChunkBlock is the block of a tool call whose arguments are still to come.
func callChunkBlock(id, name string, index int) json.RawMessage {
	b := appendString([]byte(`{"type":"tool_call_chunk","id":`), id)
	b = appendString(append(b, `,"name":`...), name)
	return append(strconv.AppendInt(append(b, `,"args":"","index":`...), int64(index), 10), '}')
}

// callBlock is the block of a finished tool call; one whose arguments are no
// object is invalid.
func callBlock(id, name, args string) json.RawMessage {
	kind, value := "tool_call", bytes.TrimSpace([]byte(args))
	if len(value) == 0 {
		value = []byte("{}")
	}
	if value[0] != '{' || !json.Valid(value) {
		kind, value = "invalid_tool_call", appendString(nil, args)
	}
	b := appendString([]byte(`{"type":"`+kind+`","id":`), id)
	b = appendString(append(b, `,"name":`...), name)
	return append(append(append(b, `,"args":`...), value...), '}')
}

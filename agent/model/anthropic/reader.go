package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/internal/prompt"
	"github.com/parley-dev/parley/agent/model/internal/wire"
)

// reader makes chunks of the stream's events.
type reader struct {
	names *prompt.Names
	began bool // the answer itself
	ended bool // by message_stop

	id, model string
	stop      string
	sequence  string
	input     tokens
	output    int64
	thinking  int64
	calls     []*pending
	signature string // of the open thinking block
}

// tokens of the input, which the API counts apart.
type tokens struct{ fresh, cacheRead, cacheCreation int64 }

// pending is a tool call that grows.
type pending struct {
	block int64
	whole json.RawMessage // arguments that came at once
	began bool            // pieces came
	ended bool
}

// read makes a chunk of an event; none of one that says nothing. Events of
// unknown types are passed over, as the API asks for.
func (r *reader) read(e *sdk.MessageStreamEventUnion) (chunk message.Chunk, some bool, err error) {
	switch e.Type {
	case "message_start":
		r.id, r.model = e.Message.ID, e.Message.Model
		u := e.Message.Usage
		r.input, r.output = tokens{u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens}, u.OutputTokens
	case "content_block_start":
		r.began = true
		return r.open(e)
	case "content_block_delta":
		return r.grow(e)
	case "content_block_stop":
		return r.close(e)
	case "message_delta":
		r.stop, r.sequence = string(e.Delta.StopReason), e.Delta.StopSequence
		u := e.Usage // in total, as far as it is given
		r.output = max(r.output, u.OutputTokens)
		r.thinking = max(r.thinking, u.OutputTokensDetails.ThinkingTokens)
		r.input = tokens{max(r.input.fresh, u.InputTokens), max(r.input.cacheRead, u.CacheReadInputTokens), max(r.input.cacheCreation, u.CacheCreationInputTokens)}
	case "message_stop":
		r.ended = true
	}
	return chunk, false, nil
}

// open begins a content block.
func (r *reader) open(e *sdk.MessageStreamEventUnion) (chunk message.Chunk, some bool, err error) {
	b := e.ContentBlock
	switch b.Type {
	case "text":
		chunk.Text = b.Text
	case "thinking":
		chunk.Reasoning, r.signature = b.Thinking, b.Signature
	case "redacted_thinking":
		chunk.Block, err = json.Marshal(map[string]any{
			"type": "non_standard", "value": map[string]string{"type": b.Type, "data": b.Data},
		})
		if err != nil {
			return chunk, false, err
		}
	case "tool_use":
		c := &pending{block: e.Index}
		if raw := b.JSON.Input.Raw(); raw != "" && raw != "{}" && raw != "null" {
			c.whole = json.RawMessage(raw)
		}
		r.calls = append(r.calls, c)
		chunk.ToolCalls = []message.ToolCallChunk{{Index: len(r.calls) - 1, ID: b.ID, Name: r.names.Own(b.Name)}}
	}
	return chunk, chunk.Text != "" || chunk.Reasoning != "" || chunk.Block != nil || chunk.ToolCalls != nil, nil
}

// grow is the next piece of a block.
func (r *reader) grow(e *sdk.MessageStreamEventUnion) (chunk message.Chunk, some bool, err error) {
	d := e.Delta
	switch d.Type {
	case "text_delta":
		chunk.Text = d.Text
	case "thinking_delta":
		chunk.Reasoning = d.Thinking
	case "signature_delta":
		r.signature += d.Signature
	case "input_json_delta":
		i := r.call(e.Index)
		if i < 0 {
			return chunk, false, nil // of a block that isn't ours, a server's tool
		}
		r.calls[i].began = r.calls[i].began || d.PartialJSON != ""
		if d.PartialJSON != "" {
			chunk.ToolCalls = []message.ToolCallChunk{{Index: i, Args: d.PartialJSON}}
		}
	}
	return chunk, chunk.Text != "" || chunk.Reasoning != "" || chunk.ToolCalls != nil, nil
}

// close ends a block: now its signature counts, and arguments that came at once.
func (r *reader) close(e *sdk.MessageStreamEventUnion) (chunk message.Chunk, some bool, err error) {
	if r.signature != "" {
		chunk.Signature, r.signature = r.signature, ""
		return chunk, true, nil
	}
	i := r.call(e.Index)
	if i < 0 || r.calls[i].ended {
		return chunk, false, nil
	}
	c := r.calls[i]
	c.ended = true
	if c.began || c.whole == nil {
		return chunk, false, nil
	}
	chunk.ToolCalls = []message.ToolCallChunk{{Index: i, Args: string(c.whole)}}
	return chunk, true, nil
}

// call is the place of the call in a content block, −1 for none.
func (r *reader) call(block int64) int {
	for i, c := range r.calls {
		if c.block == block {
			return i
		}
	}
	return -1
}

// finish makes the last chunk.
func (r *reader) finish() (message.Chunk, error) {
	if !r.ended || r.stop == "" {
		return message.Chunk{}, wire.Broken("it ended in mid-message")
	}
	metadata := map[string]any{"model_provider": provider, "stop_reason": r.stop}
	for key, value := range map[string]string{"id": r.id, "model_name": r.model, "stop_sequence": r.sequence} {
		if value != "" {
			metadata[key] = value
		}
	}
	chunk := message.Chunk{FinishReason: r.finishReason(), Usage: r.usage()}
	var err error
	chunk.ResponseMetadata, err = json.Marshal(metadata)
	return chunk, err
}

func (r *reader) finishReason() string {
	switch sdk.StopReason(r.stop) {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return "length"
	case sdk.StopReasonToolUse:
		return "tool_use"
	case sdk.StopReasonRefusal:
		return "content_filter"
	}
	return "stop"
}

// usage in LangChain's terms: the input with what the cache had of it.
func (r *reader) usage() *message.Usage {
	in := r.input.fresh + r.input.cacheRead + r.input.cacheCreation
	u := &message.Usage{InputTokens: int(in), OutputTokens: int(r.output), TotalTokens: int(in + r.output)}
	if r.input.cacheRead+r.input.cacheCreation > 0 {
		u.InputTokenDetails = counts(map[string]int64{"cache_read": r.input.cacheRead, "cache_creation": r.input.cacheCreation})
	}
	if r.thinking > 0 {
		u.OutputTokenDetails = counts(map[string]int64{"reasoning": r.thinking})
	}
	return u
}

// counts is a JSON object of numbers.
func counts(all map[string]int64) json.RawMessage {
	raw, err := json.Marshal(all)
	if err != nil { // numbers always marshal
		panic(err)
	}
	return raw
}

package openai

import (
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"
	sdk "github.com/sashabaranov/go-openai"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/prompt"
	"github.com/parley-dev/parley/agent/model/internal/wire"
)

// extrasKey is where a message keeps what the server attached to its tool calls,
// by call id, in additional_kwargs.
const extrasKey = "tool_call_extra_content"

// reader makes chunks of frames.
type reader struct {
	provider string
	names    *prompt.Names
	last     frame // the newest value of each key
	reason   string
	said     bool // anything at all
	refusal  bool
	calls    []*pending
	extras   map[string]json.RawMessage
}

// pending is a tool call that grows.
type pending struct {
	index    int // the server's
	id, name string
	args     string
}

// read makes a chunk of a frame; none of one that says nothing.
func (r *reader) read(f *frame) (chunk message.Chunk, some bool) {
	r.remember(f)
	for _, c := range f.Choices {
		if c.Index != 0 {
			continue // never asked for
		}
		if c.FinishReason != "" {
			r.reason = c.FinishReason
		}
		d := c.Delta
		if d == nil {
			d = c.Message
		}
		if d == nil {
			continue
		}
		chunk.Text = d.Content.text
		chunk.Reasoning = d.ReasoningContent.text
		if chunk.Reasoning == "" {
			chunk.Reasoning = d.Reasoning.text
		}
		if chunk.Reasoning == "" {
			chunk.Reasoning = d.Content.thinking
		}
		if d.Refusal != "" {
			r.refusal = true
			chunk.Text += d.Refusal
		}
		for i := range d.ToolCalls {
			chunk.ToolCalls = append(chunk.ToolCalls, r.call(&d.ToolCalls[i]))
		}
	}
	some = chunk.Text != "" || chunk.Reasoning != "" || len(chunk.ToolCalls) > 0
	r.said = r.said || some
	return chunk, some
}

// remember keeps what the last chunk will tell. Usage may come more than once, growing.
func (r *reader) remember(f *frame) {
	if f.ID != "" {
		r.last.ID = f.ID
	}
	if f.Model != "" {
		r.last.Model = f.Model
	}
	if f.SystemFingerprint != "" {
		r.last.SystemFingerprint = f.SystemFingerprint
	}
	if f.ServiceTier != "" {
		r.last.ServiceTier = f.ServiceTier
	}
	if f.Usage != nil {
		r.last.Usage = f.Usage
	}
}

// call finds the call that a piece belongs to. Servers differ: some repeat id and
// name with each piece, some leave the index out or give all calls the same,
// some send no ids.
func (r *reader) call(piece *toolCall) message.ToolCallChunk {
	var c *pending
	position := 0
	for i, known := range r.calls {
		if piece.Index == nil || known.index == *piece.Index {
			c, position = known, i
		}
	}
	if c != nil && c.another(piece) {
		c = nil
	}
	out := message.ToolCallChunk{Index: position, Args: string(piece.Function.Arguments)}
	if c == nil {
		c = &pending{id: piece.ID}
		if piece.Index != nil {
			c.index = *piece.Index
		}
		if c.id == "" {
			id := uuid.New()
			c.id = "call_" + hex.EncodeToString(id[:12])
		}
		out.Index, out.ID = len(r.calls), c.id
		r.calls = append(r.calls, c)
	}
	if piece.Function.Name != "" && c.name == "" {
		c.name = piece.Function.Name
		out.Name = r.names.Own(c.name)
	}
	c.args += out.Args
	if len(piece.Extra) > 0 {
		if r.extras == nil {
			r.extras = map[string]json.RawMessage{}
		}
		r.extras[c.id] = piece.Extra
	}
	return out
}

// another reports that a piece with the index of a call starts a new one.
func (c *pending) another(piece *toolCall) bool {
	if piece.ID != "" {
		return piece.ID != c.id
	}
	return piece.Function.Name != "" && c.name != "" && json.Valid([]byte(c.args))
}

// finish makes the last chunk. done says that the server declared itself done.
func (r *reader) finish(done bool) (message.Chunk, error) {
	switch {
	case r.reason == "error", r.reason == "insufficient_system_resource":
		return message.Chunk{}, &model.Error{Status: 503, Code: r.reason, Message: "the server gave up in mid-answer"}
	case r.reason == "" && !(done && r.said):
		return message.Chunk{}, wire.Broken("it ended without a finish_reason")
	}
	metadata := map[string]any{"model_provider": r.provider}
	for key, value := range map[string]string{
		"id": r.last.ID, "model_name": r.last.Model, "finish_reason": r.reason,
		"system_fingerprint": r.last.SystemFingerprint, "service_tier": r.last.ServiceTier,
	} {
		if value != "" {
			metadata[key] = value
		}
	}
	chunk := message.Chunk{FinishReason: r.finishReason(), Usage: usage(r.last.Usage)}
	var err error
	if chunk.ResponseMetadata, err = json.Marshal(metadata); err != nil {
		return message.Chunk{}, err
	}
	if len(r.extras) > 0 {
		if chunk.AdditionalKwargs, err = json.Marshal(map[string]any{extrasKey: r.extras}); err != nil {
			return message.Chunk{}, err
		}
	}
	return chunk, nil
}

func (r *reader) finishReason() string {
	switch r.reason {
	case "length", "max_tokens", "model_length":
		return "length"
	case "content_filter", "safety", "recitation", "SAFETY", "RECITATION":
		return "content_filter"
	}
	switch {
	case r.refusal:
		return "content_filter"
	case len(r.calls) > 0: // some servers say stop
		return "tool_use"
	}
	return "stop"
}

// usage in LangChain's terms.
func usage(u *sdk.Usage) *message.Usage {
	if u == nil {
		return nil
	}
	out := &message.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	if out.TotalTokens == 0 {
		out.TotalTokens = out.InputTokens + out.OutputTokens
	}
	if d := u.PromptTokensDetails; d != nil {
		out.InputTokenDetails = counts(map[string]int{"audio": d.AudioTokens, "cache_read": d.CachedTokens})
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.OutputTokenDetails = counts(map[string]int{"audio": d.AudioTokens, "reasoning": d.ReasoningTokens})
	}
	return out
}

// counts is a JSON object of the counts above 0; nil without any.
func counts(all map[string]int) json.RawMessage {
	for name, n := range all {
		if n == 0 {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	raw, err := json.Marshal(all)
	if err != nil { // numbers always marshal
		panic(err)
	}
	return raw
}

// keptExtras are the extras of a message's calls, by call id.
func keptExtras(m message.Message) map[string]json.RawMessage {
	var kwargs struct {
		Extras map[string]json.RawMessage `json:"tool_call_extra_content"`
	}
	if len(m.AdditionalKwargs) == 0 || json.Unmarshal(m.AdditionalKwargs, &kwargs) != nil {
		return nil
	}
	return kwargs.Extras
}

package message

import (
	"encoding/json"
	"slices"
)

// Accumulator puts the chunks of one streamed ai message together
// (spec/runtime.md 4.4). The zero value is ready. It is not safe for concurrent use.
type Accumulator struct {
	// ID and Name of the message; an empty ID is taken from the first chunk that has one.
	ID   string
	Name string

	blocks   []*block
	calls    []*call
	usage    *Usage
	reason   string
	kwargs   json.RawMessage
	metadata json.RawMessage
}

// block is a content block in the making: text grows for the kinds text and
// reasoning, raw is any other block. A signed block grows no more.
type block struct {
	kind      string
	text      []byte
	signature string
	raw       json.RawMessage
}

// call is a tool call in the making.
type call struct {
	index    int
	id, name string
	args     []byte
}

// Reset forgets all chunks; ID and Name stay. For a second attempt of the same call.
func (a *Accumulator) Reset() { *a = Accumulator{ID: a.ID, Name: a.Name} }

// Add merges the next chunk.
func (a *Accumulator) Add(c Chunk) {
	if a.ID == "" {
		a.ID = c.ID
	}
	if c.Reasoning != "" {
		a.grow("reasoning", c.Reasoning)
	}
	if c.Signature != "" {
		a.grow("reasoning", "")
		a.blocks[len(a.blocks)-1].signature = c.Signature
	}
	if c.Text != "" {
		a.grow("text", c.Text)
	}
	if len(c.Block) > 0 {
		a.addBlock(c.Block)
	}
	for _, piece := range c.ToolCalls {
		a.addCall(piece)
	}
	a.usage = a.usage.plus(c.Usage)
	if c.FinishReason != "" {
		a.reason = c.FinishReason
	}
	if len(c.AdditionalKwargs) > 0 {
		a.kwargs = mergeObjects(a.kwargs, c.AdditionalKwargs, concatStrings)
	}
	if len(c.ResponseMetadata) > 0 {
		a.metadata = mergeObjects(a.metadata, c.ResponseMetadata, replaceStrings)
	}
}

// grow appends to the last block, or to a new one if that is of another kind.
func (a *Accumulator) grow(kind, text string) {
	if n := len(a.blocks); n == 0 || a.blocks[n-1].kind != kind || a.blocks[n-1].signature != "" {
		a.blocks = append(a.blocks, &block{kind: kind})
	}
	last := a.blocks[len(a.blocks)-1]
	last.text = append(last.text, text...)
}

// addBlock appends a whole block, or merges it with the one of the same index.
func (a *Accumulator) addBlock(raw json.RawMessage) {
	if index := field(raw, "index"); index != nil {
		for _, b := range a.blocks {
			if b.raw != nil && string(field(b.raw, "index")) == string(index) {
				b.raw = mergeObjects(b.raw, raw, concatStrings)
				return
			}
		}
	}
	a.blocks = append(a.blocks, &block{raw: raw})
}

// addCall merges a piece into the newest call of its index; a piece with another id starts a call.
func (a *Accumulator) addCall(piece ToolCallChunk) {
	var c *call
	for _, known := range slices.Backward(a.calls) {
		if known.index == piece.Index {
			if piece.ID == "" || known.id == "" || piece.ID == known.id {
				c = known
			}
			break
		}
	}
	if c == nil {
		c = &call{index: piece.Index}
		a.calls = append(a.calls, c)
	}
	if piece.ID != "" {
		c.id = piece.ID
	}
	if piece.Name != "" {
		c.name = piece.Name
	}
	c.args = append(c.args, piece.Args...)
}

// FinishReason is the last reason a chunk gave, "" so far.
func (a *Accumulator) FinishReason() string { return a.reason }

// Usage is the sum of the chunks' usage; nil so far.
func (a *Accumulator) Usage() *Usage { return a.usage }

// Message returns the message so far: of a tool call's unfinished arguments what can be read.
func (a *Accumulator) Message() Message {
	m := a.message()
	for _, c := range a.calls {
		m.ToolCalls = append(m.ToolCalls, NewToolCall(c.id, c.name, partialObject(string(c.args))))
	}
	return m
}

// Finish returns the finished message. A tool call whose arguments aren't a
// JSON object becomes an invalid one: half an argument must not reach a tool.
func (a *Accumulator) Finish() Message {
	m := a.message()
	for _, c := range a.calls {
		args := json.RawMessage(`{}`)
		var err error
		if len(c.args) > 0 {
			args, err = compact(c.args)
		}
		switch {
		case err != nil:
			m.InvalidToolCalls = append(m.InvalidToolCalls, c.invalid("Malformed args: "+err.Error()))
		case !isObject(args):
			m.InvalidToolCalls = append(m.InvalidToolCalls, c.invalid("Malformed args: not an object."))
		default:
			m.ToolCalls = append(m.ToolCalls, NewToolCall(c.id, c.name, args))
		}
	}
	return m
}

func (c *call) invalid(reason string) InvalidToolCall {
	return InvalidToolCall{ID: c.id, Name: c.name, Args: string(c.args), Error: reason, Type: "invalid_tool_call"}
}

// message returns all but the tool calls.
func (a *Accumulator) message() Message {
	return Message{
		Type: AI, ID: a.ID, Name: a.Name, Content: a.content(),
		AdditionalKwargs: a.kwargs, ResponseMetadata: a.metadata, UsageMetadata: a.usage.plus(nil),
	}
}

// content is a string while there is only text, else a list of blocks.
func (a *Accumulator) content() json.RawMessage {
	if len(a.blocks) == 0 {
		return json.RawMessage(`""`)
	}
	if len(a.blocks) == 1 && a.blocks[0].kind == "text" {
		return TextContent(string(a.blocks[0].text))
	}
	content := []byte{'['}
	for i, b := range a.blocks {
		if i > 0 {
			content = append(content, ',')
		}
		if b.raw != nil {
			content = append(content, b.raw...)
			continue
		}
		content = AppendTextBlock(content, b.kind, string(b.text), b.signature)
	}
	return append(content, ']')
}

// AppendTextBlock appends a content block of the kind text or reasoning, the
// latter with its signature, if it has one (see Chunk.Signature).
func AppendTextBlock(dst []byte, kind, text, signature string) []byte {
	dst = append(dst, `{"type":"`+kind+`","`+kind+`":`...)
	dst = appendString(dst, text)
	if signature != "" {
		dst = append(dst, `,"extras":{"signature":`...)
		dst = append(appendString(dst, signature), '}')
	}
	return append(dst, '}')
}

// plus adds usage up; nil is none. The result shares nothing with u.
func (u *Usage) plus(v *Usage) *Usage {
	if u == nil && v == nil {
		return nil
	}
	if u == nil {
		u = &Usage{}
	}
	if v == nil {
		v = &Usage{}
	}
	return &Usage{
		InputTokens:        u.InputTokens + v.InputTokens,
		OutputTokens:       u.OutputTokens + v.OutputTokens,
		TotalTokens:        u.TotalTokens + v.TotalTokens,
		InputTokenDetails:  addCounts(u.InputTokenDetails, v.InputTokenDetails),
		OutputTokenDetails: addCounts(u.OutputTokenDetails, v.OutputTokenDetails),
	}
}

// addCounts adds two objects of numbers up, key by key.
func addCounts(a, b json.RawMessage) json.RawMessage {
	if len(a) == 0 || len(b) == 0 {
		return append(append(json.RawMessage(nil), a...), b...)
	}
	var x, y map[string]int
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	for k, n := range y {
		x[k] += n
	}
	sum, err := json.Marshal(x)
	if err != nil { // a map of numbers always marshals
		panic(err)
	}
	return sum
}

// field returns the value of one key of an object; nil when it is absent or null.
func field(raw json.RawMessage, key string) (value json.RawMessage) {
	_ = eachField(raw, func(k string, v json.RawMessage) error {
		if k == key && !isNull(v) {
			value = v
		}
		return nil
	})
	return value
}

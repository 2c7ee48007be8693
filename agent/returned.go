package agent

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent/message"
)

// returnedMessages makes the events of messages that a node returned whole: those that
// weren't streamed, nor in its input, nor sent before (spec/streaming-protocol.md
// 3.9, spec/rest-api.md 4.4). A bare text is no message yet: values show what
// becomes of it.
func (c *taskContext) returnedMessages(writes []write) []Event {
	if c.planned.node.hidden() || c.planned.node.isGraph() { // the nodes of a nested graph have sent theirs
		return nil
	}
	var events []Event
	var given func(id string) bool
	for _, w := range writes {
		if spec := c.loop.g.specs[w.Channel]; spec == nil || spec.kind != kindMessages {
			continue
		}
		messages, err := message.CoerceList(w.Value)
		if err != nil { // an Overwrite; the values show it
			continue
		}
		newID := newMessageIDs(w.taskID, w.Channel, w.nth)
		for i, m := range messages {
			text := m.Type == message.Human && m.ID == "" && isText(w.Value, i)
			if m.ID == "" {
				m.ID = newID()
			}
			if m.Type == message.Remove || text {
				continue
			}
			if given == nil {
				given = c.givenMessages()
			}
			if !given(m.ID) && c.loop.r.speak(m.ID) {
				events = append(events, c.wholeMessage(m)...)
			}
		}
	}
	if len(events) > 0 {
		c.loop.r.begin(c.planned.ns)
	}
	return events
}

// wholeMessage makes the events of one message.
func (c *taskContext) wholeMessage(m message.Message) []Event {
	var events []Event
	add := func(k Kind, payload any) {
		events = append(events, Event{Kind: k, At: c.loop.r.now(), NS: c.planned.ns, Payload: payload})
	}
	meta := c.metaOf(m.ID)
	add(MessageWhole, MessageSnapshot{Message: m.AppendJSON(nil), Meta: meta})
	if m.Type != message.AI {
		return events
	}
	add(MessageStarted, MessageStart{ID: m.ID, CallID: c.nextID("call"), Type: m.Type, Name: m.Name, Meta: meta})
	index := 0
	block := func(start, whole json.RawMessage, delta *Delta) {
		add(BlockStarted, BlockStart{ID: m.ID, Index: index, Block: start})
		if delta != nil {
			delta.ID, delta.Index = m.ID, index
			add(BlockDelta, *delta)
		}
		add(BlockFinished, BlockFinish{ID: m.ID, Index: index, Block: whole})
		index++
	}
	inContent := map[string]bool{} // tool calls that are content blocks
	for _, raw := range contentBlocks(m.Content) {
		var b struct{ Type, ID, Text, Reasoning string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			block(textBlock("text", ""), raw, &Delta{Type: "text", Text: b.Text})
		case "reasoning":
			block(textBlock("reasoning", ""), raw, &Delta{Type: "reasoning", Text: b.Reasoning})
		default:
			inContent[b.ID] = b.Type == "tool_call"
			block(raw, raw, nil)
		}
	}
	for i, call := range m.ToolCalls {
		if call.ID != "" && inContent[call.ID] {
			continue
		}
		block(callChunkBlock(call.ID, call.Name, i), callBlock(call.ID, call.Name, string(orObject(call.Args))), nil)
	}
	add(MessageFinished, MessageFinish{ID: m.ID, Usage: m.UsageMetadata, Message: m.AppendJSON(nil)})
	return events
}

// isText reports whether the i-th value returned to a messages channel is a bare text.
func isText(returned json.RawMessage, i int) bool {
	values := elements(returned)
	return i < len(values) && len(values[i]) > 0 && values[i][0] == '"'
}

// contentBlocks returns a message's content as blocks; an empty text has none.
func contentBlocks(content json.RawMessage) []json.RawMessage {
	if isArray(content) {
		blocks := elements(content)
		for i, b := range blocks {
			if len(b) > 0 && b[0] == '"' {
				var text string
				if json.Unmarshal(b, &text) == nil {
					blocks[i] = textBlock("text", text)
				}
			}
		}
		return blocks
	}
	var text string
	if json.Unmarshal(content, &text) != nil || text == "" {
		return nil
	}
	return []json.RawMessage{textBlock("text", text)}
}

// givenMessages tells which messages were in the task's input.
func (c *taskContext) givenMessages() func(id string) bool {
	in := c.loop.inputFor(c.planned)
	if in.raw == nil {
		lists := in.state.Messages()
		return func(id string) bool {
			for _, l := range lists {
				if _, ok := l.Find(id); ok {
					return true
				}
			}
			return false
		}
	}
	ids := map[string]bool{}
	var input any
	if json.Unmarshal(in.raw, &input) == nil {
		collectIDs(input, ids, 0)
	}
	return func(id string) bool { return ids[id] }
}

// collectIDs finds the ids of messages in the input of a Send: a message, a list of
// them, or an object with such values.
func collectIDs(v any, ids map[string]bool, depth int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collectIDs(e, ids, depth+1)
		}
	case map[string]any:
		if id, ok := v["id"].(string); ok && v["type"] != nil {
			ids[id] = true
			return
		}
		if depth == 0 {
			for _, e := range v {
				collectIDs(e, ids, depth+1)
			}
		}
	}
}

package react

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/parley-dev/parley/agent/message"
)

// Unanswered is what the model is told of a call that has no answer in the conversation.
const Unanswered = "Error: this call was not carried out, and has no result."

// Acceptable is a conversation as every provider of models takes it: each tool call has an id
// of its own and exactly one answer, right behind its message and in the order of the calls
// (D-46). A call without an answer gets one that says so, of several answers the first
// counts, and an answer that belongs to no call is left out, as are messages that
// say nothing. A call whose arguments weren't JSON stands with empty ones. The
// conversation itself, if there is nothing to mend.
func Acceptable(conversation message.List) message.List {
	h := history{ids: map[string]bool{}, used: map[int]bool{}}
	for _, m := range conversation.All() {
		h.in = append(h.in, m)
	}
	for i, m := range h.in {
		switch m.Type {
		case message.Tool:
			// placed with its call
		case message.Remove:
			h.changed = true
		case message.AI:
			h.spoken(i, m)
		default:
			h.place(i, m)
		}
	}
	if !h.changed && len(h.out) == len(h.in) {
		return conversation
	}
	return message.New(h.out...)
}

// history is a conversation that is put in order.
type history struct {
	in, out []message.Message
	// ids are those of calls so far; used the tool messages of in that answer one.
	ids     map[string]bool
	used    map[int]bool
	changed bool
}

// place puts message i of the conversation next.
func (h *history) place(i int, m message.Message) {
	h.changed = h.changed || i != len(h.out)
	h.out = append(h.out, m)
}

// spoken places an AI message and the answers to its calls.
func (h *history) spoken(i int, m message.Message) {
	calls := slices.Clone(m.ToolCalls)
	for _, bad := range m.InvalidToolCalls {
		calls = append(calls, message.NewToolCall(bad.ID, bad.Name, json.RawMessage("{}")))
		h.changed = true
	}
	if len(calls) == 0 {
		if !silent(m) {
			h.place(i, m)
		} else {
			h.changed = true
		}
		return
	}
	asked := make([]string, len(calls)) // ids as they are in the conversation
	renamed := false
	for n := range calls {
		asked[n] = calls[n].ID
		calls[n].ID = h.ownID(asked[n])
		renamed = renamed || calls[n].ID != asked[n]
	}
	if renamed {
		h.changed = true
		m.Content = withoutCalls(m.Content)
	}
	m.ToolCalls, m.InvalidToolCalls = calls, nil
	h.place(i, m)
	for n, call := range calls {
		at := h.answer(i, asked[n])
		if at < 0 {
			missing := message.NewTool(call.ID, call.Name, Unanswered)
			missing.Status = "error"
			h.out, h.changed = append(h.out, missing), true
			continue
		}
		h.used[at] = true
		answer := h.in[at]
		answer.ToolCallID = call.ID
		h.place(at, answer)
	}
}

// ownID is an id for a call that no call before it has.
func (h *history) ownID(id string) string {
	own := id
	for n := 2; own == "" || h.ids[own]; n++ {
		if own = id + "_" + strconv.Itoa(n); id == "" {
			own = "call_" + strconv.Itoa(len(h.ids)+n)
		}
	}
	h.ids[own] = true
	return own
}

// answer finds the message that answers a call of message i: the first one behind it, before
// another message makes a call of that id. -1 if there is none.
func (h *history) answer(i int, callID string) int {
	for at := i + 1; at < len(h.in); at++ {
		m := h.in[at]
		switch {
		case m.Type == message.Tool && m.ToolCallID == callID && !h.used[at]:
			return at
		case m.Type == message.AI && slices.ContainsFunc(m.ToolCalls, func(c message.ToolCall) bool { return c.ID == callID }):
			return -1
		}
	}
	return -1
}

// silent tells whether a message has no content at all.
func silent(m message.Message) bool {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text == ""
	}
	var blocks []json.RawMessage
	return json.Unmarshal(m.Content, &blocks) == nil && len(blocks) == 0
}

// withoutCalls leaves out the content blocks that repeat the tool calls, under their old ids.
func withoutCalls(content json.RawMessage) json.RawMessage {
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return content
	}
	kept := slices.DeleteFunc(blocks, func(raw json.RawMessage) bool {
		var b struct {
			Type string `json:"type"`
		}
		return json.Unmarshal(raw, &b) == nil && slices.Contains([]string{"tool_call", "tool_call_chunk", "tool_use", "function_call"}, b.Type)
	})
	raw, err := json.Marshal(kept)
	if err != nil { // they were JSON
		panic(err)
	}
	return raw
}

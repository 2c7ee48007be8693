package hitl

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid" // ids of tool messages, as the runtime makes its own

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// answerOf is the tool message of a call that doesn't run; false for one that does.
func answerOf(r Record) (message.Message, bool) {
	var m message.Message
	switch r.Decision {
	case Reject:
		m = message.NewTool(r.CallID, r.Name, rejection(r))
		m.Status = "error"
	case Expired:
		m = message.NewTool(r.CallID, r.Name, expiration(r))
		m.Status = "error"
	case Respond:
		m = message.NewTool(r.CallID, r.Name, r.Message)
		m.Status = "success"
	default:
		return m, false
	}
	m.ID = answerID(r.MessageID, r.CallID)
	return m, true
}

// rejection tells the model that the tool did not run, and not to try again unasked (spec/runtime.md 6.7).
func rejection(r Record) string {
	text := fmt.Sprintf("The user rejected the tool call for `%s` with id %s. The tool was not executed.", r.Name, r.CallID)
	if r.Message != "" {
		return text + " Reason: " + string(quoted(r.Message)) + ". Do not make this call again unless the user asks for it."
	}
	return text + " Do not make this call again unless the user asks for it."
}

// answerID is the id of the message that answers a call, the same as package react gives to results:
// whatever answers a call takes the place of another answer (D-46).
func answerID(messageID, callID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, quotedList("answer", messageID, callID)).String()
}

// notice says what ran instead of the model's call; "" for nothing.
func (g *Gate) notice(r Record) string {
	switch {
	case r.Edited == nil:
		return ""
	case g.config.EditNoticeFunc != nil:
		return g.config.EditNoticeFunc(Action{r.Name, r.Args}, *r.Edited)
	case g.config.EditNotice != nil:
		return *g.config.EditNotice
	}
	return fmt.Sprintf("Note: a reviewer edited this call before it ran. Executed instead: `%s` with the arguments %s.", r.Edited.Name, r.Edited.Args)
}

// completed gives the answer to a call in an update the id that answers of the call have, and
// puts a notice before it.
func completed(update agent.Update, r Record, notice string) (agent.Update, error) {
	var err error
	switch u := update.(type) {
	case agent.Values:
		v, ok := u[messagesKey]
		if !ok {
			return u, nil
		}
		out := agent.Values{}
		for k, v := range u {
			out[k] = v
		}
		raw, err := encode(v)
		if err != nil {
			return nil, err
		}
		out[messagesKey], err = completedMessages(raw, r, notice)
		return out, err
	case *agent.Command:
		out := *u
		out.Update = slices.Clone(u.Update)
		for i, w := range out.Update {
			if w.Channel == messagesKey {
				if out.Update[i].Value, err = completedMessages(w.Value, r, notice); err != nil {
					return nil, err
				}
			}
		}
		return &out, nil
	case agent.Updates:
		out := slices.Clone(u)
		for i := range out {
			if out[i], err = completed(out[i], r, notice); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return update, nil
}

func completedMessages(raw json.RawMessage, r Record, notice string) (json.RawMessage, error) {
	messages, err := message.CoerceList(raw)
	if err != nil {
		return raw, nil //nolint:nilerr // no list of messages: the channel will say so, or take it
	}
	found := false
	for i := range messages {
		m := &messages[i]
		if m.Type != message.Tool || m.ToolCallID != r.CallID {
			continue
		}
		found = true
		if r.MessageID != "" {
			m.ID = answerID(r.MessageID, r.CallID)
		}
		if notice != "" {
			m.Content = before(m.Content, notice)
		}
	}
	if !found {
		return raw, nil
	}
	return encode(messages)
}

// before puts a text before content, a string or a list of blocks.
func before(content json.RawMessage, text string) json.RawMessage {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return message.TextContent(text + "\n\n" + plain)
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return content
	}
	block := json.RawMessage(`{"type":"text","text":` + string(quoted(text)) + `}`)
	raw, err := encode(append([]json.RawMessage{block}, blocks...))
	if err != nil { // they were JSON
		panic(err)
	}
	return raw
}

// answerIn finds the message that answers a call in an update; false if there is none.
func answerIn(update agent.Update, callID string) (message.Message, bool) {
	var lists []json.RawMessage
	switch u := update.(type) {
	case agent.Values:
		if raw, err := encode(u[messagesKey]); err == nil {
			lists = append(lists, raw)
		}
	case *agent.Command:
		for _, w := range u.Update {
			if w.Channel == messagesKey {
				lists = append(lists, w.Value)
			}
		}
	case agent.Updates:
		for _, part := range u {
			if m, ok := answerIn(part, callID); ok {
				return m, true
			}
		}
	}
	for _, raw := range lists {
		messages, err := message.CoerceList(raw)
		if err != nil {
			continue
		}
		for _, m := range messages {
			if m.Type == message.Tool && m.ToolCallID == callID {
				return m, true
			}
		}
	}
	return message.Message{}, false
}

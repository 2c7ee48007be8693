package prompt

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent/message"
)

// unanswered is what the model is told of a call that has no result.
const unanswered = "This call has no result: it was not carried out, or was broken off."

// History returns the messages in an order that every provider accepts: behind
// an ai message with tool calls come their results, each exactly once. A call
// without a result gets one that says so (a run that was cancelled between the
// two must not block its thread); results without a call are left out.
//
// Malformed calls are calls too, with {} for arguments, if something answers them.
func History(list message.List) []message.Message {
	in := make([]message.Message, 0, list.Len())
	for _, m := range list.All() {
		in = append(in, m)
	}
	out := make([]message.Message, 0, len(in))
	for i, m := range in {
		switch m.Type {
		case message.Tool, message.Remove: // tools: with their call
		case message.AI:
			results := resultsOf(m, in[i+1:])
			for _, bad := range m.InvalidToolCalls {
				if _, ok := results[bad.ID]; ok && !has(m.ToolCalls, bad.ID) {
					m.ToolCalls = append(m.ToolCalls[:len(m.ToolCalls):len(m.ToolCalls)], message.NewToolCall(bad.ID, bad.Name, json.RawMessage(`{}`)))
				}
			}
			out = append(out, m)
			for _, c := range m.ToolCalls {
				result, ok := results[c.ID]
				if !ok {
					result = message.NewTool(c.ID, c.Name, unanswered)
					result.Status = "error"
				}
				out = append(out, result)
			}
		default:
			out = append(out, m)
		}
	}
	return out
}

// resultsOf finds the results of a message's calls behind it, up to where one of
// the ids is used anew. Of several results of a call the last one counts.
func resultsOf(m message.Message, rest []message.Message) map[string]message.Message {
	if len(m.ToolCalls)+len(m.InvalidToolCalls) == 0 {
		return nil
	}
	open := map[string]bool{}
	for _, c := range m.ToolCalls {
		open[c.ID] = true
	}
	for _, c := range m.InvalidToolCalls {
		open[c.ID] = true
	}
	results := map[string]message.Message{}
	for _, next := range rest {
		if next.Type != message.Tool && len(results) == len(open) {
			break
		}
		switch next.Type {
		case message.Tool:
			if open[next.ToolCallID] {
				results[next.ToolCallID] = next
			}
		case message.AI:
			for _, c := range next.ToolCalls {
				delete(open, c.ID)
			}
			for _, c := range next.InvalidToolCalls {
				delete(open, c.ID)
			}
		}
	}
	return results
}

func has(calls []message.ToolCall, id string) bool {
	for _, c := range calls {
		if c.ID == id {
			return true
		}
	}
	return false
}

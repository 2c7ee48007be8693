package hitl

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Action is a tool with its arguments, a JSON object.
type Action struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Exempt is the decision in the Record of a call that the rule's When let pass unasked. No reviewer can take it.
const Exempt Decision = "exempt"

// Record is what was decided about a call, as the agent's state keeps it where no caller
// reaches it: the approval. That the tool then ran is recorded apart, in the thread's
// journal and by Executed.
type Record struct {
	CallID string `json:"call_id"`
	// MessageID is the id of the AI message that makes the call.
	MessageID string `json:"message_id"`
	// Name and Args are what the reviewer was shown, or, where that was no JSON, what the reviewer
	// made of it; Digest is theirs.
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Digest string          `json:"digest"`
	// Decision is what was decided, by the answer to the interrupt InterruptID.
	Decision    Decision `json:"decision"`
	InterruptID string   `json:"interrupt_id,omitempty"`
	// Edited is what runs instead (Edit).
	Edited *Action `json:"edited,omitempty"`
	// Message is the reviewer's (Reject, Respond) or the rule's (Expired, Respond at a deadline); "" for none.
	Message string `json:"message,omitempty"`
	// Executed is set once the call has run; an approval is good for one execution.
	Executed bool `json:"executed,omitempty"`
}

// Records are the decisions that a checkpoint of a thread holds, those about its newest
// tool calls, in the order of the call ids.
func Records(cp *agent.Checkpoint, threadID string) ([]Record, error) {
	held, err := agent.SealedIn[map[string]Record](cp, threadID, channel)
	return slices.SortedFunc(maps.Values(held), func(a, b Record) int { return strings.Compare(a.CallID, b.CallID) }), err
}

// key names a call among the records.
func (r Record) key() string { return callKey(r.CallID, r.Digest) }

func callKey(id, digest string) string {
	if id == "" {
		return "#" + digest
	}
	return id
}

// origin is the origin of the execution that the record allows: one for each approval,
// whichever tasks come by with it.
func (r Record) origin(threadID string) string {
	return "hitl/" + Digest(threadID, quotedList(r.InterruptID, r.CallID, r.Digest))
}

// runs is the call that the record lets run.
func (r Record) runs() message.ToolCall {
	if r.Edited != nil {
		return message.NewToolCall(r.CallID, r.Edited.Name, r.Edited.Args)
	}
	return message.NewToolCall(r.CallID, r.Name, r.Args)
}

// sealed is the update that keeps records and forgets those of other messages.
func sealed(held map[string]Record, keep ...Record) agent.Update {
	entries := map[string]any{}
	for k, old := range held {
		if len(keep) == 0 || old.MessageID != keep[0].MessageID {
			entries[k] = nil
		}
	}
	for _, r := range keep {
		entries[r.key()] = r
	}
	if len(entries) == 0 {
		return nil
	}
	return agent.Seal(channel, entries)
}

func quotedList(texts ...string) json.RawMessage {
	raw, err := encode(texts)
	if err != nil { // strings always encode
		panic(err)
	}
	return raw
}

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// sealedPrefix starts the names of sealed channels; no state key and no routing channel has it.
const sealedPrefix = "__sealed:"

// Sealed gives a graph a channel that only its nodes can write, with Seal, during
// a run: no input, Command, goto or state update reaches it (decisions 14). It is no
// state key: no schema, state, update or stream shows it. What it holds belongs to
// one thread and one line of its history: it is empty in a copy of the thread, after a
// fork or replay, after an update or input on a checkpoint that is named by its id, and when a nested
// graph is visited anew. Read it with ReadSealed.
func Sealed(key string) GraphOption {
	return func(g *Graph) { g.sealed = append(g.sealed, key) }
}

// Seal is an Update of a sealed channel: the entries are merged into it by their
// names, one whose value is nil (or null) is removed. Return it from a node, beside others in Updates.
func Seal(key string, entries map[string]any) Update {
	return sealedUpdate{key: key, entries: entries}
}

// sealedUpdate is a type of its own, so that nothing a client sends can become one.
type sealedUpdate struct {
	key     string
	entries map[string]any
}

func (sealedUpdate) isUpdate() {}

// ReadSealed returns the entries of a sealed channel, decoded as T, a map or a struct, as they
// were in the checkpoint that started the task: also in a task that was reached by a Send, whose
// input a client may have made up. T's zero value if there are none.
func ReadSealed[T any](ctx Context, key string) (T, error) {
	var out T
	c := ctx.task()
	if c.loop == nil {
		return out, fmt.Errorf("agent: sealed channel %q can't be read outside of a run", key)
	}
	if spec := c.loop.g.specs[sealedPrefix+key]; spec == nil {
		return out, fmt.Errorf("agent: graph %q has no sealed channel %q", c.loop.g.name, key)
	}
	return SealedIn[T](c.loop.cp, c.exec.ThreadID, key)
}

// SealedIn is ReadSealed for a checkpoint of a thread, for those who look at it from outside of a run.
func SealedIn[T any](cp *Checkpoint, threadID, key string) (T, error) {
	var out T
	held := decodeSealed(cp.Channels[sealedPrefix+key].Value)
	if held.Thread != threadID || len(held.Entries) == 0 {
		return out, nil
	}
	raw, err := encode(held.Entries)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return out, fmt.Errorf("agent: sealed channel %q: %w", key, err)
	}
	return out, nil
}

// sealedState is what a sealed channel holds, and what is written to it.
type sealedState struct {
	// Thread is the thread that it was written in: copies of a thread copy its checkpoints as they are.
	Thread  string                     `json:"thread"`
	Entries map[string]json.RawMessage `json:"entries"`
}

func decodeSealed(v *Value) sealedState {
	var s sealedState
	if v == nil || json.Unmarshal(v.JSON, &s) != nil {
		return sealedState{}
	}
	return s
}

// updateSealed merges writes by key; an empty channel has no value.
func updateSealed(old *Value, writes []write) (*Value, error) {
	s := decodeSealed(old)
	for _, w := range writes {
		u := decodeSealed(&Value{JSON: w.Value})
		if u.Thread != s.Thread {
			s = sealedState{Thread: u.Thread}
		}
		entries := maps.Clone(s.Entries)
		if entries == nil {
			entries = map[string]json.RawMessage{}
		}
		for k, v := range u.Entries {
			if isNull(v) {
				delete(entries, k)
			} else {
				entries[k] = v
			}
		}
		s.Entries = entries
	}
	if len(s.Entries) == 0 {
		return nil, nil
	}
	raw, err := encode(s)
	if err != nil {
		return nil, err
	}
	return &Value{JSON: raw}, nil
}

// seal adds the write of a sealed channel; thread is empty where only clients speak.
func (w *updateWriter) seal(u sealedUpdate) error {
	if w.thread == "" {
		return &InvalidUpdateError{Message: fmt.Sprintf("sealed channel %q can be written by a node only", u.key)}
	}
	if w.g.specs[sealedPrefix+u.key] == nil {
		return &InvalidUpdateError{Message: fmt.Sprintf("graph %q has no sealed channel %q", w.g.name, u.key)}
	}
	s := sealedState{Thread: w.thread, Entries: map[string]json.RawMessage{}}
	for k, v := range u.entries {
		raw, err := encode(v)
		if err != nil {
			return &InvalidUpdateError{Message: fmt.Sprintf("entry %q of sealed channel %q: %v", k, u.key, err)}
		}
		s.Entries[k] = raw
	}
	raw, err := encode(s)
	if err != nil {
		return err
	}
	w.writes = append(w.writes, Write{Channel: sealedPrefix + u.key, Value: raw})
	return nil
}

// unseal empties all sealed channels: a new branch of the history begins.
func (c *channels) unseal() {
	for name, ch := range c.values {
		if ch.Value != nil && isSealed(name) {
			c.values[name] = Channel{Version: ch.Version}
		}
	}
}

func isSealed(channel string) bool { return strings.HasPrefix(channel, sealedPrefix) }

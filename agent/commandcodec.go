package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent/exactjson"
)

// parentGraph is what Command.graph says when it speaks to the enclosing graph.
// Clients send the constant's value; the specs write its name.
const (
	parentGraph     = "__parent__"
	parentGraphName = "PARENT"
)

// ParseCommand reads a command from the wire (spec/rest-api.md 3.7): resume is
// any JSON, update an object or a list of [key, value] pairs, goto a node's
// name, {"node","input"} or a list of both. It returns nil for an absent or null
// command. Errors: *InvalidCommandError, when it hasn't this shape.
func ParseCommand(raw json.RawMessage) (*Command, error) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil, nil
	}
	var wire struct {
		Resume json.RawMessage `json:"resume"`
		Update json.RawMessage `json:"update"`
		Goto   json.RawMessage `json:"goto"`
		Graph  *string         `json:"graph"`
	}
	if err := exactjson.Unmarshal(raw, &wire); err != nil {
		return nil, &InvalidCommandError{Problems: []string{"a command is an object with resume, update, goto, graph"}}
	}
	cmd := &Command{Resume: wire.Resume, HasResume: wire.Resume != nil}
	var problems []string
	var err error
	if cmd.Update, err = parseUpdate(wire.Update); err != nil {
		problems = append(problems, err.Error())
	}
	if cmd.Goto, err = parseGoto(wire.Goto); err != nil {
		problems = append(problems, err.Error())
	}
	if wire.Graph != nil {
		switch *wire.Graph {
		case parentGraph, parentGraphName:
			cmd.Parent = true
		default:
			problems = append(problems, fmt.Sprintf("graph: unknown graph %q", *wire.Graph))
		}
	}
	if problems != nil {
		return nil, &InvalidCommandError{Problems: problems}
	}
	return cmd, nil
}

// MarshalJSON encodes the command in its wire form, so that ParseCommand gives
// an equal one. The update is a list of pairs: it keeps order and repeated keys.
func (c *Command) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("null"), nil
	}
	b := []byte{'{'}
	key := func(name string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
	}
	if c.HasResume {
		key("resume")
		b = append(b, orNull(c.Resume)...)
	}
	if len(c.Update) > 0 {
		key("update")
		for i, w := range c.Update {
			b = append(b, "[,"[min(i, 1)])
			b = append(appendString(append(b, '['), w.Channel), ',')
			b = append(append(b, orNull(w.Value)...), ']')
		}
		b = append(b, ']')
	}
	if len(c.Goto) > 0 {
		key("goto")
		for i, t := range c.Goto {
			b = append(b, "[,"[min(i, 1)])
			if t.Input == nil {
				b = appendString(b, t.Node)
				continue
			}
			b = appendString(append(b, `{"node":`...), t.Node)
			b = append(append(append(b, `,"input":`...), t.Input...), '}')
		}
		b = append(b, ']')
	}
	if c.Parent {
		key("graph")
		b = appendString(b, parentGraphName)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON is ParseCommand for commands inside of other documents.
func (c *Command) UnmarshalJSON(raw []byte) error {
	cmd, err := ParseCommand(raw)
	if err != nil || cmd == nil {
		return err
	}
	*c = *cmd
	return nil
}

// parseUpdate reads an update as writes in the order of the document.
func parseUpdate(raw json.RawMessage) ([]Write, error) {
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] == '{' {
		return objectWrites(raw)
	}
	var pairs [][2]json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &pairs) == nil {
		writes := make([]Write, 0, len(pairs))
		for i, p := range pairs {
			var key string
			if p[1] == nil || json.Unmarshal(p[0], &key) != nil {
				return nil, fmt.Errorf("update[%d]: a pair is [key, value]", i)
			}
			writes = append(writes, Write{Channel: key, Value: p[1]})
		}
		return writes, nil
	}
	return nil, fmt.Errorf("update: must be an object or a list of [key, value] pairs")
}

// objectWrites turns a JSON object into writes, in the order of its keys. Of a
// repeated key the last value counts, as in every JSON object.
func objectWrites(raw json.RawMessage) ([]Write, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("must be an object")
	}
	var writes []Write
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		writes = slices.DeleteFunc(writes, func(w Write) bool { return w.Channel == key })
		writes = append(writes, Write{Channel: key.(string), Value: value})
	}
	return writes, nil
}

// parseGoto reads a name, a Send or a list of both.
func parseGoto(raw json.RawMessage) ([]Target, error) {
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] != '[' {
		t, err := parseTarget(raw)
		if err != nil {
			return nil, fmt.Errorf("goto: %w", err)
		}
		return []Target{t}, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("goto: %w", err)
	}
	targets := make([]Target, 0, len(items))
	for i, item := range items {
		t, err := parseTarget(item)
		if err != nil {
			return nil, fmt.Errorf("goto[%d]: %w", i, err)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func parseTarget(raw json.RawMessage) (Target, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil && !isNull(raw) {
		return Target{Node: name}, nil
	}
	var send struct {
		Node  *string         `json:"node"`
		Input json.RawMessage `json:"input"`
		Args  json.RawMessage `json:"args"` // as client libraries serialise their own Send
	}
	if err := json.Unmarshal(raw, &send); err != nil || send.Node == nil {
		return Target{}, fmt.Errorf("must be a node's name or an object with node and input")
	}
	if send.Input == nil {
		send.Input = send.Args
	}
	return Target{Node: *send.Node, Input: orNull(send.Input)}, nil
}

// isNull reports whether raw is absent or JSON null.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// orNull returns raw, or JSON null when it is absent.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

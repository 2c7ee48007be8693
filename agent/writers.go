package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// parentCommand is how a node hands a Command to the graph around its own (spec/runtime.md 1.15).
type parentCommand struct{ cmd *Command }

func (*parentCommand) Error() string {
	return "a Command for the parent graph was returned in a graph that has none"
}

// writersOf turns what a node returned into the writes of its task: the update,
// gotos, static edges and conditional edges (spec/runtime.md 1.1, 1.15). Conditional
// edges read ch with only these writes applied. The error may be a *parentCommand.
func (g *Graph) writersOf(ctx Context, n *node, u Update, ch *channels, taskID string) ([]Write, error) {
	w := updateWriter{g: g, taskID: taskID}
	if err := w.add(u); err != nil {
		return nil, err
	}
	edges, err := g.edgeWrites(ctx, n, &w, ch)
	return append(w.writes, edges...), err
}

// edgeWrites returns the writes of the edges that leave a node after its update.
func (g *Graph) edgeWrites(ctx Context, n *node, w *updateWriter, ch *channels) ([]Write, error) {
	var writes []Write
	for _, e := range g.edges {
		if e.from == n.name && e.to != End {
			writes = append(writes, Write{Channel: branchChannel(e.to), Value: jsonNull})
		}
	}
	for _, j := range g.joins {
		if slices.Contains(j.from, n.name) {
			writes = append(writes, Write{Channel: j.channel(), Value: appendString(nil, n.name)})
		}
	}
	if len(g.branches[n.name]) == 0 {
		return writes, nil
	}
	local := ch.clone()
	if err := local.applyAll([]taskWrites{{id: w.taskID, name: n.name, path: nullPath, writes: w.writes}}); err != nil {
		return nil, err
	}
	in := taskInput{state: local.state(g.keys)}
	for _, b := range g.branches[n.name] {
		targets, err := b.choose(ctx, in)
		if err != nil {
			return nil, err
		}
		routed, err := g.route(targets)
		if err != nil {
			return nil, err
		}
		writes = append(writes, routed...)
	}
	return writes, nil
}

var jsonNull = json.RawMessage("null")

// route returns the writes that lead to targets.
func (g *Graph) route(targets []Target) ([]Write, error) {
	var writes []Write
	for _, t := range targets {
		if t.Node == End && t.Input == nil {
			continue
		}
		n := g.byName[t.Node]
		if n == nil || n.run == nil {
			return nil, &InvalidUpdateError{Message: fmt.Sprintf("%q is not a node of graph %q", t.Node, g.name)}
		}
		if t.Input == nil {
			writes = append(writes, Write{Channel: branchChannel(t.Node), Value: jsonNull})
			continue
		}
		raw, err := encode(pendingSend{Node: t.Node, Args: t.Input})
		if err != nil {
			return nil, fmt.Errorf("agent: encode Send to %q: %w", t.Node, err)
		}
		writes = append(writes, Write{Channel: pregelTasks, Value: raw})
	}
	return writes, nil
}

// updateWriter collects the writes of an update.
type updateWriter struct {
	g      *Graph
	taskID string
	writes []Write
	// thread is the thread whose node returned the update; "" when it comes from a client.
	thread string
	// dropped are the unknown keys.
	dropped []string
	// plain are the writes that were returned as Values, not by a Command:
	// their messages are streamed (spec/streaming-protocol.md 3.9).
	plain []write
	// returned is set once there was an update, be it empty.
	returned bool
}

func (w *updateWriter) add(u Update) error {
	switch u := u.(type) {
	case nil:
		return nil
	case Values:
		w.returned = w.returned || u != nil
		start := len(w.writes)
		if err := w.addValues(u); err != nil {
			return err
		}
		for i := start; i < len(w.writes); i++ {
			wr := w.writes[i]
			w.plain = append(w.plain, write{Write: wr, taskID: w.taskID, nth: writesTo(w.writes[:i], wr.Channel)})
		}
		return nil
	case *Command:
		if u == nil {
			return nil
		}
		w.returned = true
		if u.Parent {
			return &parentCommand{cmd: u}
		}
		for _, wr := range u.Update {
			if err := w.set(wr.Channel, wr.Value); err != nil {
				return err
			}
		}
		routed, err := w.g.route(u.Goto)
		w.writes = append(w.writes, routed...)
		return err
	case sealedUpdate:
		w.returned = true
		return w.seal(u)
	case Updates:
		for _, one := range u {
			if err := w.add(one); err != nil {
				return err
			}
		}
		return nil
	}
	return &InvalidUpdateError{Code: codeReturnValue, Message: fmt.Sprintf("a node returned %T; expected Values, *Command or Updates", u)}
}

func (w *updateWriter) addValues(values Values) error {
	known := 0
	for _, k := range w.g.keys {
		v, ok := values[k]
		if !ok {
			continue
		}
		known++
		if err := w.set(k, v); err != nil {
			return err
		}
	}
	if known == len(values) {
		return nil
	}
	var unknown []string
	for k := range values {
		if !slices.Contains(w.g.keys, k) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	return w.drop(unknown...)
}

// drop notes unknown keys; a strict graph refuses them.
func (w *updateWriter) drop(keys ...string) error {
	w.dropped = append(w.dropped, keys...)
	if w.g.strict && len(keys) > 0 {
		return &InvalidUpdateError{Message: "unknown state keys: " + strings.Join(keys, ", ")}
	}
	return nil
}

// set adds the write of one state key.
func (w *updateWriter) set(key string, v any) error {
	if !slices.Contains(w.g.keys, key) {
		return w.drop(key)
	}
	spec := w.g.specs[key]
	if spec.kind == kindMessages {
		wr, err := messageWrite(key, v, w.taskID, writesTo(w.writes, key))
		if err != nil {
			return err
		}
		w.writes = append(w.writes, wr)
		return nil
	}
	raw, err := encode(v)
	if err != nil {
		return &InvalidUpdateError{Code: codeReturnValue, Message: fmt.Sprintf("value of %q: %v", key, err)}
	}
	if err := spec.checkType(v, raw); err != nil {
		return err
	}
	w.writes = append(w.writes, Write{Channel: key, Value: raw})
	return nil
}

// encode returns v as compact JSON.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case json.RawMessage:
		if len(v) == 0 {
			return jsonNull, nil
		}
		var b bytes.Buffer
		b.Grow(len(v))
		if err := json.Compact(&b, v); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	case nil:
		return jsonNull, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

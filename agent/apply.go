package agent

import (
	"slices"
	"strings"
)

// taskWrites is what one task adds to a superstep.
type taskWrites struct {
	id, name string
	path     string   // sortable form
	triggers []string // channels that started it; none for input and command writes
	writes   []Write
}

// apply applies a superstep's writes in the order of task paths (spec/runtime.md
// 1.4). On an error nothing has changed.
func (c *channels) apply(tasks []taskWrites) error {
	n, err := c.applied(tasks)
	if err != nil {
		return err
	}
	c.values, c.seen, c.ownsSeen = n.values, n.seen, n.ownsSeen
	return nil
}

// applyError says which channel refused its writes.
type applyError struct {
	channel string
	err     error
}

func (e *applyError) Error() string { return e.err.Error() }
func (e *applyError) Unwrap() error { return e.err }

// applied is apply on a copy.
func (c *channels) applied(tasks []taskWrites) (*channels, error) {
	n := c.clone()
	if err := n.applyAll(tasks); err != nil {
		return nil, err
	}
	return n, nil
}

func (c *channels) applyAll(tasks []taskWrites) error {
	tasks = slices.Clone(tasks)
	slices.SortStableFunc(tasks, func(a, b taskWrites) int { return strings.Compare(a.path, b.path) })
	stepped := false
	for _, t := range tasks {
		for _, trigger := range t.triggers {
			stepped = true
			c.see(t.name, trigger)
		}
	}
	c.consume(tasks)

	version := c.maxVersion() + 1
	order, byChannel := group(c.g, tasks)
	written := make(map[string]bool, len(order))
	for _, name := range order {
		spec := c.g.specs[name]
		old := c.values[name]
		next, changed, err := spec.update(old.Value, byChannel[name])
		if err != nil {
			return &applyError{channel: name, err: err}
		}
		if changed {
			c.values[name] = Channel{Version: version, Value: next}
		}
		written[name] = true
	}
	if !stepped {
		return nil
	}
	for _, name := range c.g.order {
		spec := c.g.specs[name]
		if written[name] || !c.available(name) {
			continue
		}
		if next, changed := spec.pass(c.values[name].Value); changed {
			c.values[name] = Channel{Version: version, Value: next}
		}
	}
	if !c.idle() {
		return nil
	}
	for _, name := range c.g.order {
		if next, changed := c.g.specs[name].finish(c.values[name].Value); changed {
			c.values[name] = Channel{Version: version, Value: next}
		}
	}
	return nil
}

// consume empties barriers and deferred triggers that the tasks have read.
func (c *channels) consume(tasks []taskWrites) {
	var version int64
	for _, t := range tasks {
		for _, trigger := range t.triggers {
			spec := c.g.specs[trigger]
			if spec == nil || !c.available(trigger) {
				continue
			}
			switch spec.kind {
			case kindBarrier, kindDeferredValue, kindDeferredBarrier:
				if version == 0 {
					version = c.maxVersion() + 1
				}
				c.values[trigger] = Channel{Version: version}
			}
		}
	}
}

// write is a write with the task and place it comes from.
type write struct {
	Write
	taskID string
	nth    int // earlier writes of the task to the same channel
}

// group collects the writes by channel, in task order; channels that don't exist are dropped.
func group(g *Graph, tasks []taskWrites) ([]string, map[string][]write) {
	var order []string
	byChannel := map[string][]write{}
	for _, t := range tasks {
		for i, w := range t.writes {
			if g.specs[w.Channel] == nil {
				continue
			}
			if _, ok := byChannel[w.Channel]; !ok {
				order = append(order, w.Channel)
			}
			byChannel[w.Channel] = append(byChannel[w.Channel], write{Write: w, taskID: t.id, nth: writesTo(t.writes[:i], w.Channel)})
		}
	}
	return order, byChannel
}

// writesTo counts the writes to a channel.
func writesTo(writes []Write, channel string) int {
	n := 0
	for _, w := range writes {
		if w.Channel == channel {
			n++
		}
	}
	return n
}

// idle tells whether nothing triggers a node.
func (c *channels) idle() bool {
	if c.values[pregelTasks].Value != nil {
		return false
	}
	for _, n := range c.g.byName {
		if c.trigger(n) != "" {
			return false
		}
	}
	return true
}

// trigger returns the first channel that starts node; "" for none.
func (c *channels) trigger(n *node) string {
	for _, t := range n.triggers {
		if ch := c.values[t]; ch.Version > c.seen[n.name][t] && c.available(t) {
			return t
		}
	}
	return ""
}

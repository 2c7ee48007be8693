package agent

import (
	"encoding/json"
	"maps"
	"time"
)

// channels is the mutable working set of one graph: the values, versions and
// seen marks from which the next checkpoint is made.
type channels struct {
	g        *Graph
	values   map[string]Channel
	seen     map[string]map[string]int64
	ownsSeen map[string]bool // nodes whose seen map isn't shared with a checkpoint
}

// newChannels returns the working set of a checkpoint, or with nil that of an empty thread.
func newChannels(g *Graph, cp *Checkpoint) *channels {
	c := &channels{g: g, values: make(map[string]Channel, len(g.order)), seen: map[string]map[string]int64{}, ownsSeen: map[string]bool{}}
	if cp != nil {
		maps.Copy(c.values, cp.Channels)
		maps.Copy(c.seen, cp.Seen)
	}
	for _, name := range g.order {
		ch, ok := c.values[name]
		if !ok {
			if v := g.specs[name].initialValue(); v != nil {
				c.values[name] = Channel{Value: v}
			}
		} else if ch.Value != nil {
			ch.Value = g.specs[name].adapt(ch.Value)
			c.values[name] = ch
		}
	}
	return c
}

// clone returns a copy that shares all values.
func (c *channels) clone() *channels {
	return &channels{g: c.g, values: maps.Clone(c.values), seen: maps.Clone(c.seen), ownsSeen: map[string]bool{}}
}

// available tells whether a channel can be read.
func (c *channels) available(name string) bool {
	spec := c.g.specs[name]
	return spec != nil && spec.available(c.values[name].Value)
}

// maxVersion is the greatest version of any channel.
func (c *channels) maxVersion() int64 {
	var top int64
	for _, ch := range c.values {
		top = max(top, ch.Version)
	}
	return top
}

// see notes that node has seen the current version of a channel.
func (c *channels) see(node, channel string) {
	ch, ok := c.values[channel]
	if !ok || ch.Version == 0 || c.seen[node][channel] == ch.Version {
		return
	}
	if !c.ownsSeen[node] {
		m := maps.Clone(c.seen[node])
		if m == nil {
			m = map[string]int64{}
		}
		c.seen[node], c.ownsSeen[node] = m, true
	}
	c.seen[node][channel] = ch.Version
}

// seeAll notes that node has seen all channels as they are.
func (c *channels) seeAll(node string) {
	m := make(map[string]int64, len(c.values))
	for name, ch := range c.values {
		if ch.Version > 0 {
			m[name] = ch.Version
		}
	}
	c.seen[node], c.ownsSeen[node] = m, true
}

// state returns a view of the given state keys; those without a value are left out.
func (c *channels) state(keys []string) *State {
	present := make([]string, 0, len(keys))
	values := make(map[string]Value, len(keys))
	for _, k := range keys {
		if v := c.values[k].Value; v != nil && c.available(k) {
			present = append(present, k)
			values[k] = *v
		}
	}
	return NewState(present, values)
}

// untracked tells whether a key that checkpoints leave out has a value.
func (c *channels) untracked() bool {
	for _, k := range c.g.keys {
		if c.g.specs[k].kind == kindUntracked && c.values[k].Value != nil {
			return true
		}
	}
	return false
}

// checkpointHead is what a new checkpoint needs beside the channels.
type checkpointHead struct {
	ID, ParentID, NS, Source string
	At                       time.Time
	Step                     int
	Parents                  map[string]string
	Metadata                 map[string]json.RawMessage
	Origins                  map[string]string
	Keys                     []string
}

// freeze makes an immutable checkpoint of the working set; the set can be used further.
func (c *channels) freeze(h checkpointHead) *Checkpoint {
	cp := &Checkpoint{
		ID: h.ID, ParentID: h.ParentID, NS: h.NS, At: h.At, Step: h.Step, Source: h.Source,
		Parents: h.Parents, Metadata: h.Metadata, Origins: h.Origins, Keys: h.Keys,
		Channels: make(map[string]Channel, len(c.values)), Seen: maps.Clone(c.seen),
	}
	for name, ch := range c.values {
		if spec := c.g.specs[name]; spec != nil && spec.kind == kindUntracked {
			continue
		}
		cp.Channels[name] = ch
	}
	clear(c.ownsSeen)
	return cp
}

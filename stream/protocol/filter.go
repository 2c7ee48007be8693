package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-dev/parley/stream/frame"
)

// Subscription is what a reader asks for (spec/streaming-protocol.md 1.3).
type Subscription struct {
	// Channels are names of channels; unknown ones match nothing.
	Channels []string `json:"channels"`
	// Namespaces are prefixes; none is every namespace.
	Namespaces [][]string `json:"namespaces,omitempty"`
	// Depth, when set, is how much deeper than a prefix a namespace may be.
	Depth *int `json:"depth,omitempty"`
	// Since, when set, leaves out events up to this seq.
	Since *int64 `json:"since,omitempty"`
}

// Filter is a compiled Subscription: which frames it lets through
// (spec/streaming-protocol.md 1.4). The zero Filter lets nothing through.
type Filter struct {
	channels Channel
	named    []string // names of custom channels that pass without Custom
	prefixes [][]string
	depth    int // −1 for any
}

// NewFilter compiles a subscription.
func NewFilter(s Subscription) Filter {
	f := Filter{prefixes: s.Namespaces, depth: -1}
	if s.Depth != nil {
		f.depth = *s.Depth
	}
	for _, name := range s.Channels {
		if c, ok := channelNames[name]; ok {
			f.channels |= c
		} else if custom, ok := strings.CutPrefix(name, "custom:"); ok && !slices.Contains(f.named, custom) {
			f.named = append(f.named, custom)
		}
	}
	return f
}

// Channels are the channels of which the filter may let frames through.
func (f Filter) Channels() Channel {
	if len(f.named) > 0 {
		return f.channels | Custom
	}
	return f.channels
}

// Passes reports whether the frame passes.
func (f Filter) Passes(e *frame.Label) bool {
	c := Channel(e.Channel)
	if !f.channels.has(c) && !(c == Custom && e.Name != "" && slices.Contains(f.named, e.Name)) {
		return false
	}
	if len(f.prefixes) == 0 {
		return f.depth < 0 || segments(e.NS) <= f.depth
	}
	for _, prefix := range f.prefixes {
		if under(e.NS, prefix, f.depth) {
			return true
		}
	}
	return false
}

// Filters is what several subscriptions let through together.
type Filters []Filter

// Channels are the channels of which one of the filters may let frames through.
func (fs Filters) Channels() Channel {
	var c Channel
	for i := range fs {
		c |= fs[i].Channels()
	}
	return c
}

// Passes reports whether the frame passes one of the filters.
func (fs Filters) Passes(e *frame.Label) bool {
	for i := range fs {
		if fs[i].Passes(e) {
			return true
		}
	}
	return false
}

// under reports whether a namespace lies at or below a prefix, at most depth deeper.
func under(ns string, prefix []string, depth int) bool {
	for _, want := range prefix {
		if ns == "" {
			return false
		}
		var segment string
		segment, ns, _ = strings.Cut(ns, "|")
		if segment == want {
			continue
		}
		name, _, dynamic := strings.Cut(segment, ":")
		if !dynamic || name != want || strings.Contains(want, ":") {
			return false
		}
	}
	return depth < 0 || segments(ns) <= depth
}

// segments is the number of segments of a namespace.
func segments(ns string) int {
	if ns == "" {
		return 0
	}
	return strings.Count(ns, "|") + 1
}

// appendNamespace appends a namespace as the array of its segments.
func appendNamespace(dst []byte, ns string) []byte {
	if ns == "" {
		return append(dst, '[', ']')
	}
	return appendStrings(dst, strings.Split(ns, "|"))
}

// NamespaceJSON is a namespace as the array of its segments.
func NamespaceJSON(ns string) json.RawMessage { return appendNamespace(nil, ns) }

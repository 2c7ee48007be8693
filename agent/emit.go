package agent

import (
	"slices"
	"strings"
)

// now is the run's time in milliseconds.
func (r *run) now() int64 { return r.exec.Clock.Now().UnixMilli() }

// emit hands on events of a namespace at once, behind the start of the namespace.
func (r *run) emit(ns string, events ...Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		return
	}
	if opened := r.starts(ns); len(opened) > 0 {
		events = append(opened, events...)
	}
	if len(events) > 0 {
		r.exec.Recorder.Emit(events...)
	}
}

// begin starts a namespace if it hasn't started.
func (r *run) begin(ns string) { r.emit(ns) }

// starts marks a namespace and those around it as started and returns the events
// that say so, outermost first (spec/streaming-protocol.md 3.4). The caller holds mu.
func (r *run) starts(ns string) []Event {
	if ns == "" || r.open[ns] {
		return nil
	}
	var events []Event
	for i := 0; i <= len(ns); i++ {
		if i < len(ns) && ns[i] != '|' {
			continue
		}
		if at := ns[:i]; !r.open[at] {
			r.open[at] = true
			events = append(events, Event{Kind: NamespaceStarted, At: r.now(), NS: at, Payload: NamespaceNote{Name: segmentName(at)}})
		}
	}
	return events
}

// ends closes a namespace and what is open below it, deepest first, and returns the events that say so.
func (r *run) ends(ns string, failed bool) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var closed []string
	for at := range r.open {
		if at == ns || strings.HasPrefix(at, ns+"|") {
			closed = append(closed, at)
		}
	}
	slices.SortFunc(closed, func(a, b string) int {
		if d := strings.Count(b, "|") - strings.Count(a, "|"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	events := make([]Event, 0, len(closed))
	for _, at := range closed {
		delete(r.open, at)
		events = append(events, Event{Kind: NamespaceFinished, At: r.now(), NS: at, Payload: NamespaceNote{Name: segmentName(at), Failed: failed}})
	}
	return events
}

// segmentName is the node of the last segment that has a name.
func segmentName(ns string) string {
	for ns != "" {
		last := ns[strings.LastIndexByte(ns, '|')+1:]
		name, id, ok := strings.Cut(last, ":")
		if ok || strings.Trim(last, "0123456789") != "" {
			_ = id
			return name
		}
		ns = strings.TrimSuffix(strings.TrimSuffix(ns, last), "|")
	}
	return ""
}

// speak notes that readers get the message with that id; false if they have it.
func (r *run) speak(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spoken[id] {
		return false
	}
	r.spoken[id] = true
	return true
}

// event adds an event of the graph to the loop's next commit.
func (l *loop) event(k Kind, payload any) {
	l.pend.Events = append(l.pend.Events, Event{Kind: k, At: l.r.now(), NS: l.ns, Payload: payload})
}

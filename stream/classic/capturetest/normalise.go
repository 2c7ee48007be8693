// Package capturetest compares streams with recorded ones: ids and times become
// placeholders that are numbered in order of first appearance, so that what
// should be equal stays equal and a broken link between two frames shows.
package capturetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Frame is one parsed server-sent event.
type Frame struct {
	Event string
	ID    string
	// Data is the decoded JSON of the data line, numbers as json.Number.
	Data any
	// Raw is the data line as it came.
	Raw string
	// HasEvent, HasID and HasData tell an empty line from a missing one.
	HasEvent, HasID, HasData bool
	// Comments are the comment lines before and in the event.
	Comments []string
}

// Parse splits a stream's body into its frames. It knows nothing of how this
// repository writes streams.
func Parse(body []byte) ([]Frame, error) {
	var frames []Frame
	for _, block := range strings.Split(string(body), "\n\n") {
		if strings.Trim(block, "\n") == "" {
			continue
		}
		var f Frame
		for _, line := range strings.Split(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "":
				if line != "" {
					f.Comments = append(f.Comments, value)
				}
			case "event":
				f.Event, f.HasEvent = value, true
			case "id":
				f.ID, f.HasID = value, true
			case "data":
				if f.HasData {
					return nil, fmt.Errorf("capturetest: two data lines in frame %d", len(frames))
				}
				d := json.NewDecoder(strings.NewReader(value))
				d.UseNumber()
				if err := d.Decode(&f.Data); err != nil {
					return nil, fmt.Errorf("capturetest: data of frame %d: %w", len(frames), err)
				}
				f.Raw, f.HasData = value, true
			}
		}
		if f.HasEvent || f.HasData || f.HasID {
			frames = append(frames, f)
		}
	}
	return frames, nil
}

// Numbering replaces ids by placeholders. One is used for all streams of a
// capture in order: a resume goes on counting where the first stream ended.
type Numbering struct {
	known map[string]string
	count map[string]int
}

// NewNumbering returns a numbering in which two ids have fixed placeholders.
func NewNumbering(threadID, assistantID string) *Numbering {
	return &Numbering{
		known: map[string]string{threadID: "THREAD", assistantID: "ASSISTANT"},
		count: map[string]int{},
	}
}

// Clone returns a numbering that goes on alone from here.
func (n *Numbering) Clone() *Numbering {
	return &Numbering{known: maps.Clone(n.known), count: maps.Clone(n.count)}
}

var (
	timeText = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)
	idText   = regexp.MustCompile(`stategraph-message-\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9A-Za-z]+`)
	hex32    = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// Lines returns the frames one per line, normalised.
func (n *Numbering) Lines(frames []Frame) ([]string, error) {
	lines := make([]string, 0, len(frames))
	for _, f := range frames {
		line := map[string]any{}
		if f.HasEvent {
			line["event"] = f.Event
		}
		if f.HasID {
			line["id"] = f.ID
		}
		if f.HasData {
			line["data"] = withoutTimes(f.Data)
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(line); err != nil {
			return nil, fmt.Errorf("capturetest: encode a frame: %w", err)
		}
		lines = append(lines, n.replace(strings.TrimSuffix(b.String(), "\n")))
	}
	return lines, nil
}

// Value returns any JSON value on one line, normalised.
func (n *Numbering) Value(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(withoutTimes(v)); err != nil {
		return "", fmt.Errorf("capturetest: encode a value: %w", err)
	}
	return n.replace(strings.TrimSuffix(b.String(), "\n")), nil
}

// Translate replaces every id in a text that n has numbered by the one that got
// the same placeholder in other.
func (n *Numbering) Translate(text string, other *Numbering) string {
	theirs := make(map[string]string, len(other.known))
	for id, placeholder := range other.known {
		theirs[placeholder] = id
	}
	return idText.ReplaceAllStringFunc(text, func(id string) string {
		if same, ok := theirs[n.known[id]]; ok {
			return same
		}
		return id
	})
}

// replace replaces the ids of a line from left to right.
func (n *Numbering) replace(line string) string {
	return idText.ReplaceAllStringFunc(line, func(text string) string {
		kind := ""
		switch {
		case strings.HasPrefix(text, "stategraph-message-"):
			kind = "SGM"
		case len(text) == 36 && text[8] == '-':
			kind = "UUID"
		case hex32.MatchString(text):
			kind = "HEX32"
		default:
			return text
		}
		if _, ok := n.known[text]; !ok {
			n.count[kind]++
			n.known[text] = fmt.Sprintf("%s-%d", kind, n.count[kind])
		}
		return n.known[text]
	})
}

// withoutTimes returns a copy of a JSON value with TIME for every time.
func withoutTimes(v any) any {
	switch v := v.(type) {
	case string:
		if timeText.MatchString(v) {
			return "TIME"
		}
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = withoutTimes(e)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, e := range v {
			if _, number := e.(json.Number); number && key == "timestamp" {
				e = "TIME"
			}
			object[key] = withoutTimes(e)
		}
		return object
	}
	return v
}

// ServerKeys are the keys with which a server describes itself in the metadata
// of tasks, messages and states; no two servers agree in them.
var ServerKeys = []string{
	"langgraph_version", "langgraph_plan", "langgraph_host", "langgraph_api_url",
	"ls_integration", "ls_provider", "ls_model_type", "versions", "run_attempt",
}

// Without removes keys at every depth of the frames' data.
func Without(frames []Frame, keys ...string) []Frame {
	out := slices.Clone(frames)
	for i := range out {
		out[i].Data = without(out[i].Data, keys)
	}
	return out
}

func without(v any, keys []string) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = without(e, keys)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, e := range v {
			if !slices.Contains(keys, key) {
				object[key] = without(e, keys)
			}
		}
		return object
	}
	return v
}

// WithoutTaskSuffix turns the "messages" events of the recorded server into those
// of its newer version, whose contract this server keeps (spec/rest-api.md 4.4):
// the last part of their suffix, which is the task's own, is gone.
func WithoutTaskSuffix(frames []Frame) []Frame {
	out := slices.Clone(frames)
	for i, f := range out {
		name, suffix, _ := strings.Cut(f.Event, "|")
		if name != "messages" {
			continue
		}
		out[i].Event = name
		if at := strings.LastIndexByte(suffix, '|'); at >= 0 {
			out[i].Event = name + "|" + suffix[:at]
		}
	}
	return out
}

// WithoutVersionFields removes what the versions of the recorded API disagree
// about: whole messages have tool_call_chunks in the recorded one, and the end of
// a task has its error in the newer one.
func WithoutVersionFields(frames []Frame) []Frame {
	out := slices.Clone(frames)
	for i, f := range out {
		name, _, _ := strings.Cut(f.Event, "|")
		if name != "messages" {
			out[i].Data = without(f.Data, []string{"tool_call_chunks"})
		}
		if name == "tasks" || name == "debug" {
			out[i].Data = withoutTaskError(out[i].Data)
		}
	}
	return out
}

// withoutTaskError removes the error of a finished task, in a frame of mode tasks or debug.
func withoutTaskError(data any) any {
	object, ok := data.(map[string]any)
	if !ok {
		return data
	}
	if payload, ok := object["payload"]; ok {
		object["payload"] = withoutTaskError(payload)
	}
	if _, finished := object["result"]; finished {
		delete(object, "error")
	}
	return object
}

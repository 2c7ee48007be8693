package captures_test

import (
	"regexp"
	"strings"
)

// document is one JSON value of a side: the data of a frame, or a reply.
type document struct {
	// kind is the event's name without its namespace, or the last part of the request's path.
	kind     string
	recorded bool
	value    any
}

// mask is a difference that is meant. It turns one side into what the other has
// to be, and reports whether it changed something.
type mask struct {
	name string
	// why says why Parley differs, and where that is decided.
	why   string
	apply func(d *document) bool
}

// masks are the differences that are meant and that many captures have; those of
// one capture are listed with it. A mask that nothing needs fails the test.
var masks = []mask{
	{
		name: "what the server says of itself",
		why:  "addresses and tracing marks of the recorded server and its libraries (spec/rest-api.md 3.6)",
		apply: recorded(func(_ *document, o object) bool {
			return o.drop("langgraph_api_url", "ls_integration", "ls_agent_type", "versions")
		}),
	},
	{
		name: "versions and providers",
		why:  "each side has its own",
		apply: each(func(_ *document, o object) bool {
			changed := false
			for _, key := range []string{"langgraph_version", "ls_provider"} {
				if _, ok := o[key]; ok {
					o[key], changed = "", true
				}
			}
			return changed
		}),
	},
	{
		name:  "metadata of tool messages",
		why:   "holds the versions of the recorded libraries; no key of a message (spec/rest-api.md 5.3)",
		apply: recorded(func(_ *document, o object) bool { return o["type"] == "tool" && o.drop("metadata") }),
	},
	{
		name:  "tool_call_chunks of whole messages",
		why:   "only chunks have them (spec/rest-api.md 5.3)",
		apply: recorded(func(d *document, o object) bool { return d.kind != "messages" && o.drop("tool_call_chunks") }),
	},
	{
		name: "error of finished tasks",
		why:  "the recorded version has none, the present one has it (spec/rest-api.md 4.3)",
		apply: each(func(d *document, o object) bool {
			if _, finished := o["result"]; !finished || d.kind != "tasks" && d.kind != "debug" {
				return false
			}
			if failure, ok := o["error"]; d.recorded == ok || !d.recorded && failure == nil {
				return false
			}
			o["error"] = nil
			return true
		}),
	},
	{
		name: "path of tasks of a Send",
		why:  "the present version has a third element (spec/rest-api.md 5.1)",
		apply: recorded(func(_ *document, o object) bool {
			changed := false
			for _, key := range []string{"path", "langgraph_path"} {
				if path, ok := o[key].([]any); ok && len(path) == 2 && path[0] == "__pregel_push" {
					o[key], changed = append(path[:2:2], false), true
				}
			}
			return changed
		}),
	},
	{
		name: "form of message ids",
		why:  "ids of messages without one are derived from their task, whichever modes are on (spec/runtime.md 4.5)",
		apply: recorded(func(_ *document, o object) bool {
			id, ok := o["id"].(string)
			short := modelID.ReplaceAllString(id, "$1")
			if !ok || id == short {
				return false
			}
			o["id"] = short
			return true
		}),
	},
	{
		name: "result of an answered task in histories",
		why:  "the present version shows it beside the interrupt (spec/rest-api.md 5.1)",
		apply: ours(func(d *document, o object) bool {
			asked, ok := o["interrupts"].([]any)
			if d.kind != "history" || !ok || len(asked) == 0 || o["result"] == nil {
				return false
			}
			o["result"] = nil
			return true
		}),
	},
	{
		name: "ids of the messages in a Send",
		why:  "the recorded library stamps them on some after it has shown the task's start",
		apply: recorded(func(d *document, o object) bool {
			input, ok := o["input"].(map[string]any)
			messages, list := input["messages"].([]any)
			_, call := input["lg_tool_call"]
			if d.kind != "tasks" || text(o["triggers"]) != `["__pregel_push"]` || !ok || !list || call {
				return false
			}
			changed := false
			for _, m := range messages {
				changed = object(m.(map[string]any)).drop("id") || changed
			}
			return changed
		}),
	},
	{
		name: "checkpoint_map in the metadata of nested checkpoints",
		why:  "the same as parents beside it (spec/rest-api.md 5.1)",
		apply: recorded(func(_ *document, o object) bool {
			_, metadata := o["parents"]
			return metadata && o.drop("checkpoint_map")
		}),
	},
}

// modelID is an id that the recorded library makes of the id of a call, with the call's in it.
var modelID = regexp.MustCompile(`^run-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(-tool-.*|-out-\d+)?$`)

// masked makes the differences of the masks disappear and notes which were used.
func masked(d document, used map[string]bool) any {
	for _, m := range masks {
		if m.apply(&d) {
			used[m.name] = true
		}
	}
	return d.value
}

// eventName turns the name of a recorded event into that of the present version:
// the suffix of messages does not have the segment of the task that speaks
// (spec/rest-api.md 4.4).
func eventName(name string, recorded bool) string {
	kind, ns, _ := strings.Cut(name, "|")
	if !recorded || kind != "messages" {
		return name
	}
	segments := strings.Split(ns, "|")
	return strings.Join(append([]string{kind}, segments[:len(segments)-1]...), "|")
}

type object map[string]any

func (o object) drop(keys ...string) bool {
	before := len(o)
	for _, key := range keys {
		delete(o, key)
	}
	return len(o) < before
}

// recorded applies a change to every object of a recorded document.
func recorded(change func(d *document, o object) bool) func(*document) bool {
	return func(d *document) bool { return d.recorded && each(change)(d) }
}

// ours applies a change to every object of a document of this server.
func ours(change func(d *document, o object) bool) func(*document) bool {
	return func(d *document) bool { return !d.recorded && each(change)(d) }
}

// each applies a change to every object of a document.
func each(change func(d *document, o object) bool) func(*document) bool {
	return func(d *document) bool {
		changed := false
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					walk(e)
				}
			case map[string]any:
				if change(d, v) {
					changed = true
				}
				for _, e := range v {
					walk(e)
				}
			}
		}
		walk(d.value)
		return changed
	}
}

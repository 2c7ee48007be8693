package captures_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// event is one event of the thread protocol, without its ids and time.
type event struct {
	method string
	ns     []any
	node   any
	data   any
}

func (e event) object() object { return e.data.(map[string]any) }

func (e event) value() map[string]any {
	v := map[string]any{"method": e.method, "namespace": e.ns, "data": e.data}
	if e.node != nil {
		v["node"] = e.node
	}
	return v
}

// root reports whether the event tells of the run as a whole.
func (e event) root() bool { return e.method == "lifecycle" && len(e.ns) == 0 }

// eventMask is a difference between the recorded events and ours that is meant.
type eventMask struct {
	name, why string
	apply     func(s *sides) bool
}

// sides are the events of both servers.
type sides struct{ theirs, ours []event }

func drop(list *[]event, which func(e event) bool) bool {
	before := len(*list)
	*list = slices.DeleteFunc(*list, which)
	return len(*list) < before
}

// eventMasks are the differences that are meant. One that nothing needs fails the test.
var eventMasks = []eventMask{
	{
		name: "input.answered",
		why:  "newer than the recorded server (spec/streaming-protocol.md 3.8)",
		apply: func(s *sides) bool {
			return drop(&s.ours, func(e event) bool { return e.method == "input.answered" })
		},
	},
	{
		name: "text of a failure",
		why:  "plain, not JSON in a string (decisions 11)",
		apply: func(s *sides) bool {
			return change(s.theirs, func(e event) bool {
				var failure struct{ Message string }
				text, ok := e.object()["error"].(string)
				if e.method != "lifecycle" || !ok || json.Unmarshal([]byte(text), &failure) != nil {
					return false
				}
				e.object()["error"] = failure.Message
				return true
			})
		},
	},
	{
		name: "blocks of tool calls that were not streamed",
		why:  "all messages have the blocks of their content (captures/README.md 6)",
		apply: func(s *sides) bool {
			streamed := map[any]bool{}
			call := func(e event) (id any, ok bool) {
				if e.method != "messages" {
					return nil, false
				}
				c, _ := e.object()["content"].(map[string]any)
				return c["id"], c["type"] == "tool_call" || c["type"] == "tool_call_chunk" && c["id"] != nil
			}
			for _, e := range s.theirs {
				if id, ok := call(e); ok {
					streamed[id] = true
				}
			}
			return drop(&s.ours, func(e event) bool { id, ok := call(e); return ok && !streamed[id] })
		},
	},
	{
		name: "tool-error of a call that waits",
		why:  "it has not failed (decisions 11)",
		apply: func(s *sides) bool {
			return drop(&s.theirs, func(e event) bool {
				message, _ := e.object()["message"].(string)
				return e.method == "tools" && e.object()["event"] == "tool-error" && strings.HasPrefix(message, "[")
			})
		},
	},
	{
		name: "ids of model calls",
		why:  "each side has its own; within a message they are one",
		apply: func(s *sides) bool {
			perMessage := func(e event) bool {
				if e.method != "messages" {
					return false
				}
				return e.object().drop("run_id")
			}
			return change(s.theirs, perMessage) && change(s.ours, perMessage)
		},
	},
	{
		name: "end of messages",
		why:  "one form for all messages, with the reason (spec/streaming-protocol.md 3.9)",
		apply: func(s *sides) bool {
			changed := change(s.theirs, func(e event) bool {
				return e.method == "messages" && e.object()["event"] == "message-finish" && e.object().drop("responseMetadata", "reason")
			})
			change(s.ours, func(e event) bool {
				return e.method == "messages" && e.object()["event"] == "message-finish" && e.object().drop("reason")
			})
			return changed
		},
	},
	{
		name: "pieces of tool arguments",
		why:  "in the form that appends, with both keys (spec/streaming-protocol.md 3.9)",
		apply: func(s *sides) bool {
			changed := drop(&s.theirs, func(e event) bool {
				delta, _ := e.object()["delta"].(map[string]any)
				return e.method == "messages" && delta["type"] == "block-delta"
			})
			drop(&s.ours, func(e event) bool {
				delta, _ := e.object()["delta"].(map[string]any)
				return e.method == "messages" && delta["type"] == "tool-call-delta"
			})
			return changed
		},
	},
	{
		name: "content as blocks",
		why:  "a text stays a text, as the graphs see it (captures/README.md 6)",
		apply: func(s *sides) bool {
			return changeAll(s.theirs, func(e event, o object) bool {
				if o["type"] == nil || o["content"] == nil || o["type"] == "remove" {
					return false
				}
				changed := o.drop("content_blocks")
				if meta, ok := o["response_metadata"].(map[string]any); ok {
					changed = object(meta).drop("output_version", "finish_reason") || changed
					if len(meta) == 0 && (e.method == "values" || e.method == "updates") {
						delete(o, "response_metadata")
					}
				}
				if text, ok := textOfBlocks(o["content"]); ok {
					o["content"], changed = text, true
				}
				return changed
			})
		},
	},
	{
		name: "content as blocks in a text",
		why:  "the recorded graphs print the blocks that they get in place of a text (captures/README.md 6)",
		apply: func(s *sides) bool {
			return changeAll(s.theirs, func(_ event, o object) bool {
				changed := false
				for key, v := range o {
					if old, ok := v.(string); ok {
						o[key] = printedBlocks.ReplaceAllStringFunc(old, func(printed string) string {
							var blocks []struct{ Text string }
							if json.Unmarshal([]byte(printed), &blocks) != nil {
								return printed
							}
							return blocks[0].Text
						})
						changed = changed || o[key] != old
					}
				}
				return changed
			})
		},
	},
	{
		name: "Command as a tool's output",
		why:  "the tool message itself (spec/streaming-protocol.md 3.10)",
		apply: func(s *sides) bool {
			return change(s.theirs, func(e event) bool {
				output, ok := e.object()["output"].(map[string]any)
				if e.method != "tools" || !ok || output["lg_name"] != "Command" {
					return false
				}
				messages := output["update"].(map[string]any)["messages"].([]any)
				e.object()["output"] = messages[0]
				return true
			})
		},
	},
	{
		name: "values of supersteps that wrote nothing",
		why:  "left out; the recorded server leaves them out in nested graphs only (captures/README.md 6)",
		apply: func(s *sides) bool {
			withoutRepeats(&s.ours)
			return withoutRepeats(&s.theirs)
		},
	},
	{
		name: "initial text of a tool call that comes in one chunk",
		why:  "a block starts empty (spec/streaming-protocol.md 3.9)",
		apply: func(s *sides) bool {
			return change(s.theirs, func(e event) bool {
				c, ok := e.object()["content"].(map[string]any)
				if e.method != "messages" || !ok || c["type"] != "tool_call_chunk" || c["args"] == "" {
					return false
				}
				c["args"] = ""
				return true
			})
		},
	},
	{
		name: "tasks of deep agents",
		why:  "each middleware of the recorded library sees its own keys of the state, and a subagent's name is in its tasks' metadata",
		apply: func(s *sides) bool {
			strip := func(e event) bool {
				if e.method != "tasks" {
					return false
				}
				input, _ := e.object()["input"].(map[string]any)
				metadata, _ := e.object()["metadata"].(map[string]any)
				changed := object(input).drop("files", "todos")
				return object(metadata).drop("lc_agent_name") || changed
			}
			changed := change(s.theirs, strip)
			return change(s.ours, strip) && changed
		},
	},
	{
		name: "ids of tool messages",
		why:  "given when the message is made, not by the reducer afterwards (captures/README.md 6)",
		apply: func(s *sides) bool {
			strip := func(e event, o object) bool {
				return (e.method == "tools" || e.method == "tasks" || e.method == "updates") && o["type"] == "tool" && o.drop("id")
			}
			changed := changeAll(s.ours, strip)
			changeAll(s.theirs, strip)
			return changed
		},
	},
}

// printedBlocks is a list of one text block within a text.
var printedBlocks = regexp.MustCompile(`\[\{"type":"text","text":"(?:[^"\\]|\\.)*"\}\]`)

func change(list []event, f func(e event) bool) bool {
	changed := false
	for _, e := range list {
		if _, ok := e.data.(map[string]any); ok && f(e) {
			changed = true
		}
	}
	return changed
}

func changeAll(list []event, f func(e event, o object) bool) bool {
	changed := false
	for _, e := range list {
		d := document{e.method, false, e.data}
		if each(func(_ *document, o object) bool { return f(e, o) })(&d) {
			changed = true
		}
	}
	return changed
}

// textOfBlocks is the text of a list of content blocks of which the others are tool calls.
func textOfBlocks(content any) (string, bool) {
	list, ok := content.([]any)
	if !ok {
		return "", false
	}
	text := ""
	for _, b := range list {
		block, ok := b.(map[string]any)
		if !ok {
			return "", false
		}
		switch block["type"] {
		case "text":
			text += block["text"].(string)
		case "tool_call":
		default:
			return "", false
		}
	}
	return text, true
}

// inBlockOrder brings the events of each message into the order of its blocks:
// the recorded server ends them all behind their last delta.
func inBlockOrder(list []event) []event {
	type place struct{ at, rank int }
	open := map[string][]place{} // by namespace
	out := slices.Clone(list)
	for i, e := range list {
		if e.method != "messages" {
			continue
		}
		ns := text(e.ns)
		o := e.object()
		rank := 0
		if index, ok := o["index"]; ok {
			n, _ := index.(json.Number).Int64()
			rank = int(n) + 1
		}
		if o["event"] == "message-finish" || o["event"] == "error" {
			rank = 1 << 20
		}
		open[ns] = append(open[ns], place{i, rank})
		if rank < 1<<20 {
			continue
		}
		places := open[ns]
		delete(open, ns)
		sorted := slices.Clone(places)
		sort.SliceStable(sorted, func(a, b int) bool { return sorted[a].rank < sorted[b].rank })
		for j, p := range places {
			out[p.at] = list[sorted[j].at]
		}
	}
	return out
}

// inRootOrder brings what parallel tasks of the root say into the order of their
// starts: how tasks interleave is no contract, the order of each one's events is.
func inRootOrder(list []event) []event {
	started := map[string]int{}
	places := make([]int, len(list))
	for i, e := range list {
		places[i] = barrier
		if id, ok := rootTask(e); !ok {
		} else if place, known := started[id]; known {
			places[i] = place
		} else {
			started[id] = len(started)
		}
		if e.root() {
			started = map[string]int{} // another run
		}
	}
	for i := len(list) - 2; i >= 0; i-- { // what a task returned or asked stands before its end
		if len(list[i].ns) == 0 && (list[i].method == "updates" || list[i].method == "input.requested") {
			places[i] = places[i+1]
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	for from := 0; from < len(order); from++ {
		to := from
		for to < len(order) && places[to] != barrier {
			to++
		}
		slices.SortStableFunc(order[from:to], func(a, b int) int { return places[a] - places[b] })
		from = to
	}
	out := make([]event, len(list))
	for i, at := range order {
		out[i] = list[at]
	}
	return out
}

// rootTask is the task of the root that an event belongs to.
func rootTask(e event) (id string, ok bool) {
	if len(e.ns) > 0 {
		_, id, ok = strings.Cut(e.ns[0].(string), ":")
		return id, ok
	}
	if e.method == "tasks" {
		id, ok = e.object()["id"].(string)
	}
	return id, ok
}

// withoutRepeats removes values that say what the graph's values before said in
// the same run, with their checkpoints.
func withoutRepeats(list *[]event) bool {
	last := map[string]string{}
	gone := map[int]bool{}
	for i, e := range *list {
		switch {
		case e.root():
			last = map[string]string{}
		case e.method == "values":
			ns, data := text(e.ns), text(e.data)
			if last[ns] == data {
				gone[i], gone[i-1] = true, true
			}
			last[ns] = data
		}
	}
	i := -1
	return drop(list, func(event) bool { i++; return gone[i] })
}

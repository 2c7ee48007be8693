package captures_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream/classic/capturetest"
)

// inTaskOrder brings what parallel tasks of the root send into the order of
// their starts: how tasks interleave is no contract, the order of each one's
// frames is. The frames' ids must count from 0 without a hole; they are given
// out anew.
func inTaskOrder(t *testing.T, frames []capturetest.Frame) []capturetest.Frame {
	t.Helper()
	started := map[string]int{} // task → its place
	places := make([]int, len(frames))
	for i, f := range frames {
		require.Equal(t, strconv.Itoa(i), f.ID)
		kind, ns, _ := strings.Cut(f.Event, "|")
		places[i] = barrier
		if id, ok := taskOf(kind, ns, f.Data); !ok {
		} else if place, known := started[id]; known {
			places[i] = place
		} else {
			started[id] = len(started)
		}
	}
	// What a task has returned or asked stands before the frame that says that it ended.
	for i := len(frames) - 2; i >= 0; i-- {
		if returned(frames[i]) {
			places[i] = places[i+1]
		}
	}
	order := make([]int, len(frames))
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
	all := make([]capturetest.Frame, len(frames))
	for i, at := range order {
		all[i] = frames[at]
		all[i].ID = strconv.Itoa(i)
	}
	return all
}

// barrier is the place of a frame that is no task's: nothing moves past it.
const barrier = -1

// taskOf is the task of the root that a frame belongs to: the one that started
// or ended, or in whose namespace it is.
func taskOf(kind, ns string, data any) (id string, ok bool) {
	if ns != "" {
		first, _, _ := strings.Cut(ns, "|")
		_, id, ok = strings.Cut(first, ":")
		return id, ok
	}
	switch kind {
	case "messages":
		metadata := data.([]any)[1].(map[string]any)
		return taskOf("", metadata["langgraph_checkpoint_ns"].(string), nil)
	case "debug":
		o := data.(map[string]any)
		if o["type"] == "checkpoint" {
			return "", false
		}
		return taskOf("tasks", "", o["payload"])
	case "tasks":
		id, ok = data.(map[string]any)["id"].(string)
		return id, ok
	}
	return "", false
}

// returned reports whether a frame says what a task of the root returned, or asked.
func returned(f capturetest.Frame) bool {
	if f.Event == "updates" {
		return true
	}
	o, ok := f.Data.(map[string]any)
	return ok && f.Event == "values" && o["__interrupt__"] != nil
}

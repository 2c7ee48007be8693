package server

import (
	"encoding/json"
	"sort"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// timeOrNull is a time, or null when it is zero.
func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return timestamp(t)
}

// metadataOf returns metadata that is never null.
func metadataOf(m thread.Metadata) json.RawMessage {
	if len(m) == 0 {
		return json.RawMessage("{}")
	}
	return encode(m)
}

// assistantJSON is an assistant, or one of its versions (which has no updated_at).
func assistantJSON(a thread.Assistant, version bool) json.RawMessage {
	o := &object{}
	o.any("assistant_id", a.ID).any("graph_id", a.GraphID).any("name", a.Name).any("description", a.Description)
	o.any("version", a.Version).raw("config", rawOr(a.Config, "{}")).raw("context", rawOr(a.Context, "{}"))
	o.raw("metadata", metadataOf(a.Metadata)).any("created_at", timestamp(a.CreatedAt))
	if !version {
		o.any("updated_at", timestamp(a.UpdatedAt))
	}
	return o.done()
}

// runJSON is a run. Times of a delayed run are those of its creation.
func runJSON(r thread.Run) json.RawMessage {
	kwargs := r.Kwargs
	kwargs.SealedContext = nil
	if len(kwargs.StreamMode) == 0 {
		kwargs.StreamMode = []string{"values"}
	}
	o := &object{}
	o.any("run_id", r.ID).any("thread_id", r.ThreadID).any("assistant_id", r.AssistantID)
	o.any("status", r.Status).raw("metadata", metadataOf(r.Metadata)).any("kwargs", kwargs)
	o.any("multitask_strategy", r.Strategy).any("created_at", timestamp(r.CreatedAt)).any("updated_at", timestamp(r.UpdatedAt))
	if len(r.Warnings) > 0 {
		o.any("warnings", r.Warnings)
	}
	return o.done()
}

// threadJSON is a thread with its values and interrupts, once it has some (spec/rest-api.md 5.4).
func threadJSON(v thread.ThreadView) json.RawMessage { return threadObject(v).done() }

func threadObject(v thread.ThreadView) *object {
	o := &object{}
	o.any("thread_id", v.ID).any("created_at", timestamp(v.CreatedAt)).any("updated_at", timestamp(v.UpdatedAt))
	o.raw("metadata", metadataOf(v.Metadata)).any("status", v.Status).raw("config", rawOr(v.Config, "{}"))
	if v.Values != nil {
		o.raw("values", v.Values)
	}
	if v.Interrupts != nil {
		o.raw("interrupts", interruptsJSON(v))
	}
	return o
}

// interruptsJSON is a thread's interrupts by task id, in the order of the tasks.
func interruptsJSON(v thread.ThreadView) json.RawMessage {
	order := v.TaskOrder
	if len(order) != len(v.Interrupts) {
		order = order[:0:0]
		for id := range v.Interrupts {
			order = append(order, id)
		}
		sort.Strings(order)
	}
	o := &object{}
	for _, id := range order {
		o.any(id, orEmpty(v.Interrupts[id]))
	}
	return o.done()
}

// orEmpty is a list that is never null.
func orEmpty[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// stateJSON is a thread state (spec/rest-api.md 5.1): exactly these seven keys.
func stateJSON(threadID string, s *agent.Snapshot, subgraphs bool) json.RawMessage {
	if s == nil || s.CheckpointID == "" {
		return emptyState(json.RawMessage("null"))
	}
	o := &object{}
	o.raw("values", s.State.JSON()).any("next", orEmpty(s.Next))
	tasks := make([]json.RawMessage, len(s.Tasks))
	for i, t := range s.Tasks {
		tasks[i] = taskJSON(threadID, t, subgraphs)
	}
	o.raw("tasks", list(tasks)).raw("metadata", metadataOf(s.Metadata)).any("created_at", timestamp(s.CreatedAt))
	o.raw("checkpoint", checkpointJSON(threadID, s.NS, s.CheckpointID, s.Map))
	if s.ParentID == "" {
		o.raw("parent_checkpoint", nil)
	} else {
		o.raw("parent_checkpoint", checkpointJSON(threadID, s.NS, s.ParentID, s.ParentMap))
	}
	return o.done()
}

// emptyState is the state of a thread that has none; clients look at checkpoint == null.
func emptyState(checkpoint json.RawMessage) json.RawMessage {
	o := &object{}
	return o.raw("values", []byte("{}")).raw("next", []byte("[]")).raw("tasks", []byte("[]")).raw("metadata", []byte("{}")).
		raw("created_at", nil).raw("checkpoint", checkpoint).raw("parent_checkpoint", nil).done()
}

// taskJSON is one task of a state.
func taskJSON(threadID string, t agent.TaskView, subgraphs bool) json.RawMessage {
	o := &object{}
	o.any("id", t.ID).any("name", t.Name)
	if t.Error == nil {
		o.raw("error", nil)
	} else { // a string with JSON in it: clients parse it
		o.any("error", string(encode(struct {
			Message string `json:"message"`
			Name    string `json:"name"`
		}{t.Error.Message, t.Error.Name})))
	}
	o.any("interrupts", orEmpty(t.Interrupts)).raw("path", t.Path)
	switch {
	case t.SubgraphNS == "" || subgraphs && t.Subgraph != nil:
		o.raw("checkpoint", nil)
	default: // only these two keys (spec/rest-api.md 5.1)
		o.raw("checkpoint", (&object{}).any("thread_id", threadID).any("checkpoint_ns", t.SubgraphNS).done())
	}
	if subgraphs && t.Subgraph != nil {
		o.raw("state", stateJSON(threadID, t.Subgraph, true))
	} else {
		o.raw("state", nil)
	}
	return o.raw("result", t.Result).done()
}

// checkpointJSON is the address of a checkpoint.
func checkpointJSON(threadID, ns, id string, m map[string]string) json.RawMessage {
	o := &object{}
	return o.any("thread_id", threadID).any("checkpoint_id", id).any("checkpoint_ns", ns).any("checkpoint_map", mapOrNull(m)).done()
}

func mapOrNull(m map[string]string) any {
	if m == nil {
		return nil
	}
	return m
}

// cronJSON is a cron.
func cronJSON(c thread.Cron) json.RawMessage {
	o := &object{}
	o.any("cron_id", c.ID).any("assistant_id", c.AssistantID).any("thread_id", nullable(c.ThreadID))
	o.any("schedule", c.Schedule).any("timezone", nullable(c.Timezone)).any("end_time", timeOrNull(c.EndTime))
	o.any("enabled", c.Enabled).any("on_run_completed", c.OnRunCompleted).raw("payload", rawOr(c.Payload, "{}"))
	o.raw("metadata", metadataOf(c.Metadata)).any("user_id", nullable(c.UserID)).any("next_run_date", timeOrNull(c.NextRun))
	return o.any("created_at", timestamp(c.CreatedAt)).any("updated_at", timestamp(c.UpdatedAt)).done()
}

// nullable is a string, or null when it is empty.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// itemJSON is an item of the long-term store.
func itemJSON(it agent.Item) json.RawMessage {
	o := &object{}
	return o.any("namespace", it.Namespace).any("key", it.Key).raw("value", it.Value).
		any("created_at", timestamp(it.CreatedAt)).any("updated_at", timestamp(it.UpdatedAt)).done()
}

package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// edit stores and announces an edit from outside, between runs.
func (w *worker) edit(checkpointID string) {
	note := w.entry(agent.CheckpointAnnounced, "", agent.CheckpointNote{ID: checkpointID, Step: 9, Source: agent.SourceUpdate})
	values := w.entry(agent.ValuesEmitted, "", &agent.ValuesNote{CheckpointID: checkpointID})
	note.RunID, values.RunID = "", ""
	w.memory.store(w.run.ThreadID, note, values)
	w.memory.mu.Lock()
	w.memory.states[checkpointID] = agent.NewState([]string{"edit"}, map[string]agent.Value{"edit": {JSON: json.RawMessage(`"` + checkpointID + `"`)}})
	w.memory.mu.Unlock()
	w.hub.Publish(w.run.ThreadID, []thread.Entry{note, values})
}

// editedThread has an edit before, between and behind its runs. first is called behind the first one.
func editedThread(m *memory, hub *stream.Hub, first func()) *worker {
	w := newWorker(m, hub, newRun("one", "custom"))
	w.edit("before")
	first()
	w.start()
	w.custom("1")
	w.finish()
	w.edit("between")
	w = w.nextRun("two", "custom")
	w.run.CreatedAt = time.Unix(2, 0) // behind the first
	m.setRun(w.run)
	w.start()
	w.custom("2")
	w.finish()
	w.edit("behind")
	return w
}

func withStates(o *stream.Options) {
	o.ThreadState = func(_ context.Context, ns, checkpointID string) (json.RawMessage, error) {
		if checkpointID == "between" {
			return json.RawMessage("{\n\"values\":{}}"), nil
		}
		return json.RawMessage(fmt.Sprintf(`{"checkpoint":%q}`, ns+checkpointID)), nil
	}
}

func names(events []string) []string {
	var all []string
	for _, e := range events {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, "event: "), "\n")
		all = append(all, name)
	}
	return all
}

func TestThreadStreamShowsEditsInModeStateUpdate(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, withStates)
	live := connect(t, s.URL+"/thread?mode=state_update&mode=run_modes", "-1")
	editedThread(m, hub, func() {})
	all := live.events(7)
	require.Equal(t, []string{"state_update", "metadata", "custom", "state_update", "metadata", "custom", "state_update"}, names(all))
	require.Equal(t, []string{
		"event: state_update\ndata: {\"state\":{\"checkpoint\":\"before\"},\"thread_id\":\"thread\"}\nid: 1800000000002-2\n\n",
		"event: state_update\ndata: {\"state\":{ \"values\":{}},\"thread_id\":\"thread\"}\nid: 1800000000007-7\n\n",
	}, only(all, "state_update")[:2])
	for i, id := range append([]string{"-1"}, ids(all[:len(all)-1])...) { // replays are what was seen live
		c := connect(t, s.URL+"/thread?mode=state_update&mode=run_modes", id)
		require.Empty(t, c.response.Header.Get(stream.GapHeader), id)
		require.Equal(t, all[i:], c.events(len(all)-i), id)
	}
	require.Equal(t, only(all, "state_update"), connect(t, s.URL+"/thread?mode=state_update", "-1").events(3))
	require.Equal(t, only(all, "metadata", "custom"), connect(t, s.URL+"/thread", "-1").events(4), "run streams know of no edits")
}

func TestThreadStreamWaitsBehindAnEdit(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, withStates)
	w := editedThread(m, hub, func() {})
	c := connect(t, s.URL+"/thread?mode=run_modes&mode=state_update", "")
	w.edit("late")
	require.Contains(t, c.events(1)[0], `"late"`)
	w = w.nextRun("three", "custom")
	w.start()
	require.Contains(t, c.events(1)[0], `"run_id":"three"`)
}

func TestAnEditOfWhichTheStateIsGoneIsPassedOver(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, func(o *stream.Options) {
		o.ThreadState = func(_ context.Context, _, checkpointID string) (json.RawMessage, error) {
			if checkpointID == "before" {
				return nil, &thread.NotFoundError{Kind: "checkpoint"}
			}
			return json.RawMessage(`{}`), nil
		}
	})
	editedThread(m, hub, func() {})
	require.Equal(t, []string{"1800000000007-7", "1800000000012-12"}, ids(connect(t, s.URL+"/thread?mode=state_update", "-1").events(2)))
}

// eventServer serves the events of the thread protocol behind a seq.
func eventServer(t *testing.T, hub *stream.Hub) *httptest.Server {
	filter := protocol.NewFilter(protocol.Subscription{Channels: []string{"lifecycle", "checkpoints", "values", "custom"}})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since, err := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
		if err != nil {
			since = -1
		}
		_ = hub.OpenEvents("thread", stream.EventOptions{Filters: protocol.Filters{filter}, Since: since}, stream.Options{}).Serve(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestThreadProtocolShowsEditsBetweenRuns(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := eventServer(t, hub)
	live := connect(t, s.URL, "")
	var all []string
	editedThread(m, hub, func() { all = live.events(2) }) // a reader that comes later is told less of the first run
	all = append(all, live.events(10)...)
	require.Equal(t, []string{
		"checkpoints", "values", "lifecycle", "custom", "lifecycle", "checkpoints", "values", "lifecycle", "custom", "lifecycle", "checkpoints", "values",
	}, names(all))
	for i, e := range all {
		require.Contains(t, e, fmt.Sprintf(`"seq":%d,`, i+1))
	}
	require.Contains(t, all[5], `"id":"between"`)
	require.Contains(t, all[6], `{"edit":"between"}`)
	for i := range all {
		late := connect(t, s.URL+"?since="+strconv.Itoa(i), "")
		want := all[i:]
		if i < 5 { // the first run's beginning and end aren't told to who comes later
			want = nil
			for j := i; j < len(all); j++ {
				if j != 2 && j != 4 {
					want = append(want, all[j])
				}
			}
		}
		require.Equal(t, want, late.events(len(want)), "since %d", i)
	}
}

func TestAnEditOfAThreadThatTookADeletedOnesID(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := eventServer(t, hub)
	live := connect(t, s.URL, "")
	editedThread(m, hub, func() { live.events(2) })
	live.events(10)
	m.mu.Lock()
	m.log, m.runs = map[string][]thread.Entry{}, map[string]thread.Run{}
	m.mu.Unlock()
	w := &worker{memory: m, hub: hub, run: newRun("other")}
	note := w.entry(agent.CheckpointAnnounced, "", agent.CheckpointNote{ID: "new", Source: agent.SourceUpdate})
	note.RunID, note.Event.At = "", note.Event.At+1_000_000
	m.store("thread", note)
	hub.Publish("thread", []thread.Entry{note})
	got := live.events(1)[0]
	require.Contains(t, got, `"id":"new"`)
	require.Contains(t, got, `"seq":1,`)
}

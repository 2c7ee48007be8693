package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// allChannels are the channels of the thread protocol, as a JSON array.
const allChannels = `["values","updates","checkpoints","messages","tools","lifecycle","input","custom","tasks"]`

// events opens a stream of a thread's events and hands them out one by one.
func (c *client) events(thread, body string, header ...string) func() frame {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	headers := map[string]string{"Content-Type": "application/json"}
	for i := 0; i+1 < len(header); i += 2 {
		headers[header[i]] = header[i+1]
	}
	res := c.as(headers).open(ctx, http.MethodPost, "/threads/"+thread+"/stream/events", body)
	c.t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(c.t, http.StatusOK, res.StatusCode)
	require.Equal(c.t, "text/event-stream", res.Header.Get("Content-Type"))
	return func() frame {
		c.t.Helper()
		frames := parseFrames(c.t, &oneByOne{res.Body}, 1)
		require.Len(c.t, frames, 1, "the stream ended")
		return frames[0]
	}
}

// oneByOne hands out single bytes, so that a scanner takes no more than it needs.
type oneByOne struct {
	in interface{ Read([]byte) (int, error) }
}

func (o *oneByOne) Read(b []byte) (int, error) { return o.in.Read(b[:1]) }

// name is the event's method with its lifecycle event, if it is one of the root.
func (f frame) name(t *testing.T) string {
	params := f.json(t)["params"].(map[string]any)
	if f.event == "lifecycle" && len(params["namespace"].([]any)) == 0 {
		return params["data"].(map[string]any)["event"].(string)
	}
	return f.event
}

// upTo reads events up to one of that name.
func upTo(t *testing.T, next func() frame, name string) []frame {
	t.Helper()
	var all []frame
	for {
		f := next()
		all = append(all, f)
		if f.name(t) == name {
			return all
		}
	}
}

func names(t *testing.T, frames []frame) (all []string) {
	for _, f := range frames {
		all = append(all, f.name(t))
	}
	return all
}

// A stream of a thread that nobody has created waits, shows the thread's first run
// live and stays open for the next one. // M-4, M-5, M-7, M-10, M-11, M-19
func TestEventsOfAThreadThatComesLater(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	next := p.events(p.thread, `{"channels":`+allChannels+`,"namespaces":[]}`)
	p.success("run.start", `{"assistant_id":"echo","input":{"note":"x"}}`)
	first := upTo(t, next, "completed")
	require.Equal(t, []string{
		"running", "checkpoints", "values", "tasks", "lifecycle", "messages", "messages", "messages", "messages", "messages",
		"updates", "tasks", "lifecycle", "checkpoints", "values", "completed",
	}, names(t, first))
	for i, f := range first {
		e := f.json(t)
		require.EqualValues(t, i+1, e["seq"])
		require.Equal(t, f.id, e["event_id"])
		require.Equal(t, f.event, e["method"])
		require.Equal(t, "event", e["type"])
	}
	require.True(t, strings.HasPrefix(first[0].id, "synth:"))
	p.success("run.start", `{"assistant_id":"echo","input":{"note":"y"}}`)
	second := upTo(t, next, "completed")
	require.EqualValues(t, len(first)+1, second[0].json(t)["seq"])
}

// Every connection gets the same events under the same ids, past and present, and
// in replay nothing tells of the end of a superseded run. // M-27, M-36, M-37, M-49, M-52, D-02, D-16
func TestReplayIsWhatWasLive(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	next := p.events(p.thread, `{"channels":`+allChannels+`}`)
	var live []frame
	for range 3 {
		p.success("run.start", `{"assistant_id":"ask","input":{}}`)
		live = append(live, upTo(t, next, "interrupted")...)
		p.success("input.respond", fmt.Sprintf(`{"interrupt_id":%q,"response":1}`, p.question()))
		live = append(live, upTo(t, next, "completed")...)
	}
	newest := strings.Split(live[len(live)-1].id, ":")[1]
	var want []string
	for _, f := range live {
		if name := f.name(t); f.event == "lifecycle" && name != "lifecycle" && !strings.Contains(f.id, newest) {
			continue
		}
		want = append(want, f.id+f.data)
	}
	replay := upTo(t, p.events(p.thread, `{"channels":`+allChannels+`}`), "completed")
	var got []string
	for _, f := range replay {
		got = append(got, f.id+f.data)
	}
	require.Equal(t, want, got)

	// Behind a cursor, in each of its forms, come the events after it. // D-03
	for i, f := range replay[:len(replay)-1] {
		if i%7 != 0 {
			continue
		}
		seq := fmt.Sprint(f.json(t)["seq"])
		since := upTo(t, p.events(p.thread, `{"channels":`+allChannels+`,"since":`+seq+`}`), "completed")
		require.Equal(t, want[i+1:], joined(since), "since %s", seq)
		last := upTo(t, p.events(p.thread, `{"channels":`+allChannels+`}`, "Last-Event-ID", f.id), "completed")
		require.Equal(t, want[i+1:], joined(last), "Last-Event-ID %s", f.id)
	}
}

func joined(frames []frame) (all []string) {
	for _, f := range frames {
		all = append(all, f.id+f.data)
	}
	return all
}

// A second reader that comes in the middle of a run learns that it runs. // M-47
func TestReaderInMidRun(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	first := p.events(p.thread, `{"channels":["custom","lifecycle"]}`)
	p.success("run.start", `{"assistant_id":"slow","input":{"wait":30}}`)
	upTo(t, first, "custom")
	second := p.events(p.thread, `{"channels":["lifecycle","custom","values"]}`)
	require.Equal(t, []string{"running", "values", "custom"}, names(t, upTo(t, second, "custom")))
	runs := p.get("/threads/" + p.thread + "/runs").ok().list()
	p.post("/threads/"+p.thread+"/runs/"+runs[0]["run_id"].(string)+"/cancel?wait=0&action=interrupt", "")
	require.Equal(t, "interrupted", upTo(t, second, "interrupted")[0].name(t))
	upTo(t, first, "interrupted")
}

// Runs of the classic API are on the thread's streams, too.
func TestClassicRunsAreEvents(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	thread := c.thread()
	next := c.events(thread, `{"channels":["lifecycle","values"],"namespaces":[[]],"depth":0}`)
	c.post("/threads/"+thread+"/runs/wait", `{"assistant_id":"echo","input":{"note":"x"}}`).ok()
	require.Equal(t, []string{"running", "values", "values", "completed"}, names(t, upTo(t, next, "completed")))
}

// A failed run says why; with the option it doesn't. // M-21
func TestFailedRun(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		p := newProtocol(t, server.Options{NoFailureText: silent})
		next := p.events(p.thread, `{"channels":["lifecycle"]}`)
		p.success("run.start", `{"assistant_id":"fail","input":{}}`)
		failed := upTo(t, next, "failed")
		data := failed[len(failed)-1].json(t)["params"].(map[string]any)["data"].(map[string]any)
		if silent {
			require.NotContains(t, data, "error")
		} else {
			require.Equal(t, "Boo!", data["error"])
		}
	}
}

func TestStreamRequestsAreStrict(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	path := "/threads/" + uuid.NewString() + "/stream/events"
	for body, at := range map[string][]any{
		`{}`:                                   {"channels"},
		`{"channels":"values"}`:                {"channels"},
		`{"channels":[1]}`:                     {"channels", 0.0},
		`{"channels":[],"namespaces":["a"]}`:   {"namespaces", 0.0},
		`{"channels":[],"namespaces":[[1]]}`:   {"namespaces", 0.0, 0.0},
		`{"channels":[],"depth":-1}`:           {"depth"},
		`{"channels":[],"depth":1.5}`:          {"depth"},
		`{"channels":[],"since":-1}`:           {"since"},
		`{"channels":[],"since":0,"extra":{}}`: {},
	} {
		a := c.post(path, body)
		a.fault(at...)
		if strings.Contains(body, "extra") {
			require.Contains(t, a.body, `"code":"unrecognized_keys","keys":["extra"]`)
		}
	}
	c.post("/threads/nope/stream/events", `{"channels":[]}`).fault("thread_id")
	c.get(path).text(http.StatusNotFound, "404 Not Found")
}

// A nested question comes on the namespace of the graph that asks, whose state is
// found by it, in the form of those clients that join its segments with NUL. // M-28, M-54
func TestNestedQuestionsAndTheirStates(t *testing.T) {
	t.Parallel()
	l := newLab()
	p := &protocol{labServer(t, l.forest()), uuid.NewString(), 0}
	next := p.events(p.thread, `{"channels":["input","lifecycle"]}`)
	p.success("run.start", `{"assistant_id":"forest","input":{}}`)
	found := 0
	for _, f := range upTo(t, next, "interrupted") {
		if f.event != "input.requested" {
			continue
		}
		found++
		var segments []string
		for _, s := range f.json(t)["params"].(map[string]any)["namespace"].([]any) {
			segments = append(segments, s.(string))
		}
		require.GreaterOrEqual(t, len(segments), 2)
		for _, separator := range []string{"|", `\u0000`} {
			ns := strings.Join(segments, separator)
			history := p.post("/threads/"+p.thread+"/history", `{"limit":1,"checkpoint":{"checkpoint_ns":"`+ns+`"}}`).ok().list()
			require.Len(t, history, 1)
			require.Equal(t, strings.Join(segments, "|"), history[0]["checkpoint"].(map[string]any)["checkpoint_ns"])
		}
	}
	require.Equal(t, 2, found)
}

package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/r3labs/sse/v2"
	"github.com/stretchr/testify/require"
	"gopkg.in/cenkalti/backoff.v1"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
)

// follow reads the feed of runs in the background until the test ends. A hint
// is one event of the channel.
func (c *client) follow() <-chan string {
	c.t.Helper()
	ctx, leave := context.WithCancel(c.t.Context())
	connected, ended := make(chan struct{}), make(chan struct{})
	hints := make(chan string, 1000)
	feed := sse.NewClient(c.url + "/feeds/runs")
	feed.Headers = c.headers
	feed.ReconnectStrategy = &backoff.StopBackOff{}
	feed.ResponseValidator = func(_ *sse.Client, res *http.Response) error {
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		close(connected)
		return nil
	}
	go func() {
		defer close(ended)
		_ = feed.SubscribeRawWithContext(ctx, func(e *sse.Event) { hints <- string(e.Data) })
	}()
	c.t.Cleanup(func() { leave(); <-ended })
	select {
	case <-connected:
	case <-ended:
		require.Fail(c.t, "the feed was refused")
	}
	return hints
}

// hinted waits until, after some hint, the list of runs says of the last one what is wanted.
func (c *client) hinted(hints <-chan string, threadID, status string) {
	c.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case data := <-hints:
			require.Regexp(c.t, `^\{"version":[1-9][0-9]*\}$`, data)
			runs := c.get("/threads/" + threadID + "/runs").ok().list()
			if runs[len(runs)-1]["status"] == status {
				return
			}
		case <-timeout:
			require.Fail(c.t, "no hint leads to "+status)
		}
	}
}

func TestFeedHintsAtRunsThatStartAndEnd(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	hints := c.follow()
	id := c.thread()
	run := c.post("/threads/"+id+"/runs", `{"assistant_id":"slow","input":{"wait":600}}`).ok().str("run_id")
	c.hinted(hints, id, "running")
	c.post("/threads/"+id+"/runs/"+run+"/cancel", "").is(http.StatusAccepted)
	c.hinted(hints, id, "interrupted")
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	c.hinted(hints, id, "success")
}

// opened reads the first bytes of the feed and leaves.
func (c *client) opened() *http.Response {
	c.t.Helper()
	ctx, leave := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer leave()
	res := c.open(ctx, http.MethodGet, "/feeds/runs", "")
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		b := make([]byte, len(": heartbeat\n"))
		_, err := io.ReadFull(res.Body, b)
		require.NoError(c.t, err)
		require.Equal(c.t, ": heartbeat\n", string(b))
	}
	return res
}

func TestFeedAsksForPermission(t *testing.T) {
	t.Parallel()
	hooks := tenants()
	hooks.On["threads:search"] = func(_ context.Context, e *auth.Event) (auth.Filter, error) {
		if e.User.Identity != "ann" {
			return nil, auth.ErrForbidden
		}
		return auth.Equal("owner", "ann"), nil
	}
	c := serveTest(t, server.Options{Auth: hooks, CORS: server.CORS{AllowOrigins: []string{"https://good.example"}}})
	ann, bob := c.as(map[string]string{"x-user": "ann"}), c.as(map[string]string{"x-user": "bob"})
	require.Equal(t, http.StatusUnauthorized, c.opened().StatusCode)
	require.Equal(t, http.StatusForbidden, bob.opened().StatusCode)
	require.Equal(t, http.StatusOK, ann.opened().StatusCode)
	for origin, allowed := range map[string]string{"https://good.example": "https://good.example", "https://evil.example": ""} {
		res := ann.as(map[string]string{"Origin": origin}).opened()
		require.Equal(t, allowed, res.Header.Get("Access-Control-Allow-Origin"))
	}
	expired := ann.as(map[string]string{"x-expires": "soon"}).get("/feeds/runs").frames() // D-73
	require.Len(t, expired, 1)
	require.JSONEq(t, `{"error":"Unauthorized","message":"401: credentials expired"}`, expired[0].data)
}

func TestShutdownAbortsFeeds(t *testing.T) { // decisions 11
	t.Parallel()
	s, c, served := running(t, server.Options{Ephemeral: true})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res := c.open(ctx, http.MethodGet, "/feeds/runs", "")
	defer res.Body.Close()
	require.NoError(t, s.Shutdown(ctx))
	require.NoError(t, <-served)
	_, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "no clean end: the client must come again")
}

// TestLibrarysParserReadsRuns: an independent parser reads the frames that ours reads (spec/libraries.md 2).
func TestLibrarysParserReadsRuns(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	large := strings.Repeat("ü\\n\\r\\u2028: data: id: 9 ", 8<<10) // beyond the 64 KiB of line readers (D-16)
	for name, body := range map[string]string{
		"answer":   `{"assistant_id":"echo","input":{"note":"` + large + `"},"stream_mode":["values","updates","messages-tuple","events","tasks","checkpoints","debug"]}`,
		"question": `{"assistant_id":"two","input":{},"stream_mode":["values","updates"]}`,
		"failure":  `{"assistant_id":"fail","input":{},"stream_mode":["values"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			id := c.thread()
			run := c.post("/threads/"+id+"/runs", body).ok().str("run_id")
			path := "/threads/" + id + "/runs/" + run + "/stream"
			a := c.get(path)
			ours := a.frames()
			require.Greater(t, len(ours), 1)

			raw := sse.NewEventStreamReader(strings.NewReader(a.body), 1<<20)
			for _, f := range ours {
				b, err := raw.ReadEvent()
				require.NoError(t, err)
				b = bytes.TrimPrefix(b, []byte(": heartbeat\n"))
				require.Equal(t, "event: "+f.event+"\ndata: "+f.data+"\nid: "+f.id, string(b))
			}
			_, err := raw.ReadEvent()
			require.True(t, errors.Is(err, io.EOF))

			var theirs []frame
			reader := sse.NewClient(c.url+path, sse.ClientMaxBufferSize(1<<20))
			reader.ReconnectStrategy = &backoff.StopBackOff{}
			require.NoError(t, reader.SubscribeRawWithContext(t.Context(), func(e *sse.Event) {
				theirs = append(theirs, frame{string(e.Event), string(e.ID), string(e.Data)})
			}))
			require.Equal(t, ours, theirs)
		})
	}
}

// Of other projects not even the time of a run is told.
func TestFeedHintsAtRunsOfTheCallersProjectOnly(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	ann, eve := k.holder("acme", "ann", "operator"), k.holder("other", "eve", "operator")
	ours, theirs := ann.follow(), eve.follow()
	id := eve.thread()
	eve.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	eve.hinted(theirs, id, "success")
	id = ann.thread()
	run := ann.post("/threads/"+id+"/runs", `{"assistant_id":"slow","input":{"wait":60000}}`).ok().str("run_id")
	require.Equal(t, `{"version":1}`, <-ours, "nothing was counted before")
	ann.post("/threads/"+id+"/runs/"+run+"/cancel?wait=true", "").is(http.StatusNoContent)
	ann.hinted(ours, id, "interrupted")
}

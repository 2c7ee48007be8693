package deploytest

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFirstByteComesAtOnce: with compression on, a proxy holds back neither the
// headers of a stream nor its first comment. // D-62
func TestFirstByteComesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, p proxy) {
		c := startCluster(t, 3)
		through := client{t: t, url: p.start(t, c)}
		thread := through.thread()

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		open := func(path string) *http.Response {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, through.url+path, nil)
			require.NoError(t, err)
			req.Header.Set("Accept-Encoding", "gzip")
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			return res
		}
		document := open("/openapi.json")
		require.Equal(t, "gzip", document.Header.Get("Content-Encoding"), "the proxy compresses")
		require.NoError(t, document.Body.Close())

		best := time.Hour
		for range 20 { // the machine has other things to do, too
			begin := time.Now()
			res := open("/threads/" + thread + "/stream")
			line, err := bufio.NewReader(res.Body).ReadString('\n')
			took := time.Since(begin)
			require.NoError(t, err)
			require.Equal(t, ": heartbeat\n", line)
			require.Empty(t, res.Header.Get("Content-Encoding"))
			require.NoError(t, res.Body.Close())
			best = min(best, took)
		}
		require.Less(t, best, 50*time.Millisecond)
	})
}

// TestHeartbeatsKeepSilentStreamsOpen: a proxy that gives up a silent upstream after
// 8 s, as the default one of nginx does after 60 s, keeps a stream that has nothing
// to say. // D-61
func TestHeartbeatsKeepSilentStreamsOpen(t *testing.T) {
	each(t, func(t *testing.T, p proxy) {
		c := startCluster(t, 3)
		through := client{t: t, url: p.start(t, c, p.impatient)}
		thread := through.thread()
		f := through.follow(thread)
		c.serving(t)
		begin := time.Now()
		eventually(t, "three times the proxy's patience", func() bool { return time.Since(begin) > 25*time.Second || f.breaks() > 0 })
		require.Zero(t, f.breaks(), "after %s", time.Since(begin))
		through.ok(http.MethodPost, "/threads/"+thread+"/runs", `{"assistant_id":"echo_stream","input":{"messages":[{"role":"user","content":"tokens=3"}]}}`)
		f.until(0, "lifecycle", `"completed"`)
		require.Zero(t, f.breaks(), "it was the same stream all the time")
		f.whole()
	})
}

// recovery is how long a client may be without what happens when its replica dies.
const recovery = 20 * time.Second

// TestQuestionSurvivesTheServingReplica: the replica that serves the stream is killed
// while a question waits. The client comes again elsewhere, answers there, and misses
// nothing.
func TestQuestionSurvivesTheServingReplica(t *testing.T) {
	each(t, func(t *testing.T, p proxy) {
		c := startCluster(t, 3)
		through := client{t: t, url: p.start(t, c)}
		thread := through.thread()
		f := through.follow(thread)
		through.ok(http.MethodPost, "/threads/"+thread+"/runs", `{"assistant_id":"approval","input":{"messages":[{"role":"user","content":"tokens=2"}]}}`)
		f.until(0, "input.requested", "May I run transfer?")

		before := f.breaks()
		c.serving(t).kill()
		killed := time.Now()
		eventually(t, "the client has come again", func() bool { return f.breaks() > before })
		var answer map[string]any
		eventually(t, "the answer is accepted", func() bool {
			var err error
			answer, err = through.send(http.MethodPost, "/threads/"+thread+"/runs",
				`{"assistant_id":"approval","command":{"resume":{"decisions":[{"type":"approve"}]}}}`)
			return err == nil
		})
		require.NotEmpty(t, answer["run_id"])
		end := f.until(0, "lifecycle", `"completed"`)
		require.Less(t, end.at.Sub(killed), recovery)
		t.Logf("%s: done %s after the kill", p.name, end.at.Sub(killed).Round(time.Millisecond))
		f.until(0, "values", "sent 100 to acme")
		f.whole()
	})
}

// TestRunSurvivesItsReplica: kill -9 of the replica that carries the run out, in the
// middle of an answer that streams. Another one goes on with it, for the same reader.
func TestRunSurvivesItsReplica(t *testing.T) {
	each(t, func(t *testing.T, p proxy) {
		c := startCluster(t, 3)
		through := client{t: t, url: p.start(t, c)}
		thread := through.thread()
		f := through.follow(thread)
		victim := c.serving(t)
		// Sent to the replica itself, so that it is both the one that serves and the one that works.
		(client{t: t, url: victim.url()}).ok(http.MethodPost, "/threads/"+thread+"/runs",
			`{"assistant_id":"echo_stream","input":{"messages":[{"role":"user","content":"tokens=40 delay_us=50000"}]}}`)
		f.until(0, "messages", "content-block-delta")
		victim.kill()
		killed := time.Now()
		n := len(f.all())
		end := f.until(n, "lifecycle", `"completed"`)
		require.Less(t, end.at.Sub(killed), recovery)
		t.Logf("%s: done %s after the kill", p.name, end.at.Sub(killed).Round(time.Millisecond))
		f.whole()
		state := through.ok(http.MethodGet, "/threads/"+thread+"/state", "")
		require.Len(t, state["values"].(map[string]any)["messages"], 2, "one question, one answer")
		require.Empty(t, state["next"])
	})
}

// TestRollingRestart: each replica in turn is stopped as an orchestrator does it,
// while a client works all the time. No request fails but on purpose, and no stream
// misses anything.
func TestRollingRestart(t *testing.T) {
	each(t, func(t *testing.T, p proxy) {
		c := startCluster(t, 3, "PARLEY_DRAIN=3s", "PARLEY_GRACE=10s")
		through := client{t: t, url: p.start(t, c)}
		thread := through.thread()
		f := through.follow(thread)
		turn := func() {
			n := len(f.all())
			through.ok(http.MethodPost, "/threads/"+thread+"/runs",
				`{"assistant_id":"echo_stream","input":{"messages":[{"role":"user","content":"tokens=20 delay_us=20000"}]}}`)
			f.until(n, "lifecycle", `"completed"`)
		}
		turns := 0
		for _, r := range c.replicas {
			stopped := make(chan time.Duration, 1)
			go func() { stopped <- r.stop() }()
			for leaving := true; leaving; turns++ {
				turn()
				select {
				case took := <-stopped:
					require.Less(t, took, 3*time.Second+10*time.Second+5*time.Second)
					leaving = false
				default:
				}
			}
			turn()
			turns++
			r.start()
			r.ready()
		}
		f.whole()
		require.GreaterOrEqual(t, f.breaks(), 1, "its replica was among them")
		state := through.ok(http.MethodGet, "/threads/"+thread+"/state", "")
		require.Len(t, state["values"].(map[string]any)["messages"], 2*turns)
		var ends int
		for _, e := range f.all() {
			if e.is("lifecycle", `"completed"`) {
				ends++
			}
		}
		require.Equal(t, turns, ends)
		require.NotContains(t, strings.Join(methods(f.all()), " "), "error")
	})
}

func methods(events []event) (all []string) {
	for _, e := range events {
		all = append(all, e.Method)
	}
	return all
}

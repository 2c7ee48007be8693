package server_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// D-01, D-08: kill -9 in mid-run. No reader takes it for the end; on the server
// that comes up again they go on behind their last event, soon, and miss no end.
func TestReaderGoesOnAfterTheServerWasKilled(t *testing.T) {
	t.Parallel()
	env := []string{"PARLEY_PORT=0", "PARLEY_DATA=" + t.TempDir(), "PARLEY_AGENTS=first"}
	cmd, url, _ := child(t, env, "serve")
	c := &client{t: t, url: url}
	id := c.thread()
	r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"slow","input":{"wait":0.3,"note":"x"},"stream_mode":["values","custom"]}`)
	whole := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	seen := r.frames(3)
	require.Equal(t, []string{"metadata", "values", "custom"}, events(seen))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for _, r := range []*reading{r, whole} {
		_, err := r.drain()
		require.Error(t, err)
		require.NotEqual(t, io.EOF, err, "no clean end")
	}

	began := time.Now()
	cmd, url, _ = child(t, env, "serve")
	c = &client{t: t, url: url}
	path := r.res.Header.Get("Location")
	rest := c.after(seen[2].id).read(http.MethodGet, path, "").rest()
	require.Less(t, time.Since(began), 20*time.Second)
	require.NotEmpty(t, rest)
	last := 2
	for _, f := range rest {
		n, err := strconv.Atoi(f.id)
		require.NoError(t, err)
		require.Greater(t, n, last, "no number is used twice")
		last = n
	}
	require.Empty(t, named(rest, "error", "metadata"), "another attempt is neither an error nor a new run (D-67)")
	require.Equal(t, []any{"waited"}, rest[len(rest)-1].json(t)["log"])
	require.Equal(t, "success", c.get(strings.TrimSuffix(path, "/stream")).ok().str("status"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// D-20, D-22: a question that was asked while nobody looked is there after the
// server was killed: in the state, in the thread, on both streams; and it can be answered.
func TestQuestionOutlivesTheServer(t *testing.T) {
	t.Parallel()
	env := []string{"PARLEY_PORT=0", "PARLEY_DATA=" + t.TempDir(), "PARLEY_AGENTS=third"}
	cmd, url, _ := child(t, env, "serve")
	c := &client{t: t, url: url}
	id := c.thread()
	run := c.start(id, `{"assistant_id":"ask","input":{"note":"x"}}`) // in the background
	c.until("asked", func() bool { return c.get("/threads/"+id).ok().str("status") == "interrupted" })
	for range 2 { // a redeploy, and another one
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		cmd, url, _ = child(t, env, "serve")
		c = &client{t: t, url: url}
	}
	open := c.questions(id)
	require.Len(t, open, 1)
	require.Contains(t, string(raw(t, c.get("/threads/"+id).body, "interrupts")), open[0])
	require.Contains(t, c.post("/threads/search", `{"status":"interrupted"}`).ok().body, open[0])
	replay := c.get("/threads/" + id + "/runs/" + run + "/stream").frames()
	ids, ok := replay[len(replay)-1].notice()
	require.True(t, ok)
	require.Equal(t, open, ids)
	whole := c.after("-1").read(http.MethodGet, "/threads/"+id+"/stream", "").frames(len(replay))
	ids, _ = whole[len(whole)-1].notice()
	require.Equal(t, open, ids)
	require.Equal(t, "yes", c.post("/threads/"+id+"/runs/wait", resumeBody("ask", open[0], `"yes"`)).ok().json()["answer"])
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// D-109: it runs without a key and calls nobody, and the documentation says so first.
func TestServerNeedsNoKeyAndCallsNobody(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	called := make(chan struct{})
	go func() {
		defer close(called)
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			t.Error("the server called somebody")
			_ = conn.Close()
		}
	}()
	proxy := "http://" + l.Addr().String()
	env := []string{"PARLEY_PORT=0", "PARLEY_EPHEMERAL=1", "PARLEY_AGENTS=first,third"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+proxy, strings.ToLower(name)+"="+proxy)
	}
	for _, name := range []string{"LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGGRAPH_CLOUD_LICENSE_KEY", "OPENAI_API_KEY"} {
		env = append(env, name+"=")
	}
	cmd, url, _ := child(t, env, "serve")
	c := &client{t: t, url: url}
	c.post("/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	interrupted(c, "ask")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.NoError(t, l.Close())
	<-called

	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	intro, _, _ := strings.Cut(string(readme), "\n## ")
	require.Contains(t, strings.ToLower(intro), "no key")
	require.Contains(t, strings.ToLower(intro), "calls nobody")
}

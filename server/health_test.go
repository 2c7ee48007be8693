package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread/local"
)

// lost is a store that can go out of reach.
type lost struct {
	*local.Store
	err error
}

func (l *lost) Ping(context.Context) error { return l.err }

// TestProbes: readiness follows the store and the server's end, liveness doesn't;
// neither needs a key.
func TestProbes(t *testing.T) {
	t.Parallel()
	store, err := local.Open(t.Context(), local.Options{Ephemeral: true})
	require.NoError(t, err)
	away := &lost{Store: store}
	c := serveTest(t, server.Options{Store: away, Auth: tenants()})
	c.get("/ok").is(http.StatusUnauthorized)
	ann := c.as(map[string]string{"x-user": "ann"})
	require.JSONEq(t, `{"ok":true}`, c.get("/readyz").ok().body)

	away.err = errors.New("dial 10.0.0.1: refused")
	a := c.get("/readyz").is(http.StatusServiceUnavailable)
	require.JSONEq(t, `{"ok":false,"reason":"the store doesn't answer"}`, a.body)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	ann.get("/ok?check_db=1").is(http.StatusServiceUnavailable)
	require.Contains(t, ann.get("/metrics").ok().body, "\nparley_ready 0\n")
	ann.get("/ok?check_db=0").ok()
	ann.get("/ok").ok()
	require.JSONEq(t, `{"ok":true}`, c.get("/livez").ok().body)
}

// TestDrainingServerIsAliveButNotReady: after a signal readiness says no at once,
// while all else goes on for as long as it was told to.
func TestDrainingServerIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	cmd, addr, _ := child(t, []string{"PARLEY_PORT=0", "PARLEY_EPHEMERAL=1", "PARLEY_AGENTS=first", "PARLEY_DRAIN=1m"}, "serve")
	c := &client{t: t, url: addr}
	u, err := url.Parse(addr)
	require.NoError(t, err)
	health := func(more ...string) (int, string) {
		code, out, errs := command(append([]string{"health", "--port", u.Port(), "--timeout", "30s"}, more...)...)
		return code, out + errs
	}
	code, says := health()
	require.Zero(t, code, says)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	c.until("not ready", func() bool { return c.get("/readyz").status == http.StatusServiceUnavailable })
	code, says = health()
	require.Equal(t, 1, code)
	require.Contains(t, says, "shutting down")
	code, _ = health("--live")
	require.Zero(t, code)
	c.post("/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // the second one kills
	require.Error(t, cmd.Wait())
	code, says = health("--timeout", "5s")
	require.Equal(t, 1, code)
	require.Contains(t, says, "refused")
}

// TestDrainEnds: the delay is not a minimum that anybody has to wait for twice.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	cmd, _, _ := child(t, []string{"PARLEY_PORT=0", "PARLEY_EPHEMERAL=1", "PARLEY_AGENTS=first"}, "serve", "--drain", "200ms", "--grace", "1s")
	begin := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
}

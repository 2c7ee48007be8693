package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread/local"
)

// inward is a server inside, which counts what reaches it.
func inward(t *testing.T) (address string, got *atomic.Int32) {
	t.Helper()
	got = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	t.Cleanup(s.Close)
	return s.URL, got
}

// Where callers have to say who they are, they can't send the server to addresses that only it can reach.
func TestWebhooksDoNotGoInside(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	c := k.holder("acme", "ann", "operator")
	for _, address := range []string{
		"http://127.0.0.1:6379/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/latest/meta-data", "http://[fe80::1]/",
		"http://10.0.0.1/", "http://192.168.0.1/", "http://[::ffff:172.16.0.1]/", "http://0.0.0.0/",
	} {
		text, err := json.Marshal(address)
		require.NoError(t, err)
		run := `{"assistant_id":"echo","input":{},"webhook":` + string(text) + `,"schedule":"0 0 1 1 *","multitask_strategy":"enqueue"}`
		id := c.thread()
		for _, path := range []string{
			"/threads/" + id + "/runs", "/threads/" + id + "/runs/stream", "/threads/" + id + "/runs/wait", "/threads/" + id + "/runs/crons",
			"/runs", "/runs/stream", "/runs/wait", "/runs/crons",
		} {
			a := c.post(path, run)
			require.Equal(t, http.StatusBadRequest, a.status, "%s %s: %s", path, address, a.body)
			require.Contains(t, a.body, `"webhook"`, "it names the field")
			require.Contains(t, a.body, "inside the server's own network")
		}
		require.Equal(t, http.StatusBadRequest, c.post("/runs/batch", "["+run+"]").status)
		cron := c.post("/runs/crons", `{"assistant_id":"echo","input":{},"schedule":"0 0 1 1 *","webhook":"https://example.com/"}`).ok().str("cron_id")
		require.Equal(t, http.StatusBadRequest, c.patch("/runs/crons/"+cron, `{"webhook":`+string(text)+`}`).status)
		require.Empty(t, c.get("/threads/"+id+"/runs").ok().list(), "nothing was started")
	}
}

// A bare server serves callers of this machine alone: they reach its addresses anyhow.
func TestWebhooksOfABareServerGoToThisMachine(t *testing.T) {
	t.Parallel()
	address, got := inward(t)
	store, err := local.Open(t.Context(), local.Options{Ephemeral: true})
	require.NoError(t, err)
	c := serveTest(t, server.Options{Store: store})
	run := `{"assistant_id":"echo","input":{},"webhook":"` + address + `"}`
	c.post("/runs/wait", run).ok()
	c.until("it was told", func() bool { return got.Load() == 1 })

	_, text, err := apikeys.Create(t.Context(), store, apikeys.Request{Project: "default", Name: "ann", Roles: []string{"operator"}})
	require.NoError(t, err)
	ann := c.as(bearer(text))
	c.until("the key counts", func() bool { return c.get("/threads/x").status == http.StatusUnauthorized })
	ann.post("/runs/wait", run).is(http.StatusBadRequest)
}

// --insecure-anonymous is for callers from everywhere.
func TestWebhooksOfAnInsecureServerDoNotGoInside(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Identity: server.Identity{InsecureAnonymous: true}})
	c.post("/runs/wait", `{"assistant_id":"echo","input":{},"webhook":"http://127.0.0.1:1/"}`).is(http.StatusBadRequest)
}

func TestWebhooksGoInsideWhereTheyAreAllowedTo(t *testing.T) {
	t.Parallel()
	address, got := inward(t)
	u, err := url.Parse(address)
	require.NoError(t, err)
	k := serveKeyed(t, server.Options{WebhookInside: []string{u.Host}})
	c := k.holder("acme", "ann", "operator")
	c.post("/runs/wait", `{"assistant_id":"echo","input":{},"webhook":"`+address+`/hook"}`).ok()
	c.until("it was told", func() bool { return got.Load() == 1 })
	c.post("/runs/wait", `{"assistant_id":"echo","input":{},"webhook":"http://127.0.0.1:1/"}`).is(http.StatusBadRequest)
	_, err = server.New(server.Options{Agents: testAgents(), Ephemeral: true, WebhookInside: []string{"http://x/"}})
	require.ErrorContains(t, err, "WebhookInside")
}

func TestHostsInsideAreNamedByAFlagOrTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		env  string
	}{
		"flag":        {args: []string{"--webhook-allow", "hooks.lan", "--webhook-allow", "not a host"}},
		"environment": {env: "PARLEY_WEBHOOK_ALLOW=hooks.lan,not a host"},
	} {
		args, err := json.Marshal(append([]string{"serve", "--ephemeral", "--port", "0"}, tt.args...))
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(args), tt.env)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, name)
		require.Contains(t, string(out), `"not a host" is neither a host nor an address range`, name)
	}
}

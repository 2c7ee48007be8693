package server_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// No key, token or cookie is in the log, at whatever level, and none in what runs keep of their request.
func TestSecretsStayOutOfLogsAndRuns(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	s := newSigning(t)
	p, bootstrap := apikeys.New()
	k := serveKeyed(t, server.Options{
		Logger:   slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Identity: server.Identity{Tokens: s.options(), BootstrapKey: bootstrap, SessionKey: strings.Repeat("seal", 10)},
		MCP:      &server.MCP{},
	})
	_, key := k.make(apikeys.Request{Project: "acme", Name: "ada", Roles: []string{"owner"}})
	good, old := s.token(time.Hour, nil), s.token(-time.Hour, nil)
	cookie, _ := signIn(k.client, key)
	secrets := []string{
		key[len(key)-49:], bootstrap[len(bootstrap)-49:], p.Hash(), good, old, strings.Split(good, ".")[2], strings.Split(old, ".")[2],
		strings.TrimPrefix(cookie["Cookie"], "parley_session="), strings.Repeat("seal", 10), "s3cr3t-header",
	}
	for _, headers := range []map[string]string{
		bearer(key), {"x-api-key": key}, bearer(good), bearer(old), bearer(key[:len(key)-1]), bearer("Basic " + key), cookie, bearer(bootstrap),
	} {
		c := k.as(headers).as(page).as(map[string]string{"X-Parley-Custom-Authorization": "s3cr3t-header"})
		c.get("/threads/" + missingID)
		c.post("/threads/"+missingID+"/runs/stream", `{"assistant_id":"echo","input":{}}`)
		c.post("/mcp", "{")
		c.get("/api/v1/projects/acme/keys")
		c.get("/api/v1/projects/other/keys")
		c.post("/api/v1/session", `{"credential":"`+strings.TrimPrefix(headers["Authorization"], "Bearer ")+`"}`)
	}
	ada := k.as(bearer(key)).as(map[string]string{"x-api-key": key, "X-Parley-Custom-Authorization": "s3cr3t-header", "Cookie": cookie["Cookie"]})
	thread := ada.thread()
	run := ada.post("/threads/"+thread+"/runs", `{"assistant_id":"echo","input":{}}`).ok().str("run_id")
	ada.get("/threads/" + thread + "/runs/" + run + "/join").ok()
	left := ada.begun(t, http.MethodPost, "/threads/"+ada.thread()+"/runs/stream", `{"assistant_id":"slow","input":{"wait":600}}`)
	require.NoError(t, left.Body.Close())
	ada.until("something is logged", func() bool { return log.String() != "" })
	seen := map[string]string{
		"log": log.String(), "run": ada.get("/threads/" + thread + "/runs/" + run).ok().body, "state": ada.get("/threads/" + thread + "/state").ok().body,
		"thread": ada.get("/threads/" + thread).ok().body, "keys": ada.get("/api/v1/projects/acme/keys").ok().body,
		"audit": ada.get("/api/v1/projects/acme/audit").ok().body, "metrics": ada.get("/metrics").ok().body,
	}
	for where, text := range seen {
		for _, secret := range secrets {
			require.NotContains(t, text, secret, where)
		}
	}
	ada.do(http.MethodDelete, "/threads/"+thread, "").is(http.StatusNoContent)
}

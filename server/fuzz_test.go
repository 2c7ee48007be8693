package server_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// FuzzResumeBody: whatever is sent as an answer, the server accepts or refuses
// it with a reason; it never fails, and a refused answer leaves the question open.
func FuzzResumeBody(f *testing.F) {
	for _, seed := range []string{
		`{"resume":true}`, `{"resume":null}`, `{}`, `null`, `{"resume":{"ID":1}}`, `{"resume":{"00000000000000000000000000000000":1}}`,
		`{"resume":1,"update":{"messages":[["human","x"]]}}`, `{"resume":1,"update":[["note","x"],["log",["a"]]]}`,
		`{"resume":1,"goto":"after"}`, `{"resume":1,"goto":[{"node":"ask","input":null},"nowhere"]}`, `{"update":{"note":3}}`,
		`{"resume":1,"update":{"messages":[{"type":"remove","id":"x"}]}}`, `{"resume":1,"graph":"PARENT"}`, `{"resume":1,"update":[1]}`,
		`{"resume":1,"update":{"answer":{"__overwrite__":1}}}`, `{"goto":{"node":"ask"}}`,
	} {
		f.Add(seed)
	}
	s, err := server.New(server.Options{Agents: testAgents(), Ephemeral: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(f, err)
	require.NoError(f, s.Start(f.Context()))
	f.Cleanup(func() { _ = s.Shutdown(f.Context()) })
	call := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost" // who isn't on this machine needs a key
		s.Handler().ServeHTTP(w, r)
		return w
	}
	f.Fuzz(func(t *testing.T, command string) {
		if !json.Valid([]byte(command)) {
			return
		}
		var th struct {
			ID         string `json:"thread_id"`
			Status     string `json:"status"`
			Interrupts map[string][]struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(call(http.MethodPost, "/threads", "{}").Body.Bytes(), &th))
		at := "/threads/" + th.ID
		call(http.MethodPost, at+"/runs/wait", `{"assistant_id":"ask","input":{}}`)
		require.NoError(t, json.Unmarshal(call(http.MethodGet, at, "").Body.Bytes(), &th))
		for _, open := range th.Interrupts {
			command = strings.ReplaceAll(command, `"ID"`, `"`+open[0].ID+`"`)
		}
		w := call(http.MethodPost, at+"/runs/wait", `{"assistant_id":"ask","config":{"recursion_limit":5},"command":`+command+`}`)
		require.Contains(t, []int{200, 400, 409, 422}, w.Code, "%s: %s", command, w.Body)
		if w.Code != http.StatusOK {
			require.NoError(t, json.Unmarshal(call(http.MethodGet, at, "").Body.Bytes(), &th))
			require.Equal(t, "interrupted", th.Status, command)
			return
		}
		require.True(t, json.Valid(w.Body.Bytes()))
	})
}

package captures_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	graphs "github.com/parley-dev/parley/agent/conformance"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/conformance"
	"github.com/parley-dev/parley/thread"
)

// mainSet is the server that the set "main" was recorded from, with its configuration.
func mainSet() server.Options {
	return server.Options{
		Agents: graphs.MainSet(), Routes: conformance.Routes(),
		GraphDefaults: map[string]thread.GraphDefault{
			"agent":          {Config: json.RawMessage(`{"configurable":{"model_name":"openai"}}`)},
			"simple_runtime": {Context: json.RawMessage(`{"model":"unknown"}`)},
		},
	}
}

// The sets of the frontend suites.
func reactSet() server.Options   { return server.Options{Agents: graphs.ReactSet()} }
func vueSet() server.Options     { return server.Options{Agents: graphs.VueSet()} }
func angularSet() server.Options { return server.Options{Agents: graphs.AngularSet()} }

// serve starts a server in memory and returns its address.
func serve(t *testing.T, o server.Options) string {
	t.Helper()
	o.Ephemeral, o.Logger = true, slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		h.Close()
	})
	return h.URL
}

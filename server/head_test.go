package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// TestMonitorsMayAskWithHead: uptime checks and wget --spider send HEAD.
func TestMonitorsMayAskWithHead(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for path, want := range map[string]int{"/": 200, "/ok": 200, "/livez": 200, "/readyz": 200, "/info": 200, "/docs": 200, "/openapi.json": 200, "/threads": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, c.url+path, nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, path)
	}
}

package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

func TestTheAppIsServedToBrowsersAndTheHintToPrograms(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for path, page := range map[string]bool{"/": true, "/app": true, "/app/chat/1": true, "/reviews": true, "/reviews/7": true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, page, resp.Header.Get("Content-Security-Policy") != "", path)
	}
	require.Contains(t, c.get("/").body, "/docs")
}

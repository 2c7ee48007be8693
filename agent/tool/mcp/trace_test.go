package mcp_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

func TestACallIsAPartOfTheRunsTrace(t *testing.T) {
	t.Parallel()
	const p = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, opts := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, nil)
			r.stop()
			var mu sync.Mutex
			var got []string
			r.headers = func(h http.Header) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, h.Values(agent.TraceHeader)...)
			}
			r.start(opts)
			s := connect(t, r.config())
			_, err := thread(t, s.Tools(), "net_count", `{}`).Run(agent.WithTraceParent(t.Context(), p), map[string]any{"messages": "go"})
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, []string{p}, got, "the call alone: the connection is all runs'")
		})
	}
}

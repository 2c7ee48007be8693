package request_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool/request"
)

func TestARequestIsAPartOfTheRunsTrace(t *testing.T) {
	t.Parallel()
	const p = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get(agent.TraceHeader) }))
	t.Cleanup(s.Close)
	_, err := thread(t, request.Config{URL: s.URL}, `{}`).Run(agent.WithTraceParent(t.Context(), p), map[string]any{"messages": "go"})
	require.NoError(t, err)
	require.Equal(t, p, got)
}

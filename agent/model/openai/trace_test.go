package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
)

func TestACallIsAPartOfTheRunsTrace(t *testing.T) {
	t.Parallel()
	const p = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, done)})
	m := newModel(t, s)
	require.NoError(t, wiretest.Call(agent.WithTraceParent(t.Context(), p), m, wiretest.Ask("hi")).Err)
	require.Equal(t, p, s.Last(t).Header.Get(agent.TraceHeader))
	require.NoError(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")).Err)
	require.Empty(t, s.Last(t).Header.Values(agent.TraceHeader))
}

package stream_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// BenchmarkFollowRun follows a run of 200 tokens from its creation, as POST
// /threads/{id}/runs/stream does.
func BenchmarkFollowRun(b *testing.B) {
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m})
	w := newWorker(m, hub, newRun("run", "messages-tuple"))
	batch := []thread.Entry{
		w.entry(agent.RunStarted, "", agent.RunStart{Attempt: 1}),
		w.entry(agent.MessageStarted, "node:task", agent.MessageStart{ID: "m", Streamed: true, Meta: agent.MessageMeta{Node: "node", CheckpointNS: "node:task"}}),
	}
	for range 200 {
		batch = append(batch, w.entry(agent.BlockDelta, "node:task", agent.Delta{ID: "m", Type: "text", Text: "0000 "}))
	}
	batch = append(batch, w.entry(agent.RunFinished, "", agent.RunFinish{Status: "success"}))
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
	require.NoError(b, err)
	m.end(w.run, thread.RunSuccess)
	b.ReportAllocs()
	for b.Loop() {
		release := hub.Watch("thread")
		s := hub.OpenRun(&w.run, stream.Options{FromStart: true})
		release()
		hub.Publish("thread", batch)
		hub.RunEnded("thread", "run")
		require.NoError(b, s.Serve(&discard{http.Header{}}, r))
	}
}

package stream_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// TestMissedEventsAreReadFromTheLog: whatever part of a run another process's
// messages didn't bring, a reader that was there from the start sees all of it, once.
func TestMissedEventsAreReadFromTheLog(t *testing.T) {
	t.Parallel()
	for range 20 {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		m := newMemory()
		hub := stream.NewHub(stream.HubOptions{Source: m})
		t.Cleanup(hub.Close)
		run := newRun("run", "custom")
		w := newWorker(m, hub, run)
		s := server(t, hub, m, func(o *stream.Options) { o.FromStart = true })
		r := connect(t, s.URL+"/run", "")
		_, err := r.in.ReadString('\n') // the stream has taken its place
		require.NoError(t, err)
		batch := []thread.Entry{w.entry(agent.RunStarted, "", agent.RunStart{Attempt: 1})}
		for i := range 60 {
			batch = append(batch, w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage(strconv.Itoa(i))}))
		}
		for len(batch) > 0 {
			n := min(1+random.IntN(8), len(batch))
			m.store(run.ThreadID, batch[:n]...)
			if random.IntN(3) > 0 {
				hub.Publish(run.ThreadID, batch[:n])
			} else {
				hub.Missed(run.ThreadID, batch[n-1].Pos)
			}
			batch = batch[n:]
		}
		w.finish()
		require.Equal(t, m.reference(t, run), r.rest())
	}
}

// relay notes which threads are watched.
type relay struct {
	mu      sync.Mutex
	watched map[string]int
}

func (r *relay) Watch(threadID string) { r.add(threadID, 1) }

func (r *relay) Unwatch(threadID string) { r.add(threadID, -1) }

func (r *relay) add(threadID string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watched[threadID] += n; r.watched[threadID] == 0 {
		delete(r.watched, threadID)
	}
}

// TestRelayIsToldOfWatchedThreads: of each once, however many readers it has.
func TestRelayIsToldOfWatchedThreads(t *testing.T) {
	t.Parallel()
	r := &relay{watched: map[string]int{}}
	hub := stream.NewHub(stream.HubOptions{Source: newMemory()})
	t.Cleanup(hub.Close)
	hub.SetRelay(r)
	first, second, other := hub.Watch("a"), hub.Watch("a"), hub.Watch("b")
	require.Equal(t, map[string]int{"a": 1, "b": 1}, r.watched)
	first()
	other()
	require.Equal(t, map[string]int{"a": 1}, r.watched)
	second()
	require.Empty(t, r.watched)
}

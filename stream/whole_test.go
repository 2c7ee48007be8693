package stream_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// A reader of a run that was created while its thread was watched needs no read
// of the log, unless more happened meanwhile than the ring holds.
func TestRunFromStartIsReadFromMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ring      int // bytes
		earlier   int // events of a run before
		fromStart bool
		reads     bool
	}{
		"watched":       {0, 0, true, false},
		"second run":    {0, 50, true, false},
		"not watched":   {0, 0, false, true},
		"ring overflow": {2048, 0, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: c.ring})
			t.Cleanup(hub.Close)
			first := newWorker(m, hub, newRun("first", "custom"))
			first.start()
			for range c.earlier {
				first.custom("1")
			}
			first.finish()

			run := newRun("run", "custom")
			w := newWorker(m, hub, run)
			w.pos, w.seq = first.pos, first.seq
			s := server(t, hub, m, func(o *stream.Options) { o.FromStart = c.fromStart })
			r := connect(t, s.URL+"/run", "")
			comment, err := r.in.ReadString('\n') // the stream has taken its place
			require.NoError(t, err)
			require.Equal(t, ": heartbeat\n", comment)
			// All at once, so that nobody can have read the first ones before the last.
			batch := []thread.Entry{w.entry(agent.RunStarted, "", agent.RunStart{Attempt: 1})}
			for i := range 100 {
				batch = append(batch, w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage(strconv.Itoa(i))}))
			}
			w.commit(batch...)
			w.finish()
			got := r.rest()
			m.mu.Lock()
			reads := m.reads
			m.mu.Unlock()
			require.Equal(t, m.reference(t, run), got)
			require.Equal(t, c.reads, reads > 0, "reads of the log: %d", reads)
		})
	}
}

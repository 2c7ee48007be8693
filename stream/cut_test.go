package stream_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// snapshot cuts a log up to pos as a store does.
func (m *memory) snapshot(t require.TestingT, threadID string, pos int64) {
	newest, err := m.NewestRun(nil, threadID) //nolint:staticcheck // it looks at no context
	run := &newest
	if err != nil {
		run = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var seq int64
	var kept []thread.Entry
	for _, e := range m.log[threadID] {
		if e.Pos <= pos {
			seq = max(seq, e.Seq)
			continue
		}
		kept = append(kept, e)
		if run != nil && e.RunID == run.ID {
			run = nil
		}
	}
	var heads []agent.CheckpointRecord
	for _, h := range m.heads[threadID] {
		heads = append(heads, agent.CheckpointRecord{NS: h.NS, ID: h.Note.ID, Step: h.Note.Step, Source: h.Note.Source, AtMillis: 1})
	}
	states, ends, ok := thread.Snapshot(pos, seq, heads, run)
	if !ok {
		return
	}
	m.log[threadID] = slices.Concat(states, ends, kept)
}

// notice reads a gap signal.
func notice(f frame.Frame) (from, to int64, ok bool) {
	if f.Label == nil || f.Label.Name != stream.GapName {
		return 0, 0, false
	}
	var data struct {
		Params struct {
			Data struct{ Payload struct{ From, To int64 } }
		}
	}
	_, text, _ := strings.Cut(string(f.Wire), "data: ")
	text, _, _ = strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		panic(err)
	}
	return data.Params.Data.Payload.From, data.Params.Data.Payload.To, true
}

// told is a running thread of one run with n events and one state.
func told(t *testing.T, ring, n int) (*memory, *stream.Hub, *worker) {
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: ring})
	t.Cleanup(hub.Close)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.values(3)
	m.heads["thread"] = []thread.Head{{Note: agent.CheckpointNote{ID: "run-1", Step: 1, Source: "loop"}}}
	w.customs(n)
	return m, hub, w
}

func (w *worker) customs(n int) {
	for i := range n {
		w.custom(fmt.Sprint(i))
	}
	w.flush()
}

// D-03: a replay under which the log is cut begins again with the snapshot, and
// says what it left out.
func TestALogIsCutUnderAReplay(t *testing.T) {
	t.Parallel()
	m, hub, w := told(t, 1<<20, 1500)
	w.finish()
	r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
	defer r.Close()
	var last int64
	for last == 0 {
		frames, _, err := r.Step(t.Context())
		require.NoError(t, err)
		if len(frames) > 0 {
			last = frames[len(frames)-1].Seq
		}
	}
	require.Less(t, last, w.seq, "one batch")
	for _, cut := range []int64{last - 200, w.pos - 2, w.pos} {
		// Only once: after the first the reader has its place behind or in what the next ones cut.
		m.snapshot(t, "thread", cut)
	}
	var got []frame.Frame
	for done := false; !done; {
		var frames []frame.Frame
		var err error
		frames, done, err = r.Step(t.Context())
		require.NoError(t, err)
		for _, f := range frames {
			f.Wire = slices.Clone(f.Wire)
			got = append(got, f)
		}
	}
	require.Equal(t, []string{"custom", "checkpoints", "values", "lifecycle", "lifecycle"}, methods(got))
	from, to, ok := notice(got[0])
	require.True(t, ok)
	require.Equal(t, []int64{last + 1, w.seq}, []int64{from, to})
	require.Equal(t, w.seq, got[4].Seq)
}

// D-03: the same for readers of a run that is active, whom the ring in memory is too small for.
func TestALogIsCutUnderLiveReaders(t *testing.T) {
	t.Parallel()
	m, hub, w := told(t, 2_000, 10)
	step := func(r *stream.EventReader) (got []frame.Frame) {
		for done := false; !done; {
			var frames []frame.Frame
			var err error
			frames, done, err = r.Step(t.Context())
			require.NoError(t, err)
			for _, f := range frames {
				f.Wire = slices.Clone(f.Wire)
				got = append(got, f)
			}
		}
		return got
	}
	var readers []stream.EventReader
	for range 2 {
		r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
		require.NotEmpty(t, step(&r))
		readers = append(readers, r)
		defer r.Close()
	}
	seen := w.seq
	w.customs(500)
	w.finish()
	m.snapshot(t, "thread", w.pos)
	var first []string
	for i := range readers {
		got := step(&readers[i])
		from, to, ok := notice(got[0])
		require.True(t, ok)
		require.Equal(t, []int64{seen + 1, w.seq}, []int64{from, to})
		require.Equal(t, []string{"custom", "checkpoints", "values", "lifecycle", "lifecycle"}, methods(got))
		if i == 0 {
			first = frameIDs(got)
		}
		require.Equal(t, first, frameIDs(got), "to everyone the same")
	}
	next := w.nextRun("next")
	next.start()
	next.finish()
	for i := range readers {
		require.Equal(t, []string{"lifecycle", "lifecycle"}, methods(step(&readers[i])), "and the stream goes on")
	}
}

// Whenever a log is cut, each reader gets every event once and in order, or is
// told that it is lost, and comes to the end. // D-03, D-06
func TestEveryReaderGetsOverCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: rapid.SampledFrom([]int{1_000, 4_000, 1 << 20}).Draw(rt, "ring")})
		defer hub.Close()
		w := &world{t: rt, m: m, hub: hub}
		type client struct {
			r     *stream.EventReader
			since int64
			got   [][]frame.Frame
			from  []int64
		}
		var clients []*client
		roots := map[int64]bool{} // seqs of beginnings and ends of runs
		connect := func(c *client) {
			r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything(), Since: c.since})
			c.r, c.got, c.from = &r, append(c.got, nil), append(c.from, c.since)
		}
		take := func(c *client, n int) {
			for done := false; n > 0 && !done; n-- {
				var frames []frame.Frame
				var err error
				frames, done, err = c.r.Step(rt.Context())
				require.NoError(rt, err)
				for _, f := range frames {
					f.Wire = slices.Clone(f.Wire)
					at := len(c.got) - 1
					c.got[at] = append(c.got[at], f)
					c.since = f.Seq
				}
			}
		}
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			switch what := rapid.SampledFrom([]string{"start", "step", "step", "burst", "values", "finish", "cut", "connect", "take", "take", "leave", "comeBack"}).Draw(rt, "what"); what {
			case "start":
				w.start()
			case "step":
				w.step("plain")
			case "burst":
				if w.running() {
					w.worker.customs(rapid.SampledFrom([]int{5, 50, 600}).Draw(rt, "events"))
				}
			case "values":
				w.step("values")
				if w.running() {
					id := fmt.Sprintf("%s-%d", w.worker.run.ID, w.worker.steps)
					m.heads["thread"] = []thread.Head{{Note: agent.CheckpointNote{ID: id, Source: "loop"}}}
				}
			case "finish":
				w.step("finish")
			case "cut":
				if w.worker != nil && !w.running() {
					rootsOf(m, roots)
					m.snapshot(rt, "thread", w.worker.pos)
				}
			case "connect":
				c := &client{}
				clients = append(clients, c)
				connect(c)
			default:
				if len(clients) == 0 {
					continue
				}
				c := rapid.SampledFrom(clients).Draw(rt, "client")
				switch {
				case what == "take" && c.r != nil:
					take(c, rapid.IntRange(1, 4).Draw(rt, "times"))
				case what == "leave" && c.r != nil:
					c.r.Close()
					c.r = nil
				case what == "comeBack" && c.r == nil:
					connect(c)
				}
			}
		}
		w.start()
		w.worker.finish()
		end := w.worker.seq
		rootsOf(m, roots)
		wires := map[string]string{}
		for n, c := range clients {
			if c.r == nil {
				connect(c)
			}
			take(c, 10_000)
			c.r.Close()
			require.Equal(rt, end, c.since, "client %d comes to the end", n)
			for i, got := range c.got {
				accountFor(rt, fmt.Sprintf("client %d, connection %d from %d", n, i, c.from[i]), c.from[i], got, wires, roots)
			}
		}
		require.Zero(rt, hub.Watched())
	})
}

// rootsOf notes which seqs tell of beginnings and ends of runs.
func rootsOf(m *memory, roots map[int64]bool) {
	for _, e := range m.log["thread"] {
		if !e.Snapshot && (e.Event.Kind == agent.RunStarted || e.Event.Kind == agent.RunFinished) {
			roots[e.Seq] = true
		}
	}
}

// accountFor checks what one connection brought to a client that had the events up to since.
func accountFor(t require.TestingT, who string, since int64, got []frame.Frame, wires map[string]string, roots map[int64]bool) {
	last, snapshot := since, int64(0)
	ids := map[string]bool{}
	for _, f := range got {
		id := string(f.ID())
		require.False(t, ids[id], "%s: twice: %s", who, id)
		ids[id] = true
		from, to, gap := notice(f)
		if !gap { // the signal depends on the reader
			if wire, ok := wires[id]; ok {
				require.Equal(t, wire, string(f.Wire), "%s: %s", who, id)
			}
			wires[id] = string(f.Wire)
		}
		next := f.Seq
		switch {
		case gap:
			require.GreaterOrEqual(t, to, from, who)
			next = from
		case f.Seq <= snapshot:
			require.True(t, strings.HasPrefix(id, "synth:"), "%s: %s", who, id)
			continue
		}
		// The beginnings and ends of superseded runs are left out of a replay.
		require.Greater(t, next, last, who)
		for last++; last < next; last++ {
			require.True(t, roots[last], "%s: %d is missing before %s", who, last, id)
		}
		if gap {
			last, snapshot = to, to
		}
	}
}

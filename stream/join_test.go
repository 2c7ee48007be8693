package stream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// Decisions 2: tokens are published before they are stored. A reader that joins
// between finds them neither in its ring nor in the log yet, and must not lose them.
func TestJoinerWaitsForWhatIsNotStoredYet(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "messages-tuple"))
	w.start()
	w.open("m")
	w.token("m", "published before the watch, stored later")
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	c.events(1)
	w.token("m", "published into the ring")
	read := make(chan []string)
	go func() { read <- c.events(2) }()
	select {
	case <-read:
		t.Fatal("went on without the missing token")
	case <-time.After(20 * time.Millisecond):
	}
	w.flush()
	require.Equal(t, []string{"1", "2"}, ids(<-read))
	w.finish()
	require.Empty(t, c.rest())
}

// The same when the run then says nothing more: nobody would wake the reader.
func TestJoinerSeesWhatIsStoredLaterThoughTheRunIsSilent(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "messages-tuple"))
	w.start()
	w.open("m")
	w.token("m", "published before the watch, stored later")
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	c.events(1) // the reader has taken all there is, and waits
	w.flush()
	require.Equal(t, []string{"1"}, ids(c.events(1)))
	w.finish()
	require.Empty(t, c.rest())
}

// A watch that begins before the run does keeps what a later reader needs.
func TestWatchKeepsWhatIsNotStored(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	release := hub.Watch("thread")
	w := newWorker(m, hub, newRun("run", "messages-tuple"))
	w.start()
	w.open("m")
	w.token("m", "a")
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	release()
	release()
	require.Len(t, c.events(2), 2)
	w.finish()
	require.Empty(t, c.rest())
	require.Eventually(t, func() bool { return hub.Watched() == 0 }, time.Second, time.Millisecond)
	hub.Publish("thread", []thread.Entry{w.entry(agent.CustomWritten, "", agent.Custom{})}) // costs nothing
}

// Decisions 2: after a crash the numbers jump; what a dead worker had delivered
// but not stored is gone, and a client that knows of it is told.
func TestRecoveredRunJumpsAndTellsTheGap(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "values", "messages-tuple"))
	s := server(t, hub, m, nil)
	live := connect(t, s.URL+"/run", "")
	w.start()
	w.values(1)
	w.open("m")
	w.token("m", "a")
	require.Equal(t, []string{"0", "1", "2"}, ids(live.events(3)))

	w.waiting = nil // the worker dies with the token unstored
	w.pos, w.seq = 1<<20, 1<<20
	w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2, FrameBase: 1 << 20}))
	w.values(1)
	require.Equal(t, []string{"1048576"}, ids(live.events(1)), "no second metadata (decisions 7)")
	w.finish()
	require.Empty(t, live.rest())

	for cursor, want := range map[string]struct {
		ids []string
		gap bool
	}{
		"":        {[]string{"0", "1", "1048576"}, false},
		"1":       {[]string{"1048576"}, false},
		"2":       {[]string{"1048576"}, true}, // delivered by the dead worker
		"7":       {[]string{"1048576"}, true},
		"1048576": {nil, false},
	} {
		c := connect(t, s.URL+"/run", cursor)
		body := new(strings.Builder)
		require.Equal(t, want.gap, c.response.Header.Get(stream.GapHeader) == "truncated", "after %q", cursor)
		for {
			line, err := c.in.ReadString('\n')
			if err != nil {
				break
			}
			body.WriteString(line)
		}
		require.Equal(t, want.gap, strings.Contains(body.String(), ": gap\n"), "after %q", cursor)
		require.Equal(t, want.ids, ids([]string{body.String()}), "after %q", cursor)
	}
}

// A run whose beginning a fail-over took begins anew, as a first attempt if the new master knows
// nothing of one. Who was told of the first beginning and who comes later are told the same under a number.
func TestARunThatBeginsAnewHasTheSameNumbersForAll(t *testing.T) {
	t.Parallel()
	for attempt := 1; attempt <= 2; attempt++ {
		m, hub := setup(t)
		w := newWorker(m, hub, newRun("run", "values", "custom"))
		s := server(t, hub, m, nil)
		live := connect(t, s.URL+"/run", "")
		w.start()
		w.values(1)
		require.Equal(t, []string{"0", "1"}, ids(live.events(2)))
		m.cut("thread", 1<<20) // they are gone with the master
		w.pos, w.seq = 1<<20, 1<<20
		w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: attempt, FrameBase: 1 << 20}))
		w.values(1)
		w.custom(`"x"`)
		w.finish()
		first := live.rest()
		later := connect(t, s.URL+"/run", "").rest()
		require.Equal(t, []string{"1048576", "1048577"}, ids(first))
		require.Equal(t, []string{"1048575", "1048576", "1048577"}, ids(later))
		require.Contains(t, later[0], fmt.Sprintf(`"attempt":%d`, attempt))
		require.Equal(t, first, later[1:])
	}
}

// A state that is gone, as with a master, or that isn't yet where it is looked for, isn't passed over in silence.
func TestAFrameWhoseStateIsGoneIsAGap(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "values", "custom"))
	w.start()
	w.values(1)
	w.custom(`"x"`)
	w.finish()
	clear(m.states)
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	body, err := io.ReadAll(c.in)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "2"}, ids([]string{string(body)}))
	require.Contains(t, string(body), ": gap\nevent: custom")
}

// What a worker stored last, and what nobody has heard of yet when this process takes
// the run over, comes before what follows.
func TestTakenOverRunShowsWhatWasStoredLast(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "values", "custom"))
	s := server(t, hub, m, nil)
	live := connect(t, s.URL+"/run", "")
	w.start()
	w.values(1)
	require.Equal(t, []string{"0", "1"}, ids(live.events(2)))
	m.store("thread", w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage(`"last"`)}))
	w.pos, w.seq = 1<<20, 1<<20
	w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2, FrameBase: 1 << 20}))
	w.values(1)
	require.Equal(t, []string{"2", "1048576"}, ids(live.events(2)))
	w.finish()
	require.Empty(t, live.rest())
}

// Tokens that were published before the watch and died with their worker never
// come: the next owner's start ends the wait.
func TestJoinerDoesNotWaitForADeadWorker(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "messages-tuple", "custom"))
	w.start()
	w.custom("1")
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	c.events(1)
	w.custom("2")
	w.waiting = nil
	w.pos, w.seq = 1000, 1000
	w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2, FrameBase: 1000}))
	w.custom("3")
	w.finish()
	require.Equal(t, []string{"event: custom\ndata: 3\nid: 1000\n\n"}, c.rest())
}

// D-03, decisions 3: a log without its start says so; the rest is shown.
func TestTruncatedLogIsAnnounced(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "custom"))
	w.start()
	w.custom("1")
	w.custom("2")
	w.finish()
	m.mu.Lock()
	m.log["thread"] = m.log["thread"][2:]
	m.mu.Unlock()
	s := server(t, hub, m, nil)
	for _, cursor := range []string{"", "1", "40"} {
		c := connect(t, s.URL+"/run", cursor)
		require.Equal(t, "truncated", c.response.Header.Get(stream.GapHeader))
		require.Len(t, c.rest(), 1)
	}
	m.mu.Lock()
	m.log["thread"] = nil
	m.mu.Unlock()
	require.Empty(t, connect(t, s.URL+"/run", "").response.Header.Get(stream.GapHeader))
	c := connect(t, s.URL+"/run", "1")
	require.Equal(t, "truncated", c.response.Header.Get(stream.GapHeader))
	require.Empty(t, c.rest())
}

// D-05: a batch that is published twice is shown once.
func TestRepeatedPublishIsShownOnce(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "custom"))
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	w.start()
	e := w.entry(agent.CustomWritten, "", agent.Custom{})
	for range 3 {
		hub.Publish("thread", []thread.Entry{e})
	}
	m.store("thread", e)
	w.finish()
	require.Equal(t, []string{"0", "1"}, ids(c.rest()))
}

// A run's owner publishes its last events behind the commit that lets the next
// run start, so that they may come behind that one's first: nobody loses them.
func TestLastEventsMayComeBehindTheNextRuns(t *testing.T) {
	t.Parallel()
	for name, watchedBefore := range map[string]bool{"in the ring": true, "only in the log": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, hub := setup(t)
			s := server(t, hub, m, nil)
			first := newWorker(m, hub, newRun("first", "custom"))
			first.start()
			first.custom("1")
			first.flush()
			var c *client
			if watchedBefore {
				c = connect(t, s.URL+"/first", "")
				c.events(2)
			}
			last := []thread.Entry{first.entry(agent.CustomWritten, "", agent.Custom{}), first.entry(agent.RunFinished, "", agent.RunFinish{Status: "success"})}
			m.store("thread", last...)
			if !watchedBefore {
				c = connect(t, s.URL+"/first", "")
				c.events(3)
			}
			m.setRun(newRun("first")) // its row is final only a moment later
			second := first.nextRun("second", "custom")
			second.start()
			hub.Publish("thread", last)
			hub.Publish("thread", last)
			m.end(first.run, thread.RunSuccess)
			hub.RunEnded("thread", "first")
			if watchedBefore {
				require.Equal(t, []string{"2"}, ids(c.rest()))
			}
			require.Empty(t, c.rest())
			require.Equal(t, []string{"0"}, ids(connect(t, s.URL+"/second", "").events(1)))
			second.finish()
		})
	}
}

// The end of a run that was dropped while another one had the lease is told behind that one's
// beginning, with the time at which it was dropped, and may be heard of before: it is the same thread.
func TestABeginningThatIsHeardOfLateBeginsNoOtherThread(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	first := newWorker(m, hub, newRun("first", "custom"))
	first.start()
	first.finish()
	r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
	defer r.Close()
	take := func() (seqs []int64) {
		for done := false; !done; {
			frames, end, err := r.Step(t.Context())
			require.NoError(t, err)
			for _, f := range frames {
				seqs = append(seqs, f.Seq)
			}
			done = end
		}
		return seqs
	}
	require.Equal(t, []int64{1, 2}, take())
	second := first.nextRun("second", "custom")
	begin := second.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 1})
	dropped := second.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 1, Unbegun: true})
	dropped.RunID, dropped.Event.At = "dropped", begin.Event.At-1000
	m.store("thread", begin, dropped)
	hub.Publish("thread", []thread.Entry{dropped})
	hub.Publish("thread", []thread.Entry{begin})
	second.custom("1")
	second.flush()
	require.Equal(t, []int64{3, 4, 5}, take())
}

// A thread that takes the id of a deleted one counts from 1 again.
func TestRecreatedThreadStartsOver(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, nil)
	defer hub.Watch("thread")()
	old := newWorker(m, hub, newRun("old", "custom"))
	old.start()
	for range 5 {
		old.custom("1")
	}
	old.finish()
	m.mu.Lock()
	m.log["thread"] = nil
	m.mu.Unlock()
	w := newWorker(m, hub, newRun("new", "custom"))
	c := connect(t, s.URL+"/new", "")
	e := w.entry(agent.RunStarted, "", agent.RunStart{Attempt: 1})
	e.Event.At += 1000
	w.commit(e)
	w.custom("2")
	require.Len(t, c.events(2), 2)
	w.finish()
}

// Design 3.11, D-65: a reader that stands still delays neither the worker nor
// the other readers, and gets every event once it reads on.
func TestStalledReaderDelaysNobody(t *testing.T) {
	t.Parallel()
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: 64 << 10})
	t.Cleanup(hub.Close)
	w := newWorker(m, hub, newRun("run", "values", "custom"))
	s := server(t, hub, m, nil)
	stalled := connect(t, s.URL+"/run", "")
	var quick []*client
	for range 5 {
		quick = append(quick, connect(t, s.URL+"/run", ""))
	}
	w.start()
	for range 64 { // far beyond socket buffers and ring
		w.values(256 << 10)
		w.custom("1")
		for _, c := range quick {
			c.events(1)
		}
	}
	w.finish()
	all := m.reference(t, w.run)
	for _, c := range quick {
		require.Equal(t, ids(all[64:]), ids(c.rest()))
	}
	require.Equal(t, all, stalled.rest())
}

// D-15, D-16: whatever a reader asks for, wherever it joins, however slow it is
// and however often it comes again: it gets the frames that it asked for, each
// once, in order.
func TestEveryReaderGetsItsFramesOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: rapid.SampledFrom([]int{1 << 10, 8 << 10, 4 << 20}).Draw(rt, "ring")})
		defer hub.Close()
		w := newWorker(m, hub, newRun("run", "values", "messages-tuple", "custom", "checkpoints"))
		s := server(t, hub, m, nil)

		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 5, 60).Draw(rt, "steps")
		type plan struct {
			modes []string
			join  int // before this step
			stops []int
		}
		plans := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) plan {
			return plan{
				modes: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"values", "messages-tuple", "custom", "checkpoints"}), 0, 3, rapid.ID).Draw(rt, "modes"),
				join:  rapid.IntRange(0, len(steps)).Draw(rt, "join"),
				stops: rapid.SliceOfN(rapid.IntRange(0, 10), 0, 3).Draw(rt, "stops"),
			}
		}), 1, 4).Draw(rt, "readers")

		got := make([][]string, len(plans))
		var readers sync.WaitGroup
		reader := func(i int) {
			defer readers.Done()
			url := s.URL + "/run?"
			for _, mode := range plans[i].modes {
				url += "mode=" + mode + "&"
			}
			last := ""
			for stop := 0; ; stop++ {
				c := connect(t, url, last)
				limit := 1 << 30
				if stop < len(plans[i].stops) {
					limit = plans[i].stops[stop]
				}
				for range limit {
					e, err := c.event()
					if err != nil {
						return
					}
					got[i] = append(got[i], e)
					last = ids([]string{e})[0]
				}
				c.cancel()
				_ = c.response.Body.Close()
			}
		}
		readers.Add(len(plans))
		w.start()
		for i, step := range steps {
			for r, p := range plans {
				if p.join == i {
					go reader(r)
				}
			}
			switch step {
			case 0:
				w.values(i * 40)
			case 1:
				w.open(fmt.Sprint("m", i))
				w.token(fmt.Sprint("m", i), strings.Repeat("t", i))
			case 2:
				w.custom(fmt.Sprint(i))
			case 3:
				w.flush()
			default:
				w.token(fmt.Sprint("m", i-1), "x")
			}
		}
		w.finish()
		for r, p := range plans {
			if p.join == len(steps) {
				go reader(r)
			}
		}
		readers.Wait()
		all := m.reference(t, w.run)
		for r, p := range plans {
			want := all
			if len(p.modes) > 0 {
				names := append([]string{"metadata"}, p.modes...)
				if slices.Contains(names, "messages-tuple") {
					names = append(names, "messages")
				}
				want = only(all, names...)
			}
			if !slices.Equal(want, got[r]) {
				rt.Fatalf("reader %d: want ids %v, got %v", r, ids(want), ids(got[r]))
			}
		}
	})
}

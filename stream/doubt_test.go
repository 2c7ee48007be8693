package stream_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// twoServers is a log of which a deposed server has what it had then. Which of the two
// answers changes with the connections.
type twoServers struct {
	*memory
	deposed *memory
	old     atomic.Bool // the deposed one answers
	asked   atomic.Int64
}

func (s *twoServers) of() *memory {
	s.asked.Add(1)
	if s.old.Load() {
		return s.deposed
	}
	return s.memory
}

func (s *twoServers) ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]thread.Entry, error) {
	return s.of().ReadLog(ctx, threadID, after, limit)
}

func (s *twoServers) ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]thread.Entry, error) {
	return s.of().ReadRunLog(ctx, threadID, runID, after, limit)
}

func (s *twoServers) LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error) {
	return s.of().LogEnd(ctx, threadID)
}

func (s *twoServers) GetRun(ctx context.Context, threadID, runID string) (thread.Run, error) {
	return s.of().GetRun(ctx, threadID, runID)
}

// depose has a second server that knows what there is now, and answers from now on.
func depose(s *twoServers) {
	s.deposed = newMemory()
	for id, log := range s.log {
		s.deposed.log[id] = append([]thread.Entry(nil), log...)
		s.deposed.ends[id] = s.ends[id]
	}
	for id, run := range s.runs {
		s.deposed.runs[id] = run
	}
	for id, state := range s.states {
		s.deposed.states[id] = state
	}
	s.old.Store(true)
}

func newTwoServers(t *testing.T) (*twoServers, *stream.Hub) {
	s := &twoServers{memory: newMemory()}
	hub := stream.NewHub(stream.HubOptions{Source: s})
	t.Cleanup(hub.Close)
	return s, hub
}

// follow takes what readers of both protocols get until there is nothing more. Where the reader
// asks to be called again it waits for as long, at most; pending tells whether it still does.
func follow(t *testing.T, step func(context.Context) (names []string, done, missing bool, err error), wait time.Duration) (got []string, pending bool) {
	for deadline := time.Now().Add(wait); ; {
		names, done, missing, err := step(t.Context())
		require.NoError(t, err)
		got = append(got, names...)
		switch {
		case missing && time.Now().Before(deadline):
			time.Sleep(50 * time.Millisecond) // of the bubble
		case done:
			return got, missing
		}
	}
}

type stepper func(context.Context) (names []string, done, missing bool, err error)

func eventSteps(r stream.EventReader) stepper {
	return func(ctx context.Context) ([]string, bool, bool, error) {
		frames, done, err := r.Step(ctx)
		return methods(frames), done, r.Missing(), err
	}
}

func runSteps(r stream.RunReader) stepper {
	return func(ctx context.Context) (names []string, done, missing bool, err error) {
		frames, state, err := r.Step(ctx)
		if r.Lost() {
			names = append(names, "gap")
		}
		for _, f := range frames {
			names = append(names, f.Name())
		}
		return names, state != "more", state == "missing", err
	}
}

// A server that doesn't know yet that it was deposed lacks what readers are told of: they wait
// until the log has it, and miss nothing. // D-03
func TestADeposedServersLogIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(hub *stream.Hub, entries []thread.Entry){
		"told that there is something": func(hub *stream.Hub, entries []thread.Entry) {
			hub.Missed("thread", entries[len(entries)-1].Pos)
		},
		"told of what follows": func(hub *stream.Hub, entries []thread.Entry) {
			hub.Publish("thread", entries[len(entries)-1:])
		},
	} {
		for protocol, open := range map[string]func(hub *stream.Hub, run thread.Run) (stepper, func()){
			"thread": func(hub *stream.Hub, _ thread.Run) (stepper, func()) {
				r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
				return eventSteps(r), r.Close
			},
			"run": func(hub *stream.Hub, run thread.Run) (stepper, func()) {
				r := hub.NewRunReader(run)
				return runSteps(r), r.Close
			},
		} {
			t.Run(name+", "+protocol, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, hub := newTwoServers(t)
					w := newWorker(s.memory, hub, newRun("run", "custom"))
					w.start()
					step, done := open(hub, w.run)
					defer done()
					got, _ := follow(t, step, 0)
					require.Len(t, got, 1)
					depose(s)
					unheard := []thread.Entry{
						w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage("1")}),
						w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage("2")}),
						w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2, FrameBase: 1 << 20}),
					}
					s.store("thread", unheard...)
					tell(hub, unheard)
					got, pending := follow(t, step, time.Second)
					require.Empty(t, got)
					require.True(t, pending, "nothing is taken for lost yet")
					s.old.Store(false)
					w.custom("3")
					w.flush()
					got, pending = follow(t, step, time.Second)
					require.False(t, pending)
					require.NotContains(t, got, "gap")
					custom := 0
					for _, name := range got {
						if name == "custom" {
							custom++
						}
					}
					require.Equal(t, 3, custom)
				})
			})
		}
	}
}

// What a fail-over took is not waited for for ever, and is announced. // D-03
func TestWhatAFailOverTookIsAGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, hub := newTwoServers(t)
		w := newWorker(s.memory, hub, newRun("run", "custom"))
		w.start()
		s.heads["thread"] = []thread.Head{}
		r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
		defer r.Close()
		got, _ := follow(t, eventSteps(r), 0)
		require.Len(t, got, 1)
		lost := w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage("1")})
		hub.Missed("thread", lost.Pos)
		got, pending := follow(t, eventSteps(r), time.Minute)
		require.Empty(t, got)
		require.False(t, pending)
		asked := s.asked.Load()
		got, pending = follow(t, eventSteps(r), time.Minute)
		require.Empty(t, got)
		require.False(t, pending)
		require.Equal(t, asked, s.asked.Load(), "it doesn't ask for ever")
		w.pos, w.seq = 1<<20, 1<<20
		w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2, FrameBase: 1 << 20}))
		w.custom("2")
		w.flush()
		got, _ = follow(t, eventSteps(r), time.Minute)
		require.Equal(t, []string{"custom", "custom"}, got, "the gap, and what follows; a second beginning isn't told")
	})
}

// The end of a run that was announced, and isn't known to the server that is asked, ends no
// stream; where a fail-over took it the run goes on. // D-11
func TestAnEndThatIsNotKnownEndsNoStream(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"asked was a deposed server": false, "a fail-over took it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, hub := newTwoServers(t)
				w := newWorker(s.memory, hub, newRun("run", "custom"))
				w.start()
				r := hub.NewRunReader(w.run)
				defer r.Close()
				got, _ := follow(t, runSteps(r), 0)
				require.Equal(t, []string{"metadata"}, got)
				if !taken {
					depose(s)
					s.store("thread", w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage("1")}), w.entry(agent.RunFinished, "", agent.RunFinish{Status: "success"}))
					s.end(w.run, thread.RunSuccess)
				}
				hub.RunEnded("thread", "run")
				got, pending := follow(t, runSteps(r), time.Second)
				require.Empty(t, got)
				require.True(t, pending)
				if taken {
					got, pending = follow(t, runSteps(r), time.Minute)
					require.Empty(t, got)
					require.False(t, pending, "it waits for the run to go on")
					w.custom("1")
					w.finish()
				} else {
					s.old.Store(false)
				}
				got, _ = follow(t, runSteps(r), time.Minute)
				require.Equal(t, []string{"custom"}, got)
				_, state, err := r.Step(t.Context())
				require.NoError(t, err)
				require.Equal(t, "ended", state)
			})
		})
	}
}

// Between runs a thread's stream asks a deposed server again, too.
func TestAThreadStreamFindsTheNextRunOnceItsServerKnowsOfIt(t *testing.T) {
	t.Parallel()
	s, hub := newTwoServers(t)
	first := newWorker(s.memory, hub, newRun("first", "custom"))
	first.start()
	first.finish()
	c := connect(t, server(t, hub, s.memory, nil).URL+"/thread", "-1")
	require.Equal(t, []string{"metadata"}, names(c.events(1)))
	depose(s)
	asked := s.asked.Load()
	second := first.nextRun("second", "custom")
	second.start()
	second.custom("1")
	second.finish()
	require.Eventually(t, func() bool { return s.asked.Load() > asked+4 }, 30*time.Second, time.Millisecond)
	s.old.Store(false)
	require.Equal(t, []string{"metadata", "custom"}, names(c.events(2)))
}

package stream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// world is a thread with its runs and readers, driven step by step.
type world struct {
	t       *rapid.T
	m       *memory
	hub     *stream.Hub
	worker  *worker
	waiting *thread.Run
	runs    int
	texts   int
	crashes int
	readers []*eventClient
}

// eventClient is a client that comes again from where it left off.
type eventClient struct {
	filter protocol.Filter
	r      *stream.EventReader
	got    []frame.Frame
	since  int64
	opened []opening
}

// opening is what a connection knew when it was opened.
type opening struct {
	since int64    // its cursor
	end   int64    // Pos of the newest entry
	runs  []string // whose beginning and end are told although they are past
}

func (w *world) running() bool { return w.worker != nil && !w.m.runs[w.worker.run.ID].Status.Ended() }

// admit makes a run that waits for its turn.
func (w *world) admit() {
	if w.waiting != nil {
		return
	}
	w.runs++
	run := newRun(fmt.Sprintf("run-%d", w.runs))
	run.CreatedAt, run.StartedAt, run.Status = run.StartedAt.AddDate(0, 0, w.runs), time.Time{}, thread.RunPending
	w.m.setRun(run)
	w.waiting = &run
}

// start starts the run that waits, or one that was not admitted before.
func (w *world) start() {
	if w.running() {
		return
	}
	w.admit()
	run := *w.waiting
	run.StartedAt, run.Status = run.CreatedAt, thread.RunRunning
	w.waiting = nil
	next := newWorker(w.m, w.hub, run)
	if w.worker != nil {
		next.pos, next.seq = w.worker.pos, w.worker.seq
	}
	w.worker = next
	next.start()
}

// overtake ends the run, starts the next and only then publishes the end.
func (w *world) overtake() {
	last := w.worker.entry(agent.RunFinished, "", agent.RunFinish{Status: "success"})
	w.worker.flush()
	w.m.store("thread", last)
	w.m.end(w.worker.run, thread.RunSuccess)
	w.start()
	for _, c := range w.readers {
		w.take(c, 2)
	}
	w.hub.Publish("thread", []thread.Entry{last})
}

// step does one thing that a worker does.
func (w *world) step(what string) {
	if !w.running() {
		return
	}
	w.texts++
	switch what {
	case "open":
		w.worker.open("m")
	case "token":
		for range 5 {
			w.worker.token("m", fmt.Sprint(w.texts))
		}
	case "custom":
		w.worker.custom(fmt.Sprintf(`{"name":"n%d","payload":%d}`, w.texts%2, w.texts))
	case "plain":
		w.worker.custom(fmt.Sprint(w.texts))
	case "values":
		w.worker.values(w.texts % 300)
	case "child":
		ns := "child:task|inner:task"[:10+11*(w.texts%2)]
		w.worker.commit(w.worker.entry(agent.NamespaceStarted, ns, agent.NamespaceNote{Name: "child"}))
	case "ask":
		w.worker.commit(w.worker.entry(agent.InterruptRaised, "", agent.InterruptInfo{ID: fmt.Sprint(w.texts % 3)}))
	case "flush":
		w.worker.flush()
	case "finish":
		w.worker.finish()
	case "overtake":
		w.overtake()
	case "crash": // what was not stored is lost; another worker goes on behind the reserved numbers
		w.worker.waiting = nil
		w.worker.pos += 1000
		w.worker.seq += 1000
		w.crashes++
		w.worker.commit(w.worker.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2}))
	}
}

func (w *world) connect(c *eventClient) {
	end, _, err := w.m.LogEnd(w.t.Context(), "thread")
	require.NoError(w.t, err)
	inflight, err := w.m.Inflight(w.t.Context(), "thread")
	require.NoError(w.t, err)
	o := opening{since: c.since, end: end}
	for _, r := range inflight {
		o.runs = append(o.runs, r.ID)
	}
	if newest, err := w.m.NewestRun(w.t.Context(), "thread"); err == nil && len(inflight) == 0 {
		o.runs = append(o.runs, newest.ID)
	}
	c.opened = append(c.opened, o)
	r := w.hub.NewEventReader("thread", stream.EventOptions{Filters: protocol.Filters{c.filter}, Since: c.since})
	c.r = &r
	w.take(c, 1) // it has found its place
}

// take lets a client take at most n times.
func (w *world) take(c *eventClient, n int) {
	for i := 0; i < n && c.r != nil; i++ {
		frames, done, err := c.r.Step(w.t.Context())
		require.NoError(w.t, err)
		for _, f := range frames {
			f.Wire = slices.Clone(f.Wire)
			c.got = append(c.got, f)
			c.since = f.Seq
		}
		if done {
			return
		}
	}
}

func drawFilter(t *rapid.T) protocol.Filter {
	names := []string{"values", "updates", "checkpoints", "messages", "tools", "lifecycle", "input", "custom", "tasks", "custom:n0", "custom:n1", "unknown"}
	s := protocol.Subscription{Channels: rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "channels")}
	switch rapid.IntRange(0, 3).Draw(t, "namespaces") {
	case 1:
		s.Namespaces = [][]string{{}}
	case 2:
		s.Namespaces = [][]string{{"child"}, {"node:task"}}
	}
	if rapid.Bool().Draw(t, "deep") {
		depth := rapid.IntRange(0, 2).Draw(t, "depth")
		s.Depth = &depth
	}
	return protocol.NewFilter(s)
}

// Whatever clients ask for, and whenever they come, leave, come again and read,
// each gets the events that pass its filter once, in order, under the same ids and
// with the same bytes, or is told of a gap. // D-02, D-04, D-15, D-16, M-27, M-36, M-37, M-45, M-51
func TestEveryReaderGetsTheSameEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: rapid.SampledFrom([]int{2_000, 20_000, 1 << 20}).Draw(rt, "ring")})
		defer hub.Close()
		w := &world{t: rt, m: m, hub: hub}
		steps := []string{"open", "token", "token", "custom", "plain", "values", "child", "ask", "flush", "finish", "overtake", "crash"}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			switch what := rapid.SampledFrom([]string{"admit", "start", "step", "step", "step", "step", "reader", "take", "take", "leave", "comeBack"}).Draw(rt, "what"); what {
			case "admit":
				w.admit()
			case "start":
				w.start()
			case "step":
				w.step(rapid.SampledFrom(steps).Draw(rt, "step"))
			case "reader":
				c := &eventClient{filter: drawFilter(rt)}
				w.readers = append(w.readers, c)
				w.connect(c)
			default:
				if len(w.readers) == 0 {
					continue
				}
				c := rapid.SampledFrom(w.readers).Draw(rt, "reader")
				switch {
				case what == "take":
					w.take(c, rapid.IntRange(1, 4).Draw(rt, "times"))
				case what == "leave" && c.r != nil:
					c.r.Close()
					c.r = nil
				case what == "comeBack" && c.r == nil:
					w.connect(c)
				}
			}
		}
		if w.running() {
			w.worker.finish()
		}
		log := w.log()
		for i, c := range w.readers {
			if c.r == nil {
				w.connect(c)
			}
			w.take(c, 10_000)
			c.r.Close()
			w.check(fmt.Sprintf("reader %d", i), c, log)
		}
		require.Zero(rt, hub.Watched())
	})
}

// log is what the log, read at once, gives.
func (w *world) log() []frame.Frame {
	entries, err := w.m.ReadLog(w.t.Context(), "thread", 0, 1<<30)
	require.NoError(w.t, err)
	p := protocol.New(protocol.Options{})
	var all []frame.Frame
	for _, e := range entries {
		var state *agent.State
		if id := p.NeedsState(e); id != "" {
			state = w.m.states[e.Event.NS+id]
		}
		if f, ok := p.Project(e, state); ok {
			all = append(all, f)
		}
	}
	return all
}

// check compares what a client got with the log.
func (w *world) check(who string, c *eventClient, log []frame.Frame) {
	inLog := map[string]string{}
	for _, f := range log {
		inLog[string(f.ID())] = string(f.Wire)
	}
	var want, got []string
	seen := map[string]bool{}
	for i, f := range c.got {
		id := string(f.ID())
		if f.Pos == 0 {
			continue // told in place of lost events
		}
		require.False(w.t, seen[id], "%s got %s twice", who, id)
		seen[id] = true
		if i > 0 && c.got[i-1].Pos > 0 {
			require.Greater(w.t, f.Seq, c.got[i-1].Seq, who)
		}
		if wire, ok := inLog[id]; ok {
			require.Equal(w.t, wire, string(f.Wire), who)
			got = append(got, id)
		} else {
			require.Positive(w.t, w.crashes, "%s got %s, which was never stored", who, id)
		}
	}
	for _, f := range log {
		if c.filter.Passes(f.Label) && !c.superseded(&f) {
			want = append(want, string(f.ID()))
		}
	}
	require.Equal(w.t, want, got, who)
}

// superseded reports whether the client was to be told nothing of the event,
// because it came to know of the thread when the event was past.
func (c *eventClient) superseded(f *frame.Frame) bool {
	if !f.Label.Root {
		return false
	}
	for i, o := range c.opened {
		// The connection that the event fell to: the last whose cursor lies before it.
		if i+1 < len(c.opened) && c.opened[i+1].since < f.Seq {
			continue
		}
		return f.Pos <= o.end && !slices.Contains(o.runs, f.Label.RunID)
	}
	return false
}

// A cursor whose events were lost with a worker is told so, with the state as it
// is now. // D-03
func TestACursorInAHoleIsToldOfTheGap(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.values(3)
	w.flush()
	m.heads["thread"] = []thread.Head{{Note: agent.CheckpointNote{ID: "run-1", Step: 1, Source: "loop"}, State: m.states["run-1"]}}
	lost := w.entry(agent.CustomWritten, "", agent.Custom{Value: []byte("1")}) // reached its reader, never the log
	w.pos, w.seq = w.pos+1000, w.seq+1000
	w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2}))
	w.finish()
	got := drain(t, hub, stream.EventOptions{Filters: everything(), Since: lost.Seq})
	require.Equal(t, []string{"custom", "checkpoints", "values", "lifecycle"}, methods(got))
	require.Contains(t, string(got[0].Wire), `"data":{"name":"parley.gap","payload":{"from":5,"to":1004}}`)
	require.Contains(t, string(got[1].Wire), `"data":{"id":"run-1","step":1,"source":"loop"}`)
	require.Equal(t, "synth:gap:1002", string(got[0].ID()))
	for i := 1; i < len(got); i++ {
		require.Greater(t, got[i].Seq, got[i-1].Seq)
	}
	require.Equal(t, frameIDs(got), frameIDs(drain(t, hub, stream.EventOptions{Filters: everything(), Since: lost.Seq})), "another reader gets the same")
}

// Events that a reader is told are lost don't come behind that although the ring still has
// them, as those of a run that was rolled back: their numbers are used. // D-03
func TestLostEventsDoNotFollowTheirGap(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.values(3)
	m.heads["thread"] = []thread.Head{{Note: agent.CheckpointNote{ID: "run-1", Step: 1, Source: "loop"}, State: m.states["run-1"]}}
	kept := slices.Clone(m.log["thread"])
	keeps := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()}) // and with it the ring
	defer keeps.Close()
	for done := false; !done; {
		var err error
		_, done, err = keeps.Step(t.Context())
		require.NoError(t, err)
	}
	lost := w.seq + 1 // reached its reader, never the log
	w.pos, w.seq = w.pos+1000, w.seq+1000
	m.end(w.run, thread.RunSuccess)
	undone := w.nextRun("undone")
	undone.run.CreatedAt = undone.run.StartedAt
	undone.start()
	undone.values(3)
	undone.custom("1")
	undone.flush()
	m.log["thread"] = kept
	undone.finish()
	got := drain(t, hub, stream.EventOptions{Filters: everything(), Since: lost})
	require.Equal(t, []string{"custom", "checkpoints", "values", "lifecycle"}, methods(got))
	require.Contains(t, string(got[0].Wire), fmt.Sprintf(`"payload":{"from":%d,"to":%d}`, lost+1, undone.seq-1))
	for i := 1; i < len(got); i++ {
		require.Greater(t, got[i].Seq, got[i-1].Seq)
	}
}

// Between a worker's death and the next attempt the log ends behind its last entry: the numbers of
// the dead are not given again. Who comes then is told once how the run began and what it answers.
func TestAReaderBetweenTwoAttemptsKnowsOfTheFirst(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "custom"))
	w.start()
	w.commit(w.entry(agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{"i"}}))
	first := w.seq
	w.pos, w.seq = 1<<20, 1<<20
	m.ends["thread"] = thread.Entry{Pos: w.pos, Seq: w.seq}
	r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything(), Since: first})
	defer r.Close()
	s := server(t, hub, m, nil)
	follows := connect(t, s.URL+"/thread", "")
	require.Equal(t, []string{"metadata"}, names(follows.events(1)), "it begins with the active run")
	take := func() (got []string) {
		for done := false; !done; {
			frames, end, err := r.Step(t.Context())
			require.NoError(t, err)
			got, done = append(got, methods(frames)...), end
		}
		return got
	}
	require.Empty(t, take())
	w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 2, FrameBase: 1 << 20}),
		w.entry(agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{"i"}}),
		w.entry(agent.CustomWritten, "", agent.Custom{Value: []byte("1")}))
	require.Equal(t, []string{"custom"}, take())
	require.Equal(t, []string{"custom"}, names(follows.events(1)))
}

// A state that a fail-over took before it was read leaves no silent hole: its reader
// is told, with the state as it is now. // D-03
func TestAStateThatIsGoneIsAGap(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.values(3)
	w.flush()
	m.heads["thread"] = []thread.Head{{Note: agent.CheckpointNote{ID: "run-1", Step: 1, Source: "loop"}, State: m.states["run-1"]}}
	r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
	defer r.Close()
	step := func() (got []string) {
		for done := false; !done; {
			frames, end, err := r.Step(t.Context())
			require.NoError(t, err)
			got, done = append(got, methods(frames)...), end
		}
		return got
	}
	step()
	w.commit(w.entry(agent.ValuesEmitted, "", &agent.ValuesNote{CheckpointID: "lost"}))
	w.custom("1")
	w.flush()
	require.Equal(t, []string{"custom", "checkpoints", "values", "custom"}, step())
}

// A log that was cut is replaced by the present state and how the newest run
// went; a thread without a log is, too. // D-03, D-06, M-50
func TestACutLogIsToldByTheStateAndTheNewestRun(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	first := newWorker(m, hub, newRun("one"))
	first.start()
	first.values(3)
	first.finish()
	second := first.nextRun("two")
	second.run.CreatedAt = second.run.StartedAt
	second.start()
	second.values(3)
	second.finish()
	m.heads["thread"] = []thread.Head{
		{Note: agent.CheckpointNote{ID: "two-1", Step: 1, Source: "loop"}, State: m.states["two-1"]},
		{NS: "child:x", Note: agent.CheckpointNote{ID: "two-1", Step: 1, Source: "loop"}, State: m.states["two-1"]},
	}
	m.cut("thread", 5) // the first run
	got := drain(t, hub, stream.EventOptions{Filters: everything()})
	require.Equal(t, []string{"custom", "checkpoints", "values", "checkpoints", "values", "lifecycle", "checkpoints", "values", "lifecycle"}, methods(got))
	require.Contains(t, string(got[0].Wire), `"payload":{"from":1,"to":4}`)
	require.Equal(t, "child:x", got[3].Label.NS)

	m.cut("thread", 1<<30)
	got = drain(t, hub, stream.EventOptions{Filters: everything()})
	require.Equal(t, []string{"custom", "checkpoints", "values", "checkpoints", "values", "lifecycle", "lifecycle"}, methods(got))
	require.Contains(t, string(got[0].Wire), `"payload":{"from":1,"to":8}`)
	require.Contains(t, string(got[5].Wire), `"event":"running"`)
	require.Contains(t, string(got[6].Wire), `"event":"completed"`)
	require.Equal(t, "synth:two:8", string(got[6].ID()))

	// Only what the filter lets through; nothing for who has seen it all.
	watcher := protocol.Filters{protocol.NewFilter(protocol.Subscription{Channels: []string{"lifecycle", "input"}})}
	require.Equal(t, []string{"lifecycle", "lifecycle"}, methods(drain(t, hub, stream.EventOptions{Filters: watcher})))
	require.Empty(t, drain(t, hub, stream.EventOptions{Filters: watcher, Since: 8}))
	// A cursor beyond all events is another thread's.
	require.Contains(t, string(drain(t, hub, stream.EventOptions{Filters: everything(), Since: 500})[0].Wire), "parley.gap")
}

// Nobody is admitted to a thread that another user created after the stream was opened.
func TestAdmissionIsAskedOnceTheThreadIsThere(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	asked := 0
	r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything(), Admit: func(context.Context) (bool, error) {
		asked++
		return false, nil
	}})
	defer r.Close()
	_, done, err := r.Step(t.Context())
	require.NoError(t, err)
	require.True(t, done)
	require.Zero(t, asked)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.finish()
	for !done || asked == 0 {
		var frames []frame.Frame
		frames, done, err = r.Step(t.Context())
		require.NoError(t, err)
		require.Empty(t, frames)
	}
	require.Equal(t, 1, asked)
}

// A thread that is made anew under the id of a deleted one is another thread.
func TestAThreadUnderAnOldID(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	r := hub.NewEventReader("thread", stream.EventOptions{Filters: everything()})
	defer r.Close()
	take := func() (all []frame.Frame) {
		for {
			frames, done, err := r.Step(t.Context())
			require.NoError(t, err)
			all = append(all, frames...)
			if done {
				return all
			}
		}
	}
	w := newWorker(m, hub, newRun("one"))
	w.start()
	w.values(1)
	w.finish()
	require.Len(t, take(), 4)
	m.cut("thread", 1<<30)
	again := newWorker(m, hub, newRun("two"))
	start := again.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", Attempt: 1})
	start.Event.At += 1_000_000
	again.commit(start)
	got := take()
	require.Len(t, got, 1)
	require.EqualValues(t, 1, got[0].Seq)
}

func everything() protocol.Filters {
	return protocol.Filters{protocol.NewFilter(protocol.Subscription{Channels: strings.Split("values,updates,checkpoints,messages,tools,lifecycle,input,custom,tasks", ",")})}
}

// drain takes what a new reader gets.
func drain(t *testing.T, hub *stream.Hub, o stream.EventOptions) []frame.Frame {
	t.Helper()
	r := hub.NewEventReader("thread", o)
	defer r.Close()
	var all []frame.Frame
	for {
		frames, done, err := r.Step(t.Context())
		require.NoError(t, err)
		for _, f := range frames {
			f.Wire = slices.Clone(f.Wire)
			all = append(all, f)
		}
		if done {
			return all
		}
	}
}

func methods(frames []frame.Frame) (all []string) {
	for _, f := range frames {
		all = append(all, f.Name())
	}
	return all
}

func frameIDs(frames []frame.Frame) (all []string) {
	for _, f := range frames {
		all = append(all, string(f.ID()))
	}
	return all
}

package stream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/thread"
)

// memory is a log in memory. Entries go through their stored form, so that what
// is read from it is what a reader of a real log gets.
type memory struct {
	mu     sync.Mutex
	log    map[string][]thread.Entry // by thread
	runs   map[string]thread.Run
	states map[string]*agent.State // by namespace and checkpoint id
	heads  map[string][]thread.Head
	ends   map[string]thread.Entry // the newest that was stored
	fail   error
	reads  int
}

func newMemory() *memory {
	return &memory{log: map[string][]thread.Entry{}, runs: map[string]thread.Run{}, states: map[string]*agent.State{}, heads: map[string][]thread.Head{}, ends: map[string]thread.Entry{}}
}

func (m *memory) store(threadID string, entries ...thread.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range entries {
		switch v := e.Event.Payload.(type) {
		case *agent.ValuesNote:
			m.states[e.Event.NS+v.CheckpointID] = v.State
		case *agent.CheckpointDetail:
			m.states[e.Event.NS+v.CheckpointID] = v.State
		}
		b, err := json.Marshal(e.Event)
		if err != nil {
			panic(err)
		}
		e.Event = agent.Event{}
		if err := json.Unmarshal(b, &e.Event); err != nil {
			panic(err)
		}
		m.log[threadID] = append(m.log[threadID], e)
		if e.Seq == 0 {
			e.Seq = m.ends[threadID].Seq
		}
		m.ends[threadID] = e
	}
}

func (m *memory) setRun(run thread.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[run.ID] = run
}

func (m *memory) end(run thread.Run, status thread.RunStatus) {
	run.Status = status
	m.setRun(run)
}

func (m *memory) ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]thread.Entry, error) {
	return m.read(ctx, threadID, after, limit, func(thread.Entry) bool { return true })
}

func (m *memory) ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]thread.Entry, error) {
	return m.read(ctx, threadID, after, limit, func(e thread.Entry) bool { return e.RunID == runID })
}

func (m *memory) read(ctx context.Context, threadID string, after int64, limit int, want func(thread.Entry) bool) ([]thread.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.fail != nil {
		return nil, m.fail
	}
	var found []thread.Entry
	for _, e := range m.log[threadID] {
		if e.Pos > after && want(e) && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, ctx.Err()
}

func (m *memory) LogStart(_ context.Context, threadID string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.log[threadID]) == 0 {
		return 0, nil
	}
	return m.log[threadID][0].Pos, nil
}

func (m *memory) LogEnd(_ context.Context, threadID string) (pos, seq int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ends[threadID].Pos, m.ends[threadID].Seq, nil
}

// cut drops the entries before a seq.
func (m *memory) cut(threadID string, seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log[threadID] = slices.DeleteFunc(m.log[threadID], func(e thread.Entry) bool { return e.Seq < seq })
}

func (m *memory) Inflight(_ context.Context, threadID string) (inflight []thread.Run, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.ThreadID == threadID && !run.Status.Ended() {
			inflight = append(inflight, run)
		}
	}
	return inflight, nil
}

func (m *memory) NewestRun(_ context.Context, threadID string) (newest thread.Run, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = &thread.NotFoundError{Kind: "run"}
	for _, run := range m.runs {
		if run.ThreadID == threadID && !run.StartedAt.IsZero() && (err != nil || run.CreatedAt.After(newest.CreatedAt)) {
			newest, err = run, nil
		}
	}
	return newest, err
}

func (m *memory) Heads(_ context.Context, threadID string) ([]thread.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heads[threadID], nil
}

func (m *memory) GetRun(_ context.Context, _, runID string) (thread.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, ok := m.runs[runID]
	if !ok {
		return thread.Run{}, &thread.NotFoundError{Kind: "run", ID: runID}
	}
	return run, nil
}

func (m *memory) Materialize(_ context.Context, _, ns, checkpointID string) (*agent.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, ok := m.states[ns+checkpointID]
	if !ok {
		return nil, &thread.NotFoundError{Kind: "checkpoint", ID: checkpointID}
	}
	return state, nil
}

// worker stands for the worker that owns a run: it numbers events, publishes and stores them.
type worker struct {
	memory *memory
	hub    *stream.Hub
	run    thread.Run
	pos    int64
	seq    int64
	// waiting are ephemeral events that were published and aren't stored yet.
	waiting []thread.Entry
	steps   int
}

func newRun(id string, modes ...string) thread.Run {
	return thread.Run{
		ID: id, ThreadID: "thread", AssistantID: "assistant", GraphID: "graph", Status: thread.RunRunning,
		StartedAt: time.Unix(1, 0), Kwargs: thread.RunKwargs{StreamMode: modes, Subgraphs: true},
	}
}

func newWorker(m *memory, hub *stream.Hub, run thread.Run) *worker {
	m.setRun(run)
	return &worker{memory: m, hub: hub, run: run}
}

func (w *worker) entry(kind agent.Kind, ns string, payload any) thread.Entry {
	w.pos++
	e := thread.Entry{Pos: w.pos, RunID: w.run.ID, Event: agent.Event{Kind: kind, At: 1_800_000_000_000 + w.pos, NS: ns, Payload: payload}}
	if kind.Numbered() {
		w.seq++
		e.Seq = w.seq
	}
	return e
}

// commit stores what waits and the entries, and then publishes these.
func (w *worker) commit(entries ...thread.Entry) {
	w.flush()
	w.memory.store(w.run.ThreadID, entries...)
	w.hub.Publish(w.run.ThreadID, entries)
}

// emit publishes an ephemeral entry before it is stored.
func (w *worker) emit(e thread.Entry) {
	w.waiting = append(w.waiting, e)
	w.hub.Publish(w.run.ThreadID, []thread.Entry{e})
}

func (w *worker) flush() {
	w.memory.store(w.run.ThreadID, w.waiting...)
	if n := len(w.waiting); n > 0 {
		w.hub.Stored(w.run.ThreadID, w.waiting[n-1].Pos)
	}
	w.waiting = nil
}

func (w *worker) start() {
	w.commit(w.entry(agent.RunStarted, "", agent.RunStart{GraphID: "graph", AssistantID: "assistant", Attempt: 1}))
}

// values commits a checkpoint with the given size of state.
func (w *worker) values(size int) {
	w.steps++
	id := fmt.Sprintf("%s-%d", w.run.ID, w.steps)
	state := agent.NewState([]string{"step", "text"}, map[string]agent.Value{
		"step": {JSON: json.RawMessage(fmt.Sprint(w.steps))},
		"text": {JSON: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)},
	})
	w.commit(
		w.entry(agent.CheckpointAnnounced, "", agent.CheckpointNote{ID: id, Step: w.steps}),
		w.entry(agent.ValuesEmitted, "", &agent.ValuesNote{CheckpointID: id, State: state}),
		w.entry(agent.CheckpointSaved, "", &agent.CheckpointDetail{CheckpointID: id, Step: w.steps, State: state, Metadata: map[string]json.RawMessage{"step": json.RawMessage("1")}}),
	)
}

func (w *worker) open(id string) {
	w.emit(w.entry(agent.MessageStarted, "node:task", agent.MessageStart{ID: id, Streamed: true, Meta: agent.MessageMeta{Node: "node", CheckpointNS: "node:task"}}))
}

func (w *worker) token(id, text string) {
	w.emit(w.entry(agent.BlockDelta, "node:task", agent.Delta{ID: id, Type: "text", Text: text}))
}

func (w *worker) custom(value string) {
	w.emit(w.entry(agent.CustomWritten, "", agent.Custom{Value: json.RawMessage(value)}))
}

// finish ends the run: row, event and announcement.
func (w *worker) finish() {
	last := w.entry(agent.RunFinished, "", agent.RunFinish{Status: "success"})
	w.flush()
	w.memory.store(w.run.ThreadID, last)
	w.memory.end(w.run, thread.RunSuccess)
	w.hub.Publish(w.run.ThreadID, []thread.Entry{last})
	w.hub.RunEnded(w.run.ThreadID, w.run.ID)
}

// reference is the whole stream of a run as its log gives it.
func (m *memory) reference(t *testing.T, run thread.Run) []string {
	entries, err := m.ReadRunLog(t.Context(), run.ThreadID, run.ID, 0, 1<<30)
	require.NoError(t, err)
	p := classic.New(run)
	var all []string
	for _, e := range entries {
		var state *agent.State
		if id := p.NeedsState(e); id != "" {
			state = m.states[e.Event.NS+id]
		}
		for _, f := range p.Project(e, state) {
			all = append(all, string(f.Wire))
		}
	}
	return all
}

// server serves the run and thread streams of a hub.
func server(t *testing.T, hub *stream.Hub, m *memory, change func(*stream.Options)) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := open(r, hub, m, change)
		if s == nil {
			_ = stream.ServeError(w, r, "Error", "Run not found")
			return
		}
		_ = s.Serve(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// open keeps runs off the stack of the goroutine that serves, as a server should.
//
//go:noinline
func open(r *http.Request, hub *stream.Hub, m *memory, change func(*stream.Options)) *stream.Stream {
	o := stream.Options{LastEventID: r.Header.Get("Last-Event-ID"), Modes: r.URL.Query()["mode"]}
	if change != nil {
		change(&o)
	}
	if r.URL.Path == "/thread" {
		return hub.OpenThread("thread", o)
	}
	run, err := m.GetRun(r.Context(), "thread", strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		return nil
	}
	return hub.OpenRun(&run, o)
}

// client reads one stream.
type client struct {
	t        *testing.T
	response *http.Response
	in       *bufio.Reader
	cancel   context.CancelFunc
}

func connect(t *testing.T, url, lastEventID string) *client {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return &client{t: t, response: response, in: bufio.NewReader(response.Body), cancel: cancel}
}

// event reads the next event as sent, without comments; io.EOF is the clean end.
func (c *client) event() (string, error) {
	var b strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return b.String(), err
		}
		if strings.HasPrefix(line, ":") {
			continue
		}
		b.WriteString(line)
		if line == "\n" {
			return b.String(), nil
		}
	}
}

// events reads n events.
func (c *client) events(n int) []string {
	c.t.Helper()
	var all []string
	for range n {
		e, err := c.event()
		require.NoError(c.t, err)
		all = append(all, e)
	}
	return all
}

// rest reads up to the clean end.
func (c *client) rest() []string {
	c.t.Helper()
	var all []string
	for {
		e, err := c.event()
		if errors.Is(err, io.EOF) {
			require.Empty(c.t, e, "half an event at the end")
			return all
		}
		require.NoError(c.t, err)
		all = append(all, e)
	}
}

// ids are the ids of events.
func ids(events []string) []string {
	var all []string
	for _, e := range events {
		for _, line := range strings.Split(e, "\n") {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				all = append(all, id)
			}
		}
	}
	return all
}

func only(events []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, "event: "), "\n")
		return !slices.Contains(names, name)
	})
}

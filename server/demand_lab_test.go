package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

// Tools of the demand tests: graphs that tests hold and count, and readers that
// tell the clean end of a stream from an abort.

// lab is what the graphs of a test act upon.
type lab struct {
	mu      sync.Mutex
	effects map[string]int
	gates   map[string]*gate
}

func newLab() *lab { return &lab{effects: map[string]int{}, gates: map[string]*gate{}} }

// effect happens in the world outside; the lab remembers how often.
func (l *lab) effect(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects[name]++
}

func (l *lab) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.effects[name]
}

// gate holds nodes until the test opens it.
type gate struct {
	entered chan struct{} // one token for each node that comes
	opened  chan struct{}
	once    sync.Once
}

func (l *lab) gate(name string) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gates[name] == nil {
		l.gates[name] = &gate{entered: make(chan struct{}, 10_000), opened: make(chan struct{})}
	}
	return l.gates[name]
}

func (g *gate) pass(ctx context.Context) error {
	g.entered <- struct{}{}
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

// arrive waits until a node has come.
func (g *gate) arrive(t *testing.T) {
	t.Helper()
	select {
	case <-g.entered:
	case <-time.After(10 * time.Second):
		require.Fail(t, "no node came to the gate")
	}
}

// once is a durable step whose effect the lab counts.
func (l *lab) once(ctx agent.Context, name string) error {
	_, err := agent.Step(ctx, name, func(agent.StepContext) (string, error) {
		l.effect(name + ":" + ctx.ThreadID())
		return name, nil
	})
	return err
}

// said is an update of the log.
func said(words ...string) agent.Values { return agent.Set("log", words) }

// approve looks, asks, waits at the gate "pay" if the test has made it, and pays.
func (l *lab) approve() agent.Agent {
	return agent.NewGraph[state]("approve").
		Node("review", func(ctx agent.Context, _ state) (agent.Update, error) {
			if err := l.once(ctx, "look"); err != nil {
				return nil, err
			}
			answer, err := agent.Interrupt[any](ctx, map[string]string{"q": "pay?"})
			if err != nil {
				return nil, err
			}
			l.mu.Lock()
			g := l.gates["pay"]
			l.mu.Unlock()
			if g != nil {
				if err := g.pass(ctx); err != nil {
					return nil, err
				}
			}
			if err := l.once(ctx, "pay"); err != nil {
				return nil, err
			}
			return agent.Set("answer", answer).Set("log", []string{"paid"}), nil
		}).
		Node("other", func(agent.Context, state) (agent.Update, error) { return said("other"), nil }).
		// other is only ever reached by a goto.
		Branch(agent.Start, func(state) string { return "review" }, "review", "other").
		Edge("review", agent.End).Edge("other", agent.End).MustCompile()
}

// held waits at the gate "held" and says so in the custom stream.
func (l *lab) held() agent.Agent {
	return agent.NewGraph[state]("held").
		Node("before", func(agent.Context, state) (agent.Update, error) { return said("before"), nil }).
		Node("hold", func(ctx agent.Context, _ state) (agent.Update, error) {
			l.effect("wait:" + ctx.ThreadID())
			ctx.Write("at the gate")
			if err := l.gate("held").pass(ctx); err != nil {
				return nil, err
			}
			return said("waited"), nil
		}).
		Edge(agent.Start, "before").Edge("before", "hold").Edge("hold", agent.End).MustCompile()
}

// start posts a run and returns its id.
func (c *client) start(threadID, body string) string {
	c.t.Helper()
	return c.post("/threads/"+threadID+"/runs", body).ok().str("run_id")
}

// wait joins a run until its end.
func (c *client) wait(threadID, runID string) answer {
	c.t.Helper()
	return c.get("/threads/" + threadID + "/runs/" + runID + "/join").ok()
}

// status is the status of a run.
func (c *client) status(threadID, runID string) string {
	c.t.Helper()
	return c.get("/threads/" + threadID + "/runs/" + runID).ok().str("status")
}

// open questions of a thread as its state shows them: ids in the order of the tasks.
func (c *client) questions(threadID string) []string {
	c.t.Helper()
	return questionsOf(c.get("/threads/" + threadID + "/state").ok().json())
}

func questionsOf(state map[string]any) []string {
	ids := []string{}
	for _, task := range state["tasks"].([]any) {
		for _, i := range task.(map[string]any)["interrupts"].([]any) {
			ids = append(ids, i.(map[string]any)["id"].(string))
		}
	}
	return ids
}

// values are the newest state of a thread.
func (c *client) values(threadID string) map[string]any {
	c.t.Helper()
	return c.get("/threads/" + threadID + "/state").ok().json()["values"].(map[string]any)
}

// reading is a stream that is read event by event.
type reading struct {
	t   *testing.T
	res *http.Response
	in  *bufio.Reader
}

// read opens a stream; it is closed with the test.
func (c *client) read(method, path, body string) *reading {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	res := c.open(ctx, method, path, body)
	c.t.Cleanup(func() { cancel(); _ = res.Body.Close() })
	require.Equal(c.t, http.StatusOK, res.StatusCode)
	return newReading(c.t, res)
}

func newReading(t *testing.T, res *http.Response) *reading {
	return &reading{t, res, bufio.NewReader(res.Body)}
}

// next reads one event. io.EOF is the clean end; comments are passed over.
func (r *reading) next() (frame, error) {
	var f frame
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && (line != "" || f != frame{}) {
				err = io.ErrUnexpectedEOF
			}
			return f, err
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case line == "\n" && f != frame{}:
			return f, nil
		case name == "event":
			f.event = value
		case name == "data":
			f.data = value
		case name == "id":
			f.id = value
		}
	}
}

// frames reads n events.
func (r *reading) frames(n int) []frame {
	r.t.Helper()
	var all []frame
	for range n {
		f, err := r.next()
		require.NoError(r.t, err)
		all = append(all, f)
	}
	return all
}

// rest reads to the clean end.
func (r *reading) rest() []frame {
	r.t.Helper()
	all, err := r.drain()
	require.Equal(r.t, io.EOF, err, "a clean end")
	return all
}

// drain reads to whatever end there is.
func (r *reading) drain() ([]frame, error) {
	var all []frame
	for {
		f, err := r.next()
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
}

// named are the events with one of the names.
func named(frames []frame, names ...string) []frame {
	var all []frame
	for _, f := range frames {
		for _, n := range names {
			if f.event == n {
				all = append(all, f)
			}
		}
	}
	return all
}

// notice reads the questions out of an interrupt notice; ok tells whether it is one.
func (f frame) notice() (ids []string, ok bool) {
	var n struct {
		Interrupt []struct{ ID string } `json:"__interrupt__"`
	}
	if json.Unmarshal([]byte(f.data), &n) != nil || n.Interrupt == nil {
		return nil, false
	}
	for _, i := range n.Interrupt {
		ids = append(ids, i.ID)
	}
	return ids, true
}

// listRaw is an element of the body, an array, as it is.
func (a answer) listRaw(i int) string {
	a.t.Helper()
	var all []json.RawMessage
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &all))
	return string(all[i])
}

// labServer serves agents of a test.
func labServer(t *testing.T, agents ...agent.Agent) *client {
	t.Helper()
	return serveTest(t, server.Options{Agents: agents})
}

// resumeBody is a run that answers a question by its id.
func resumeBody(graph, question, answer string) string {
	return fmt.Sprintf(`{"assistant_id":%q,"command":{"resume":{%q:%s}}}`, graph, question, answer)
}

// heavy is a count for ordinary runs of the tests, few the one for -short and the race detector.
func heavy(n, few int) int {
	if testing.Short() || raceEnabled {
		return few
	}
	return n
}

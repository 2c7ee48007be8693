package executions_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

const (
	traceA = "0af7651916cd43dd8448eb211c80319c"
	traceB = "4bf92f3577b34da6a3ce929d0e0e4736"
	fromA  = "00-" + traceA + "-b7ad6b7169203331-01"
	fromB  = "00-" + traceB + "-00f067aa0ba902b7-00"
)

// book is a log that servers write to at once.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// tracing adds an agent that notes its place in a trace, asks, and notes it again; and one that panics.
func tracing(log *book) func(*server.Options) {
	note := func(ctx agent.Context, _ state) (agent.Update, error) {
		return agent.Values{"seen": []string{agent.TraceParent(ctx)}}, nil
	}
	ask := func(ctx agent.Context, _ state) (agent.Update, error) {
		d, err := agent.Review(ctx, agent.ReviewRequest{Reason: "Traced", AllowedDecisions: []string{"approve"}})
		return agent.Values{"answer": d.Decision}, err
	}
	return func(o *server.Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		o.TraceURL = "https://tempo.example/trace/{trace_id}?from=parley"
		o.WebhookInside = []string{"127.0.0.1"}
		o.Agents = append(o.Agents,
			agent.NewGraph[state]("traced").Node("a", note).Node("b", ask).Node("c", note).
				Edge(agent.Start, "a").Edge("a", "b").Edge("b", "c").Edge("c", agent.End).MustCompile(),
			agent.NewGraph[state]("bursting").Node("a", func(agent.Context, state) (agent.Update, error) { panic("burst") }).
				Edge(agent.Start, "a").Edge("a", agent.End).MustCompile(),
		)
	}
}

// seen is what the agent noted on an execution's thread.
func (c *client) seen(execution string) []string {
	c.t.Helper()
	e := c.execution(execution)
	values := c.do(http.MethodGet, "/threads/"+e.text("thread_id")+"/state", "").ok().at("values")
	return values.texts("seen")
}

func TestAnExecutionIsAPartOfTheTraceThatStartedIt(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, _ := w.staff()
		id := op.with("traceparent", fromA).suspend("traced", "hi")
		require.Equal(t, []any{map[string]any{"trace_id": traceA, "url": "https://tempo.example/trace/" + traceA + "?from=parley", "run_ids": []any{id}}},
			op.execution(id)["traces"])
		ann.at(1).resume(id, `{"decision":"approve"}`).ok()
		e := op.becomes(id, "completed")
		require.Equal(t, []string{fromA, fromA}, op.seen(id), "an answer without a trace goes on in that of the question, wherever it is carried out")
		require.Len(t, e.list("traces"), 1)
		require.Len(t, e.list("traces")[0].texts("run_ids"), 2)

		id = op.with("traceparent", fromA).suspend("traced", "hi")
		ann.at(1).with("traceparent", fromB).resume(id, `{"decision":"approve"}`).ok()
		e = op.becomes(id, "completed")
		require.Equal(t, []string{fromA, fromB}, op.seen(id), "one with a trace of its own brings that")
		require.Equal(t, traceA, e.list("traces")[0].text("trace_id"))
		require.Equal(t, traceB, e.list("traces")[1].text("trace_id"))

		id = op.with("traceparent", "00-nonsense").suspend("traced", "hi")
		require.NotContains(t, op.execution(id), "traces")
		require.Equal(t, []string{""}, op.seen(id))
	}, tracing(&book{}))
}

// Runs of the other dialects, too, and the webhook that tells of their end.
func TestARunsWebhookIsAPartOfItsTrace(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		got := make(chan string, 10)
		hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("traceparent") }))
		t.Cleanup(hook.Close)
		op := w.person("op", "operator")
		threadID := op.do(http.MethodPost, "/threads", "{}").ok().text("thread_id")
		body, err := json.Marshal(map[string]any{"assistant_id": "traced", "input": map[string]any{}, "webhook": hook.URL})
		require.NoError(t, err)
		run := op.with("traceparent", fromB).do(http.MethodPost, "/threads/"+threadID+"/runs", string(body)).ok()
		select {
		case p := <-got:
			require.Equal(t, fromB, p)
		case <-time.After(90 * time.Second):
			require.Fail(t, "no webhook")
		}
		require.Equal(t, fromB, op.do(http.MethodGet, "/threads/"+threadID+"/runs/"+run.text("run_id"), "").ok().at("kwargs")["traceparent"])
		// The thread protocol's command is a request like others.
		other := op.do(http.MethodPost, "/threads", "{}").ok().text("thread_id")
		op.with("traceparent", fromA).do(http.MethodPost, "/threads/"+other+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"traced","input":{}}}`).ok()
		op.until("the run has noted its trace", func() bool {
			seen := op.do(http.MethodGet, "/threads/"+other+"/state", "").ok().at("values").texts("seen")
			return len(seen) == 1 && seen[0] == fromA
		})
	}, tracing(&book{}))
}

func TestWhatIsLoggedOfARunSaysWhichTrace(t *testing.T) {
	t.Parallel()
	var log book
	w := local(t, tracing(&log))
	w.anybody().with("traceparent", fromA).post(invokePath, say("bursting", "x"))
	require.Regexp(t, `msg="a node panicked".*trace_id=`+traceA, log.String())
}

func TestTheAddressOfTracesIsChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://tempo.example/", "javascript:{trace_id}", "/trace/{trace_id}", "https://%zz/{trace_id}"} {
		_, err := server.New(server.Options{Ephemeral: true, TraceURL: address})
		require.Error(t, err, address)
	}
}

// What is announced of a review belongs to the trace of the run that asks.
func TestAReviewsAnnouncementIsAPartOfItsRunsTrace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	traces := map[string]string{} // by what was announced: of all servers
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		traces[string(body)] = r.Header.Get("traceparent")
	}))
	t.Cleanup(hook.Close)
	on(t, func(t *testing.T, w *world) {
		op := w.person("op", "operator").with("traceparent", fromA)
		id := op.suspend("traced", "hi")
		op.until("it is announced", func() bool {
			mu.Lock()
			defer mu.Unlock()
			for body, trace := range traces {
				if strings.Contains(body, id) {
					require.Equal(t, fromA, trace)
					return true
				}
			}
			return false
		})
	}, tracing(&book{}), func(o *server.Options) { o.Announce.Notify = []string{hook.URL} })
}

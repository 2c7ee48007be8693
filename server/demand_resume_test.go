package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// shared is a store that several servers use; none of them closes it.
type shared struct{ thread.Store }

func (shared) Close() error { return nil }

// replicas are servers on one store.
func replicas(t *testing.T, n int, o server.Options) []*client {
	t.Helper()
	store, err := local.Open(t.Context(), local.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	o.Store = shared{store}
	all := make([]*client, n)
	for i := range all {
		all[i] = serveTest(t, o)
	}
	return all
}

// D-31: of a hundred different answers to one question, sent to three servers,
// one is accepted and the tool runs once; a hundred equal ones are one run with
// equal replies.
func TestHundredAnswersAreOneRun(t *testing.T) {
	t.Parallel()
	const reviewers = 100
	l := newLab()
	all := replicas(t, 3, server.Options{Agents: []agent.Agent{l.approve()}})
	post := func(id string, body func(i int) string) []answer {
		answers := make([]answer, reviewers)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = all[i%len(all)].post("/threads/"+id+"/runs", body(i)) })
		}
		wg.Wait()
		return answers
	}
	t.Run("different", func(t *testing.T) {
		id, ids := interrupted(all[0], "approve")
		var accepted []string
		for _, a := range post(id, func(i int) string { return resumeBody("approve", ids[0], fmt.Sprint(i)) }) {
			if a.status == http.StatusOK {
				accepted = append(accepted, a.str("run_id"))
				continue
			}
			v := a.code(http.StatusConflict, "already_decided")
			require.Equal(t, ids[0], v["interrupt_id"])
			require.NotNil(t, v["decision"])
		}
		require.Len(t, accepted, 1)
		all[0].wait(id, accepted[0])
		require.Equal(t, 1, l.count("pay:"+id))
		require.Len(t, all[1].get("/threads/"+id+"/runs?limit=1000").ok().list(), 2)
	})
	t.Run("equal", func(t *testing.T) {
		id, ids := interrupted(all[0], "approve")
		var runs []string
		for _, a := range post(id, func(int) string { return resumeBody("approve", ids[0], `"yes"`) }) {
			runs = append(runs, a.ok().str("run_id"))
			require.Equal(t, "/threads/"+id+"/runs/"+runs[0], a.header.Get("Content-Location"))
		}
		require.Len(t, slices.Compact(runs), 1)
		all[0].wait(id, runs[0])
		require.Equal(t, 1, l.count("pay:"+id))
		require.Len(t, all[1].get("/threads/"+id+"/runs?limit=1000").ok().list(), 2)
	})
}

// D-32: the same decision again is the first one's result, on every route and
// after the run has ended; notes don't make it another. A different decision is
// refused with who decided what, and when.
func TestRepeatedDecisionGetsTheFirstResult(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := serveTest(t, server.Options{Agents: []agent.Agent{l.approve()}, Auth: &auth.Hooks{Authenticate: tenants().Authenticate}})
	ann, bob := c.as(map[string]string{"x-user": "ann"}), c.as(map[string]string{"x-user": "bob"})
	id, ids := interrupted(ann, "approve")
	runs := "/threads/" + id + "/runs"
	decision := func(approved bool, notes string) string {
		return resumeBody("approve", ids[0], fmt.Sprintf(`{"approved":%v,"reviewer_notes":%q}`, approved, notes))
	}
	first := ann.post(runs+"/stream", decision(true, "fine"))
	frames := first.frames()
	location := first.header.Get("Content-Location")
	for _, notes := range []string{"fine", "on second thoughts: fine"} {
		again := ann.post(runs+"/stream", decision(true, notes))
		require.Equal(t, frames, again.frames(), "its stream from 0")
		require.Equal(t, location, again.header.Get("Content-Location"))
		again = ann.post(runs, decision(true, notes)).ok()
		require.Equal(t, location, runs+"/"+again.str("run_id"))
		again = ann.post(runs+"/wait", decision(true, notes)).ok()
		require.Equal(t, location, again.header.Get("Content-Location"))
		require.Equal(t, frames[len(frames)-1].json(t), again.json())
	}
	for name, refused := range map[string]answer{
		"another decision": ann.post(runs+"/wait", decision(false, "fine")),
		"another reviewer": bob.post(runs+"/stream", decision(true, "fine")),
	} {
		v := refused.code(http.StatusConflict, "already_decided")
		require.Equal(t, "ann", v["by"], name)
		require.Equal(t, map[string]any{"approved": true, "reviewer_notes": "fine"}, v["decision"], name)
		require.Regexp(t, `^\d{4}-\d\d-\d\dT.*Z$`, v["at"], name)
	}
	require.Equal(t, 1, l.count("pay:"+id))
	require.Len(t, ann.get(runs).ok().list(), 2)
}

// D-33: questions that were asked side by side can be answered one after the
// other, in any order: those that wait keep their ids and stay.
func TestSiblingQuestionsAreAnsweredInAnyOrder(t *testing.T) {
	t.Parallel()
	c := labServer(t, fan(3))
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		id, ids := interrupted(c, "fan")
		open := slices.Clone(ids)
		for n, i := range order {
			c.post("/threads/"+id+"/runs/wait", resumeBody("fan", ids[i], fmt.Sprintf(`"a%d"`, i))).ok()
			open = slices.DeleteFunc(open, func(q string) bool { return q == ids[i] })
			require.Equal(t, open, c.questions(id), "%v after %d", order, n)
			want := "interrupted"
			if len(open) == 0 {
				want = "idle"
			}
			require.Equal(t, want, c.get("/threads/"+id).ok().str("status"))
		}
		require.Equal(t, []any{"0=a0", "1=a1", "2=a2"}, c.values(id)["log"])
	}
}

// D-37: the answers of one call are accepted together or not at all.
func TestOneBadAnswerOfSeveralStoresNone(t *testing.T) {
	t.Parallel()
	l := newLab()
	schema := agent.ResponseSchema([]byte(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`))
	ask := func(name string) func(agent.Context, state) (agent.Update, error) {
		return func(ctx agent.Context, _ state) (agent.Update, error) {
			if _, err := agent.Interrupt[any](ctx, name, schema); err != nil {
				return nil, err
			}
			return said(name), l.once(ctx, name)
		}
	}
	c := labServer(t, agent.NewGraph[state]("checks").Node("a", ask("a")).Node("b", ask("b")).
		Edge(agent.Start, "a").Edge(agent.Start, "b").Edge("a", agent.End).Edge("b", agent.End).MustCompile())
	id, ids := interrupted(c, "checks")
	runs := "/threads/" + id + "/runs"
	body := func(a, b string) string {
		return fmt.Sprintf(`{"assistant_id":"checks","command":{"resume":{%q:%s,%q:%s},"update":{"note":"u"}}}`, ids[0], a, ids[1], b)
	}
	before := c.get("/threads/" + id + "/state").ok().body
	for _, bad := range []string{`{"approved":"yes"}`, `{}`, `true`, `null`, `[{"approved":true},{"approved":true}]`} {
		for name, b := range map[string]string{"second": body(`{"approved":true}`, bad), "first": body(bad, `{"approved":true}`)} {
			v := c.post(runs+"/wait", b).code(http.StatusUnprocessableEntity, "invalid_answer")
			require.Len(t, v["issues"], 1, "%s %s", name, bad)
		}
	}
	require.Equal(t, before, c.get("/threads/"+id+"/state").ok().body)
	require.Equal(t, ids, c.questions(id))
	require.Len(t, c.get(runs).ok().list(), 1)
	require.Zero(t, l.count("a:"+id)+l.count("b:"+id), "no tool ran")

	c.post(runs+"/wait", body(`{"approved":true}`, `{"approved":false}`)).ok()
	require.Empty(t, c.questions(id))
	require.Equal(t, [2]int{1, 1}, [2]int{l.count("a:" + id), l.count("b:" + id)})
	require.Equal(t, "u", c.values(id)["note"])
}

// D-42: a message that an answer pushes keeps its id, takes its place once, and
// isn't said again by the graph; one with a known id is replaced where it stands.
func TestPushedMessageAppearsOnceInPlace(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, l.approve())
	id := c.thread()
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"approve","input":{"messages":[
		{"type":"human","id":"m1","content":"pay"},{"type":"ai","id":"card","content":"waiting"},{"type":"human","id":"m2","content":"well?"}]}}`).ok()
	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"approve","stream_mode":["values","messages-tuple","messages"],"command":{"resume":true,
		"update":{"messages":[{"type":"ai","id":"card","content":"approved"},{"type":"ai","id":"new","content":"receipt"}]}}}`).frames()
	want := []string{"m1 pay", "card approved", "m2 well?", "new receipt"}
	states := 0
	for _, f := range frames {
		switch f.event {
		case "values":
			states++
			got := []string{}
			for _, m := range f.json(t)["messages"].([]any) {
				m := m.(map[string]any)
				got = append(got, fmt.Sprint(m["id"], " ", m["content"]))
			}
			require.Equal(t, want, got)
		case "messages", "messages/partial":
			require.NotContains(t, f.data, `"card"`, "the graph didn't say it")
			require.NotContains(t, f.data, `"new"`, "the graph didn't say it")
		}
	}
	require.Positive(t, states)
}

// D-29, D-40: new input, an update or a goto is never taken for an answer. Input
// drops the question (or is refused, if the server is told so); code behind the
// question runs only with an answer to it.
func TestNothingButAnAnswerPassesAQuestion(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, l.approve())
	for name, body := range map[string]string{
		"message":         `"input":{"messages":[{"type":"human","id":"h","content":"yes"}]}`,
		"continue":        `"input":null`,
		"update":          `"command":{"update":{"answer":"yes","log":["forged"]}}`,
		"goto":            `"command":{"goto":"review"}`,
		"goto elsewhere":  `"command":{"goto":"other"}`,
		"update and goto": `"command":{"update":{"answer":"yes"},"goto":"review"}`,
	} {
		t.Run(name, func(t *testing.T) {
			id, ids := interrupted(c, "approve")
			c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"approve",`+body+`}`).ok()
			require.Zero(t, l.count("pay:"+id))
			open := c.questions(id)
			if len(open) == 0 {
				require.Equal(t, "goto elsewhere", name)
				v := c.post("/threads/"+id+"/runs", resumeBody("approve", ids[0], `1`))
				require.Equal(t, http.StatusConflict, v.status, "what was dropped can't be answered any more")
				return
			}
			require.Len(t, open, 1)
			c.post("/threads/"+id+"/runs/wait", resumeBody("approve", open[0], `1`)).ok()
			require.Equal(t, 1, l.count("pay:"+id))
			require.Equal(t, float64(1), c.values(id)["answer"])
		})
	}
	t.Run("refused", func(t *testing.T) {
		strict := serveTest(t, server.Options{Agents: []agent.Agent{l.approve()}, OnInputWhileInterrupted: "error"})
		id, ids := interrupted(strict, "approve")
		for _, kind := range []string{"", "/wait", "/stream"} {
			v := strict.post("/threads/"+id+"/runs"+kind, `{"assistant_id":"approve","input":{"note":"hi"}}`).code(http.StatusConflict, "interrupted")
			require.Equal(t, ids[0], v["pending"].([]any)[0].(map[string]any)["id"])
		}
		require.Equal(t, ids, strict.questions(id))
		strict.post("/threads/"+id+"/runs/wait", resumeBody("approve", ids[0], `1`)).ok()
		require.Equal(t, 1, l.count("pay:"+id))
	})
}

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// D-43, D-44: five questions one after the other in one node. Each answer leads
// to the next question; answered ones return what was stored, and the steps
// before them are not executed again.
func TestQuestionsInSequenceRepeatNoStep(t *testing.T) {
	t.Parallel()
	l := newLab()
	const questions = 5
	c := labServer(t, agent.NewGraph[state]("interview").
		Node("ask", func(ctx agent.Context, _ state) (agent.Update, error) {
			var answers []string
			for i := range questions {
				if err := l.once(ctx, fmt.Sprint("step", i)); err != nil {
					return nil, err
				}
				answer, err := agent.Interrupt[string](ctx, map[string]int{"question": i})
				if err != nil {
					return nil, err
				}
				answers = append(answers, answer)
			}
			return said(answers...), nil
		}).Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile())
	id, open := interrupted(c, "interview")
	asked := map[string]bool{}
	for i := range questions {
		require.Len(t, open, 1)
		require.False(t, asked[open[0]], "a new question has a new id")
		asked[open[0]] = true
		task := c.get("/threads/" + id + "/state").ok().json()["tasks"].([]any)[0].(map[string]any)
		require.Equal(t, map[string]any{"question": float64(i)}, task["interrupts"].([]any)[0].(map[string]any)["value"])
		// Every way to send an answer gets on: by stream, by wait, in the background.
		body := fmt.Sprintf(`{"assistant_id":"interview","command":{"resume":"answer %d"}}`, i)
		switch i % 3 {
		case 0:
			frames := c.post("/threads/"+id+"/runs/stream", body).frames()
			next, ok := frames[len(frames)-1].notice()
			require.Equal(t, i < questions-1, ok)
			require.NotContains(t, next, open[0])
		case 1:
			c.post("/threads/"+id+"/runs/wait", body).ok()
		case 2:
			c.wait(id, c.start(id, body))
		}
		open = c.questions(id)
		for step := range questions {
			want := 0
			if step <= i+1 {
				want = 1
			}
			require.Equal(t, want, l.count(fmt.Sprintf("step%d:%s", step, id)), "step %d after answer %d", step, i)
		}
	}
	require.Empty(t, open)
	require.Equal(t, []any{"answer 0", "answer 1", "answer 2", "answer 3", "answer 4"}, c.values(id)["log"])
	require.Len(t, c.get("/threads/"+id+"/runs").ok().list(), questions+1, "no extra resumes")
}

// D-39: a condition that was true when the question was asked isn't asked again:
// neither the branch that led to the question, nor a condition that is a step.
func TestConditionBeforeAQuestionIsNotEvaluatedAgain(t *testing.T) {
	t.Parallel()
	var needsReview atomic.Bool
	var branched, judged atomic.Int32
	l := newLab()
	gated := func(ctx agent.Context, _ state) (agent.Update, error) {
		review, err := agent.Step(ctx, "judge", func(agent.StepContext) (bool, error) {
			judged.Add(1)
			return needsReview.Load(), nil
		})
		if err != nil {
			return nil, err
		}
		if review {
			answer, err := agent.Interrupt[string](ctx, "may I?")
			if err != nil {
				return nil, err
			}
			if answer != "yes" {
				return said("refused"), nil
			}
		}
		return said("acted"), l.once(ctx, "act")
	}
	c := labServer(t, agent.NewGraph[state]("conditional").
		Node("gated", gated).
		Node("direct", func(ctx agent.Context, _ state) (agent.Update, error) { return said("direct"), l.once(ctx, "act") }).
		Branch(agent.Start, func(state) string {
			branched.Add(1)
			if needsReview.Load() {
				return "gated"
			}
			return "direct"
		}, "gated", "direct").Edge("gated", agent.End).Edge("direct", agent.End).MustCompile())
	needsReview.Store(true)
	id, _ := interrupted(c, "conditional")
	needsReview.Store(false) // it flips while the question waits
	b, j := branched.Load(), judged.Load()
	result := c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"conditional","command":{"resume":"no"}}`).ok().json()
	require.Equal(t, []any{"refused"}, result["log"], "the answer counts")
	require.Zero(t, l.count("act:"+id))
	require.Equal(t, b, branched.Load())
	require.Equal(t, j, judged.Load())
}

// D-44: what happens to a run that meets a busy thread is the same on every
// route that creates runs.
func TestMultitaskStrategyIsTheSameOnEveryRoute(t *testing.T) {
	t.Parallel()
	for _, route := range []string{"", "/wait", "/stream"} {
		for strategy, want := range map[string]struct {
			status int
			first  string   // "" for a run that is gone
			log    []string // of the thread in the end
		}{
			"":          {http.StatusUnprocessableEntity, "success", []string{"before", "waited"}},
			"reject":    {http.StatusUnprocessableEntity, "success", []string{"before", "waited"}},
			"enqueue":   {http.StatusOK, "success", []string{"before", "waited", "hello"}},
			"interrupt": {http.StatusOK, "interrupted", []string{"before", "hello"}},
			"rollback":  {http.StatusOK, "", []string{"hello"}},
		} {
			t.Run(route+" "+strategy, func(t *testing.T) {
				t.Parallel()
				l := newLab()
				c := labServer(t, append(testAgents(), l.held())...)
				id := c.thread()
				first := c.start(id, `{"assistant_id":"held","input":{}}`)
				l.gate("held").arrive(t)
				body := `{"assistant_id":"echo","input":{"note":"x"}}`
				if strategy != "" {
					body = `{"assistant_id":"echo","input":{"note":"x"},"multitask_strategy":"` + strategy + `"}`
				}
				second := c.open(t.Context(), http.MethodPost, "/threads/"+id+"/runs"+route, body)
				require.Equal(t, want.status, second.StatusCode)
				if want.first == "success" { // else it ends by being cancelled
					l.gate("held").open()
				}
				if want.status == http.StatusOK {
					path := second.Header.Get("Content-Location")
					c.get(path + "/join").ok()
					require.Equal(t, "success", c.get(path).ok().str("status"))
				}
				require.NoError(t, second.Body.Close())
				if want.first == "" {
					c.get("/threads/" + id + "/runs/" + first).is(http.StatusNotFound)
				} else {
					c.wait(id, first)
					require.Equal(t, want.first, c.status(id, first))
				}
				require.Equal(t, fmt.Sprint(want.log), fmt.Sprint(c.values(id)["log"]))
			})
		}
	}
}

// D-47: a client that loses the reply and sends the same again starts no second
// run: known by the Idempotency-Key, or by the ids that it gave its messages.
func TestLostReplyAndRetryAreOneRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		headers map[string]string
		body    string
		second  bool // the same content is a run of its own
	}{
		"key":            {map[string]string{"Idempotency-Key": "k"}, `"input":{"note":"x"}`, false},
		"message ids":    {nil, `"input":{"messages":[{"type":"human","id":"m1","content":"hi"}]}`, false},
		"no ids, no key": {nil, `"input":{"messages":[{"type":"human","content":"hi"}]},"multitask_strategy":"enqueue"`, true},
	} {
		for _, route := range []string{"/stream", "/wait", ""} {
			t.Run(name+route, func(t *testing.T) {
				t.Parallel()
				l := newLab()
				c := labServer(t, l.held()).as(tt.headers)
				id := c.thread()
				body := `{"assistant_id":"held",` + tt.body + `}`
				ctx, lose := context.WithCancel(t.Context())
				lost := c.open(ctx, http.MethodPost, "/threads/"+id+"/runs"+route, body)
				l.gate("held").arrive(t)
				lose()
				require.NoError(t, lost.Body.Close())
				retry := c.open(t.Context(), http.MethodPost, "/threads/"+id+"/runs"+route, body)
				require.Equal(t, http.StatusOK, retry.StatusCode)
				first, again := lost.Header.Get("Content-Location"), retry.Header.Get("Content-Location")
				require.NotEmpty(t, first)
				l.gate("held").open()
				c.get(again + "/join").ok()
				require.NoError(t, retry.Body.Close())
				n := 1
				if tt.second {
					n = 2
				}
				require.Equal(t, tt.second, first != again)
				require.Len(t, c.get("/threads/"+id+"/runs").ok().list(), n)
				require.Equal(t, n, l.count("wait:"+id))
			})
		}
	}
}

package server_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/server"
)

// beside asks in one node while its sibling speaks; the sibling waits at the gate "sibling".
func (l *lab) beside() agent.Agent {
	return agent.NewGraph[state]("beside").
		Node("ask", func(ctx agent.Context, _ state) (agent.Update, error) {
			answer, err := agent.Interrupt[any](ctx, "ok?")
			return agent.Set("answer", answer), err
		}).
		Node("speak", func(ctx agent.Context, _ state) (agent.Update, error) {
			if err := l.once(ctx, "speak"); err != nil {
				return nil, err
			}
			if err := l.gate("sibling").pass(ctx); err != nil {
				return nil, err
			}
			return agent.Values{"messages": []message.Message{message.NewAI("I am done")}, "log": []string{"spoke"}}, nil
		}).
		Edge(agent.Start, "ask").Edge(agent.Start, "speak").Edge("ask", agent.End).Edge("speak", agent.End).MustCompile()
}

// D-11: a notice of a question is no state: it holds nothing else, and every
// other values event holds the whole state.
func TestNoticeOfAQuestionReplacesNoState(t *testing.T) {
	t.Parallel()
	l := newLab()
	l.gate("sibling").open()
	c := labServer(t, l.approve(), l.beside())
	for _, graph := range []string{"approve", "beside"} {
		id := c.thread()
		frames := c.post("/threads/"+id+"/runs/stream",
			`{"assistant_id":"`+graph+`","input":{"note":"kept","messages":[{"type":"human","id":"m","content":"hi"}]}}`).frames()
		notices, state := 0, map[string]any{}
		for _, f := range named(frames, "values") {
			if _, ok := f.notice(); ok {
				notices++
				require.Len(t, f.json(t), 1, "a client that replaced its state by this would lose everything")
				continue
			}
			state = f.json(t)
			require.Equal(t, "kept", state["note"])
			require.Equal(t, "hi", state["messages"].([]any)[0].(map[string]any)["content"])
		}
		require.Equal(t, 1, notices)
		require.Equal(t, c.values(id), state, "the last state is the thread's")
		require.Equal(t, "kept", c.get("/threads/" + id).ok().json()["values"].(map[string]any)["note"])
	}
}

// D-12: what a finished task wrote is stored and shown before the run stops at
// the question of its sibling, and the answer doesn't run it again.
func TestFinishedSiblingsAreShownBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	l := newLab()
	l.gate("sibling").open()
	c := labServer(t, l.beside())
	id := c.thread()
	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"beside","input":{"note":"n"},"stream_mode":["values","updates"]}`).frames()
	last := frames[len(frames)-1]
	require.Equal(t, "values", last.event)
	require.Equal(t, "I am done", last.json(t)["messages"].([]any)[0].(map[string]any)["content"])
	updates := 0
	for _, f := range named(frames, "updates") {
		if f.json(t)["speak"] != nil {
			updates++
		}
	}
	require.Equal(t, 1, updates)
	require.Equal(t, last.json(t), c.values(id))
	require.Len(t, c.questions(id), 1)
	require.Equal(t, []any{"ask"}, c.get("/threads/" + id + "/state").ok().json()["next"])

	result := c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"beside","command":{"resume":"yes"}}`).ok().json()
	require.Equal(t, []any{"spoke"}, result["log"])
	require.Len(t, result["messages"], 1)
	require.Equal(t, 1, l.count("speak:"+id))
}

// fan asks n questions, each in a task of its own.
func fan(n int) agent.Agent {
	b := agent.NewGraph[state]("fan").
		BranchTo(agent.Start, func(agent.Context, state) ([]agent.Target, error) {
			targets := make([]agent.Target, n)
			for i := range targets {
				targets[i] = agent.Send("ask", i)
			}
			return targets, nil
		}, "ask").Edge("ask", agent.End)
	agent.NodeOf(b, "ask", func(ctx agent.Context, i int) (agent.Update, error) {
		answer, err := agent.Interrupt[string](ctx, i)
		return said(fmt.Sprint(i, "=", answer)), err
	})
	return b.MustCompile()
}

// D-26, D-28: all open questions are in the state, in the thread and on the
// stream, each with an id of its own.
func TestAllQuestionsAreShownEverywhere(t *testing.T) {
	t.Parallel()
	const n = 200
	c := labServer(t, fan(n))
	id := c.thread()
	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"fan","input":{},"stream_mode":["values","updates"]}`).frames()
	streamed := map[string]map[string]bool{"values": {}, "updates": {}}
	for _, f := range frames {
		ids, _ := f.notice()
		for _, q := range ids {
			streamed[f.event][q] = true
		}
	}
	shown := c.questions(id)
	require.Len(t, shown, n)
	unique := map[string]bool{}
	for _, q := range shown {
		require.Regexp(t, `^[0-9a-f]{32}$`, q)
		unique[q] = true
	}
	require.Len(t, unique, n)
	require.Equal(t, map[string]map[string]bool{"values": unique, "updates": unique}, streamed)
	ofThread := map[string]bool{}
	for _, list := range c.get("/threads/" + id).ok().json()["interrupts"].(map[string]any) {
		for _, q := range list.([]any) {
			ofThread[q.(map[string]any)["id"].(string)] = true
		}
	}
	require.Equal(t, unique, ofThread)
	found := c.post("/threads/search", `{"status":"interrupted"}`).ok().list()
	require.Len(t, found, 1)
	require.Len(t, found[0]["interrupts"], n)
}

// D-21: an answered question is gone from wherever a page looks before the call
// that answered it returns, while the others stay.
func TestAnsweredQuestionIsGoneWhenTheCallReturns(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, append([]agent.Agent{l.beside(), l.approve()}, testAgents()...)...)
	everywhere := func(id string) [][]string {
		head := c.post("/threads/"+id+"/history", `{"limit":1}`).ok().list()[0]
		return [][]string{c.questions(id), questionsOf(head)}
	}
	t.Run("its run is at work", func(t *testing.T) {
		l.gate("pay")
		id, ids := interrupted(c, "approve")
		c.start(id, resumeBody("approve", ids[0], `1`))
		require.Equal(t, [][]string{{}, {}}, everywhere(id))
		l.gate("pay").arrive(t)
		require.Equal(t, [][]string{{}, {}}, everywhere(id))
		l.gate("pay").open()
	})
	t.Run("its run waits behind the one that asked", func(t *testing.T) {
		id := c.thread()
		r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"beside","input":{}}`)
		l.gate("sibling").arrive(t)
		ids, ok := r.frames(2)[1].notice()
		require.True(t, ok)
		run := c.start(id, resumeBody("beside", ids[0], `1`))
		require.Equal(t, "pending", c.status(id, run))
		require.Equal(t, [][]string{{}, {}}, everywhere(id))
		l.gate("sibling").open()
		c.wait(id, run)
		require.Equal(t, float64(1), c.values(id)["answer"])
	})
	t.Run("one of two", func(t *testing.T) {
		id, ids := interrupted(c, "two")
		run := c.start(id, resumeBody("two", ids[1], `1`))
		require.Equal(t, [][]string{ids[:1], ids[:1]}, everywhere(id))
		c.wait(id, run)
		require.Equal(t, [][]string{ids[:1], ids[:1]}, everywhere(id))
	})
}

// D-30: a second tab that follows the thread learns that a question was answered
// elsewhere as soon as it was: with the resumed run comes the state without it.
func TestSecondTabLearnsOfTheAnswer(t *testing.T) {
	t.Parallel()
	l := newLab()
	l.gate("pay")
	c := labServer(t, l.approve())
	id := c.thread()
	tab := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"approve","input":{"note":"n"}}`).ok()
	frames := tab.frames(3)
	question, ok := frames[2].notice()
	require.True(t, ok)
	run := c.start(id, resumeBody("approve", question[0], `1`))
	frames = tab.frames(2)
	require.Equal(t, []string{"metadata", "values"}, events(frames))
	require.Equal(t, run, frames[0].json(t)["run_id"])
	_, ok = frames[1].notice()
	require.False(t, ok)
	require.Equal(t, "n", frames[1].json(t)["note"])
	require.Zero(t, l.count("pay:"+id), "while the resumed run is still at work")
	l.gate("pay").open()
	c.wait(id, run)
}

// D-23: who answers in the very moment a question is shown is never refused.
func TestImmediateAnswersAreNeverRefused(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	responders, clients := heavy(1000, 100), 40
	work := make(chan int)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := range work {
				id := c.thread()
				r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"ask","input":{},"stream_mode":"updates"}`)
				var question []string
				for question == nil {
					f, err := r.next()
					if err != nil {
						t.Errorf("no question: %v", err)
						return
					}
					question, _ = f.notice()
				}
				// The stream is still open: its run may not have ended yet.
				body := resumeBody("ask", question[0], fmt.Sprint(i))
				if i%2 == 0 {
					body = fmt.Sprintf(`{"assistant_id":"ask","command":{"resume":%d}}`, i)
				}
				a := c.post("/threads/"+id+"/runs/wait", body)
				if a.status != http.StatusOK || a.json()["answer"] != float64(i) {
					t.Errorf("responder %d: %d %s", i, a.status, a.body)
				}
				_ = r.res.Body.Close()
			}
		})
	}
	for i := range responders {
		work <- i
	}
	close(work)
	wg.Wait()
}

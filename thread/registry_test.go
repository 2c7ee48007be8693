package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// slate is the state of agents that are replaced.
type slate struct {
	Log    []string `json:"log" agent:"append"`
	Note   string   `json:"note"`
	Answer string   `json:"answer"`
}

// saying is an agent whose only node is called node and leaves word, behind a question if it asks.
func saying(w *world, name, node, word string, asks bool) agent.Agent {
	return agent.NewGraph[slate](name).
		Node(node, func(ctx agent.Context, _ slate) (agent.Update, error) {
			if err := w.passIfClosed(ctx, "say:"+ctx.ThreadID()); err != nil {
				return nil, err
			}
			if asks {
				answer, err := agent.Interrupt[string](ctx, "go on?")
				if err != nil {
					return nil, err
				}
				word += ":" + answer
			}
			return agent.Set("log", []string{word}), nil
		}).
		Edge(agent.Start, node).Edge(node, agent.End)
}

func withAgents(agents ...agent.Agent) setupOption {
	return with(func(o *thread.Options) { o.Agents = agents })
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAgentsAreReplacedForNewRuns(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := setup(t, withAgents(saying(w, "a", "say", "old", false)))
	busy, other := b.thread(), b.thread()
	w.shut("say:" + busy)
	run := b.begin(input(busy, "a", `{}`))
	<-w.arrived("say:"+busy, 1)

	idle, err := b.svc.ReplaceAgents(t.Context(), []agent.Agent{saying(w, "a", "say", "new", false), saying(w, "b", "say", "b", false)})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, b.svc.Graphs())
	b.run(input(other, "a", `{}`))
	require.JSONEq(t, `{"log":["new"]}`, b.values(other))
	b.run(input(other, "b", `{}`))
	require.JSONEq(t, `{"log":["new","b"]}`, b.values(other))
	require.False(t, isClosed(idle), "a run still has the old agents")

	w.open("say:" + busy)
	require.Equal(t, thread.RunSuccess, b.wait(run).Status)
	require.JSONEq(t, `{"log":["old"]}`, b.values(busy), "a run keeps the graph that it began with")
	select {
	case <-idle:
	case <-time.After(time.Minute):
		t.Fatal("nobody uses the old agents any more")
	}
	idle, err = b.svc.ReplaceAgents(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, isClosed(idle), "no run had them")
}

func TestThreadsOfAnAgentThatIsGoneCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := setup(t, withAgents(saying(w, "a", "say", "word", true), saying(w, "b", "say", "b", false)))
	id := b.thread()
	b.run(input(id, "a", `{"note":"n"}`))
	before := b.values(id)
	question := b.pending(id)
	require.Len(t, question, 1)

	_, err := b.svc.ReplaceAgents(t.Context(), []agent.Agent{saying(w, "b", "say", "b", false)})
	require.NoError(t, err)
	require.JSONEq(t, before, b.values(id))
	require.Equal(t, question, b.pending(id), "the question stays open")
	require.NotEmpty(t, b.history(id))
	view, err := b.svc.ViewThread(t.Context(), b.get(id))
	require.NoError(t, err)
	require.JSONEq(t, before, string(view.Values))

	for _, r := range []thread.StartRun{input(id, "a", `{}`), resume(id, "a", `"yes"`), input(b.thread(), "a", `{}`)} {
		_, err = b.svc.StartRun(t.Context(), r)
		var missing *thread.NotFoundError
		require.ErrorAs(t, err, &missing)
	}
	_, err = b.svc.Assistant(t.Context(), thread.SystemAssistantID("a"))
	require.ErrorIs(t, err, thread.ErrNotFound, "the system assistant has gone with it")

	_, err = b.svc.ReplaceAgents(t.Context(), []agent.Agent{saying(w, "a", "say", "again", true)})
	require.NoError(t, err)
	b.run(resume(id, "a", `"yes"`))
	require.JSONEq(t, `{"log":["again:yes"],"note":"n"}`, b.values(id), "with the agent back, the thread goes on")
}

func TestAnAssistantThatSomebodyChangedStaysWhenItsAgentGoes(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := setup(t, withAgents(saying(w, "a", "say", "word", false)))
	name := "mine"
	_, err := b.svc.PatchAssistant(t.Context(), "a", thread.AssistantPatch{Name: &name})
	require.NoError(t, err)
	_, err = b.svc.ReplaceAgents(t.Context(), nil)
	require.NoError(t, err)
	a, err := b.svc.Assistant(t.Context(), thread.SystemAssistantID("a"))
	require.NoError(t, err)
	require.Equal(t, name, a.Name)
	_, err = b.svc.StartRun(t.Context(), input(b.thread(), a.ID, `{}`))
	require.EqualError(t, err, "graph a not found")
}

func TestTwoAgentsOfOneNameReplaceNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := setup(t, withAgents(saying(w, "a", "say", "word", false)))
	_, err := b.svc.ReplaceAgents(t.Context(), []agent.Agent{saying(w, "b", "x", "", false), saying(w, "b", "y", "", false)})
	require.ErrorContains(t, err, `two agents are named "b"`)
	require.Contains(t, b.svc.Graphs(), "a")
	_, err = b.svc.Assistant(t.Context(), "b")
	require.ErrorIs(t, err, thread.ErrNotFound)
}

// A suspended thread goes on with the changed agent, if that has the node which asked.
func TestAnswersAreForTheNodeThatAsked(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := setup(t, withAgents(saying(w, "a", "ask", "old", true)))
	id, dropped := b.thread(), b.thread()
	b.run(input(id, "a", `{}`))
	b.run(input(dropped, "a", `{}`))
	question := b.pending(id)

	_, err := b.svc.ReplaceAgents(t.Context(), []agent.Agent{saying(w, "a", "other", "other", true)})
	require.NoError(t, err)
	_, err = b.svc.StartRun(t.Context(), resume(id, "a", `"yes"`))
	var refused *agent.ResumeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agent.GraphChanged, refused.Code)
	require.Equal(t, question, refused.IDs)
	require.Contains(t, refused.Message, `it has no node ask any more`)
	require.Equal(t, question, b.pending(id), "nothing was stored")

	require.Equal(t, thread.RunSuccess, b.run(input(dropped, "a", `{"note":"new"}`)).Status, "new input drops the question")
	require.Len(t, b.pending(dropped), 1)

	_, err = b.svc.ReplaceAgents(t.Context(), []agent.Agent{saying(w, "a", "ask", "new", true)})
	require.NoError(t, err)
	b.run(resume(id, "a", `"yes"`))
	require.JSONEq(t, `{"log":["new:yes"]}`, b.values(id))
}

// A graph that a node invoked by hand isn't seen before it goes on: then the run fails.
func TestAnAnswerForANodeThatIsGoneInsideFailsTheRun(t *testing.T) {
	t.Parallel()
	calling := func(node string) agent.Agent {
		inner := agent.NewGraph[slate]("inner").
			Node(node, func(ctx agent.Context, _ slate) (agent.Update, error) {
				answer, err := agent.Interrupt[string](ctx, "go on?")
				return agent.Set("answer", answer), err
			}).
			Edge(agent.Start, node).Edge(node, agent.End).MustCompile()
		return agent.NewGraph[slate]("calling").
			Node("call", func(ctx agent.Context, _ slate) (agent.Update, error) {
				state, err := agent.Invoke(ctx, inner, map[string]any{})
				if err != nil {
					return nil, err
				}
				answer, _ := state.Value("answer")
				return agent.Set("answer", answer.JSON), nil
			}).
			Edge(agent.Start, "call").Edge("call", agent.End)
	}
	b := setup(t, withAgents(calling("ask")))
	id := b.thread()
	b.run(input(id, "calling", `{}`))
	_, err := b.svc.ReplaceAgents(t.Context(), []agent.Agent{calling("other")})
	require.NoError(t, err)
	run := b.run(resume(id, "calling", `"yes"`))
	require.Equal(t, thread.RunError, run.Status)
	require.Contains(t, string(run.Error), agent.GraphChangedError)
}

package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// nest puts a graph that asks into n-1 graphs around it. Each level has a step before the next.
func (l *lab) nest(name string, n int) *agent.Graph {
	if n == 1 {
		return agent.NewGraph[state](name+"1").
			Node("ask", func(ctx agent.Context, _ state) (agent.Update, error) {
				if err := l.once(ctx, name+"1"); err != nil {
					return nil, err
				}
				answer, err := agent.Interrupt[string](ctx, map[string]string{"branch": name})
				if err != nil {
					return nil, err
				}
				return said(name + "=" + answer), nil
			}).Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile()
	}
	step := fmt.Sprint(name, n)
	return agent.NewGraph[state](step).
		Node("prepare", func(ctx agent.Context, _ state) (agent.Update, error) {
			l.effect(step + ":" + ctx.ThreadID())
			return agent.Set("note", step), nil
		}).
		Subgraph("inner", l.nest(name, n-1)).
		Edge(agent.Start, "prepare").Edge("prepare", "inner").Edge("inner", agent.End).MustCompile()
}

// forest runs two trees of three levels side by side.
func (l *lab) forest() agent.Agent {
	return agent.NewGraph[forest]("forest").
		Subgraph("left", l.nest("left", 3)).Subgraph("right", l.nest("right", 3)).
		Edge(agent.Start, "left").Edge(agent.Start, "right").Edge("left", agent.End).Edge("right", agent.End).MustCompile()
}

// forest shares only the log with the trees.
type forest struct {
	Log []string `json:"log" agent:"append"`
}

// nestedQuestion finds the question below a task of the root graph and the namespace that asks it.
func nestedQuestion(t *testing.T, state map[string]any, branch string) (id string, path []string) {
	t.Helper()
	for _, raw := range state["tasks"].([]any) {
		task := raw.(map[string]any)
		for _, q := range task["interrupts"].([]any) {
			q := q.(map[string]any)
			if q["value"].(map[string]any)["branch"] != branch {
				continue
			}
			path = []string{task["name"].(string)}
			if inner, ok := task["state"].(map[string]any); ok {
				below, names := nestedQuestion(t, inner, branch)
				require.Equal(t, q["id"], below, "the same id at every level")
				path = append(path, names...)
			}
			return q["id"].(string), path
		}
	}
	return "", nil
}

// D-50, D-51: questions three levels deep in branches side by side: each is seen
// live and in the state, is answered by its id alone, and goes on in its own
// place without repeating what its levels have done.
func TestDeepQuestionsGoOnInTheirOwnPlace(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"left", "right"}, {"right", "left"}} {
		l := newLab()
		c := labServer(t, l.forest())
		id := c.thread()
		frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"forest","input":{},"stream_mode":["updates","values"]}`).frames()
		live := map[string]bool{}
		for _, f := range named(frames, "updates") {
			ids, _ := f.notice()
			for _, q := range ids {
				live[q] = true
			}
		}
		require.Len(t, live, 2, "nested questions are shown at the root")
		full := func() map[string]any { return c.get("/threads/" + id + "/state?subgraphs=true").ok().json() }
		for i, branch := range order {
			question, path := nestedQuestion(t, full(), branch)
			require.True(t, live[question])
			require.Equal(t, []string{branch, "inner", "inner", "ask"}, path)
			c.post("/threads/"+id+"/runs/wait", resumeBody("forest", question, `"ok"`)).ok()
			gone, _ := nestedQuestion(t, full(), branch)
			require.Empty(t, gone)
			if i == 0 {
				other, path := nestedQuestion(t, full(), order[1])
				require.True(t, live[other], "the other one still waits, under its id")
				require.Equal(t, []string{order[1], "inner", "inner", "ask"}, path)
				require.Equal(t, "interrupted", c.get("/threads/"+id).ok().str("status"))
			}
		}
		require.Equal(t, "idle", c.get("/threads/"+id).ok().str("status"))
		require.ElementsMatch(t, []any{"left=ok", "right=ok"}, c.values(id)["log"])
		for _, level := range []string{"left3", "left2", "left1", "right3", "right2", "right1"} {
			require.Equal(t, 1, l.count(level+":"+id), level)
		}
	}
}

// D-52: the head named as the checkpoint is as none: the nested graph goes on
// where it asked. An older one is refused, and the refusal names what waits.
func TestResumeAtACheckpoint(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, l.nest("tree", 3))
	id, ids := interrupted(c, "tree3")
	history := c.post("/threads/"+id+"/history", `{}`).ok().list()
	checkpoint := func(i int) string {
		return string(raw(t, c.post("/threads/"+id+"/history", `{}`).ok().listRaw(i), "checkpoint"))
	}
	old := checkpoint(len(history) - 1)
	for _, command := range []string{`{"resume":"x"}`, `{"resume":{"` + ids[0] + `":"x"}}`} {
		v := c.post("/threads/"+id+"/runs", `{"assistant_id":"tree3","checkpoint":`+old+`,"command":`+command+`}`).code(http.StatusConflict, "interrupt_not_pending")
		require.Equal(t, ids[0], v["pending"].([]any)[0].(map[string]any)["id"])
	}
	require.Equal(t, ids, c.questions(id), "nothing changed")
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"tree3","checkpoint":`+checkpoint(0)+`,"command":{"resume":"ok"}}`).ok()
	require.Equal(t, []any{"tree=ok"}, c.values(id)["log"])
	for _, level := range []string{"tree3", "tree2", "tree1"} {
		require.Equal(t, 1, l.count(level+":"+id), level)
	}
	after := c.post("/threads/"+id+"/history", `{}`).ok().list()
	require.Equal(t, history[0]["checkpoint"], after[len(after)-len(history)]["checkpoint"])
	for _, s := range after {
		require.NotEqual(t, "fork", s["metadata"].(map[string]any)["source"])
	}
}

// D-53: to decide anew is a branch of its own: new question, new answer; the old
// branch keeps what was decided and can still be read.
func TestDecidingAnewIsABranch(t *testing.T) {
	t.Parallel()
	c := labServer(t, testAgents()...)
	id, ids := interrupted(c, "ask")
	question := c.get("/threads/" + id + "/state").ok()
	asking := string(raw(t, question.body, "checkpoint"))
	c.post("/threads/"+id+"/runs/wait", resumeBody("ask", ids[0], `"A"`)).ok()
	first := c.get("/threads/" + id + "/state").ok().json()
	require.Equal(t, "A", first["values"].(map[string]any)["answer"])

	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"ask","input":null,"checkpoint":`+asking+`}`).ok()
	anew := c.questions(id)
	require.Len(t, anew, 1)
	require.NotEqual(t, ids[0], anew[0], "the old answer doesn't fit the new question")
	v := c.post("/threads/"+id+"/runs", resumeBody("ask", ids[0], `"B"`)).code(http.StatusConflict, "already_decided")
	require.Equal(t, "A", v["decision"])
	c.post("/threads/"+id+"/runs/wait", resumeBody("ask", anew[0], `"B"`)).ok()
	second := c.get("/threads/" + id + "/state").ok().json()
	require.Equal(t, "B", second["values"].(map[string]any)["answer"])
	require.Equal(t, []any{"ask", "done"}, second["values"].(map[string]any)["log"], "one branch's history isn't the other's")

	at := func(state map[string]any) string {
		return state["checkpoint"].(map[string]any)["checkpoint_id"].(string)
	}
	require.Equal(t, first["values"], c.get("/threads/" + id + "/state/" + at(first)).ok().json()["values"])
	seen := map[string]bool{}
	for _, s := range c.post("/threads/"+id+"/history", `{"limit":100}`).ok().list() {
		seen[at(s)] = true
	}
	require.True(t, seen[at(first)] && seen[at(second)], "the history has both")
}

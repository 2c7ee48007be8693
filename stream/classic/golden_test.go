package classic_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/classic/capturetest"
)

// The recorded server's streams, frame by frame: the events behind each are
// written by hand, in the order of the runtime.
func TestProjectionGivesTheRecordedStreams(t *testing.T) {
	t.Parallel()
	question := agent.InterruptInfo{ID: "0123456789abcdef0123456789abcdef", Value: json.RawMessage(`"i want to interrupt"`)}
	for name, runs := range map[string]struct {
		streams []string
		scripts func(t *testing.T) []*script
	}{
		"tokens, a tool message and three steps": {
			[]string{"agent.classic"},
			func(t *testing.T) []*script {
				return []*script{agentRun(t, newScript(t, "agent", "run"), "")}
			},
		},
		"custom events": {
			[]string{"agent.sleep.classic"},
			func(t *testing.T) []*script {
				return []*script{agentRun(t, newScript(t, "agent", "run"), `"sleep":{"ms":100,"steps":3}`)}
			},
		},
		"an interrupt and its resume": {
			[]string{"agent.interrupt.classic", "agent.interrupt.classic-resume"},
			func(t *testing.T) []*script { return []*script{asks(t, question), answered(t, question)} },
		},
		"a breakpoint in a nested graph": {
			[]string{"weather.classic", "weather.classic-resume"},
			func(t *testing.T) []*script { return weather(t) },
		},
		"graphs within graphs": {
			[]string{"nested.classic"},
			func(t *testing.T) []*script { return []*script{nested(t)} },
		},
		"a failing node": {
			[]string{"error.classic"},
			func(t *testing.T) []*script { return []*script{fails(t)} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scripts := runs.scripts(t)
			var recorded *capturetest.Numbering
			ours := capturetest.NewNumbering(id("thread"), id("assistant"))
			for i, stream := range runs.streams {
				raw, err := os.ReadFile(filepath.Join("testdata", stream+".sse"))
				require.NoError(t, err)
				if recorded == nil {
					recorded = capturetest.NewNumbering(find(string(raw), "thread_id"), find(string(raw), "assistant_id"))
				}
				want, got := comparable(t, recorded, raw, true), comparable(t, ours, body(scripts[i].project()), false)
				for n := range want {
					require.Equal(t, want[n], got[min(n, len(got)-1)], "%s: frame %d", stream, n)
				}
				require.Len(t, got, len(want))
				require.Equal(t, string(body(scripts[i].project())), string(body(scripts[i].replay())), "the log gives the same bytes")
			}
		})
	}
}

// comparable normalises a stream and leaves out what says nothing about this server.
func comparable(t *testing.T, n *capturetest.Numbering, body []byte, recorded bool) []string {
	frames, err := capturetest.Parse(body)
	require.NoError(t, err)
	for _, f := range frames {
		require.True(t, f.HasEvent && f.HasData && f.HasID)
	}
	if recorded {
		frames = capturetest.WithoutTaskSuffix(frames)
	}
	lines, err := n.Lines(capturetest.Without(capturetest.WithoutVersionFields(frames), capturetest.ServerKeys...))
	require.NoError(t, err)
	return lines
}

// find returns the first value of a key with a string value.
func find(body, key string) string {
	_, rest, _ := strings.Cut(body, `"`+key+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

const inputStep, loop = "input", "loop"

// opening writes the first two checkpoints of a run with input.
func (s *script) opening(ns, before, after, first string, view agent.TaskView) {
	s.checkpoint(cp{ns: ns, id: "in", step: -1, source: inputStep, values: before, next: []string{"__start__"},
		tasks: []agent.TaskView{taskView(ns, "__start__")}, silent: true})
	s.checkpoint(cp{ns: ns, id: "c0", parent: "in", step: 0, source: loop, values: after, next: []string{first}, tasks: []agent.TaskView{view}})
}

// agentState is the state of the "agent" graph; sleep is an extra key or "".
func agentState(messages, interrupt, shared, sleep string) string {
	fields := []string{`"messages":` + messages}
	if interrupt != "" {
		fields = append(fields, `"interrupt":`+interrupt)
	}
	if shared != "" {
		fields = append(fields, `"sharedStateFromStoreConfig":`+shared)
	}
	if sleep != "" {
		fields = append(fields, sleep)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// agentRun is a plain run of the "agent" graph.
func agentRun(t *testing.T, s *script, sleep string) *script {
	foo := human("human-1", "foo")
	s.start(`{"model_name":"openai"}`)
	input := agentState(list(foo), "", "", sleep)
	s.opening("", `{"messages":[]}`, input, "agent", taskView("", "agent#1"))
	s.taskStart("", "agent#1", 1, input)
	if sleep != "" {
		for i := range 3 {
			s.emit(agent.CustomWritten, "", agent.Custom{Value: raw(map[string]any{"type": "sleep", "step": i})})
		}
	}
	agentLoop(s, foo, sleep)
	return s.end(agent.RunFinish{Status: "success"})
}

// agentLoop goes from within the first task of the "agent" graph to its end.
func agentLoop(s *script, foo, sleep string) {
	begin, tool, end := ai(id("m1"), "begin"), toolMessage("run-"+id("run-tool")+"-tool-tool_call_id", "tool_call__begin"), ai(id("m2"), "end")
	s.stream("", "agent#1", 1, id("m1"), "begin")
	s.taskEnd("", "agent#1", 1, `{"interrupt":false,"messages":`+list(begin)+`}`)
	state := agentState(list(foo, begin), "false", "", sleep)
	s.checkpoint(cp{id: "c1", parent: "c0", step: 1, source: loop, values: state, next: []string{"tool"}, tasks: []agent.TaskView{taskView("", "tool")}})
	s.taskStart("", "tool", 2, state)
	s.whole("", "tool", 2, tool)
	s.taskEnd("", "tool", 2, `{"messages":`+list(tool)+`,"sharedStateFromStoreConfig":{}}`)
	state = agentState(list(foo, begin, tool), "false", "{}", sleep)
	s.checkpoint(cp{id: "c2", parent: "c1", step: 2, source: loop, values: state, next: []string{"agent"}, tasks: []agent.TaskView{taskView("", "agent#2")}})
	s.taskStart("", "agent#2", 3, state)
	s.stream("", "agent#2", 3, id("m2"), "end")
	s.taskEnd("", "agent#2", 3, `{"interrupt":false,"messages":`+list(end)+`}`)
	s.checkpoint(cp{id: "c3", parent: "c2", step: 3, source: loop, values: agentState(list(foo, begin, tool, end), "false", "{}", sleep), next: []string{}})
}

// asks is a run that stops at an interrupt.
func asks(t *testing.T, question agent.InterruptInfo) *script {
	s := newScript(t, "agent", "run").start(`{"model_name":"openai"}`)
	input := agentState(list(human("human-1", "foo")), "true", "", "")
	s.opening("", `{"messages":[]}`, input, "agent", taskView("", "agent#1"))
	s.taskStart("", "agent#1", 1, input)
	s.emit(agent.InterruptRaised, "", question)
	s.taskEnd("", "agent#1", 1, "", question)
	return s.end(agent.RunFinish{Status: "success", Suspended: true})
}

// answered is the run that answers the question of asks.
func answered(t *testing.T, question agent.InterruptInfo) *script {
	s := newScript(t, "agent", "resume").start(`{"model_name":"openai"}`)
	foo := human("human-1", "foo")
	input := agentState(list(foo), "true", "", "")
	s.emit(agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{question.ID}})
	s.checkpoint(cp{id: "c0", parent: "in", step: 0, source: loop, values: input, next: []string{"agent"},
		tasks: []agent.TaskView{taskView("", "agent#1", question)}, metadata: stored("agent", `"model_name":"openai"`)})
	s.taskStart("", "agent#1", 1, input)
	agentLoop(s, foo, "")
	return s.end(agent.RunFinish{Status: "success"})
}

// stored is the metadata of a checkpoint as an earlier run stored it.
func stored(graph, more string) string {
	m := `{"created_by":"system","graph_id":"` + graph + `","assistant_id":"` + id("assistant") + `","run_attempt":1,` +
		`"thread_id":"` + id("thread") + `","run_id":"` + id("run") + `"`
	if more != "" {
		m += "," + more
	}
	return m + "}"
}

func fails(t *testing.T) *script {
	s := newScript(t, "error", "run").start(`{}`)
	s.opening("", `{"messages":[]}`, `{"messages":[]}`, "error_node", taskView("", "error_node"))
	s.taskStart("", "error_node", 1, `{"messages":[]}`)
	boo := &agent.ErrorInfo{Name: "CustomError", Message: "Boo!"}
	s.emit(agent.TaskFinished, "", agent.TaskFinish{ID: id("error_node"), Name: "error_node", Step: 1, Error: boo})
	return s.end(agent.RunFinish{Status: "error", Error: boo})
}

// weather stops at a breakpoint within its nested graph, and goes on from there.
func weather(t *testing.T) []*script {
	hello := human("human-1", "What's the weather in SF?")
	outer, routed := `{"messages":`+list(hello)+`}`, `{"messages":`+list(hello)+`,"route":"weather"}`
	withCity := `{"messages":` + list(hello) + `,"city":"San Francisco"}`
	nestedNS := taskNS("", "weather_graph")
	graphTask := taskView("", "weather_graph")
	graphTask.SubgraphNS = nestedNS

	s := newScript(t, "weather", "run").start(`{}`)
	s.opening("", `{"messages":[]}`, outer, "router_node", taskView("", "router_node"))
	s.taskStart("", "router_node", 1, outer)
	s.taskEnd("", "router_node", 1, `{"route":"weather"}`)
	s.checkpoint(cp{id: "c1", parent: "c0", step: 1, source: loop, values: routed, next: []string{"weather_graph"}, tasks: []agent.TaskView{graphTask}})
	s.taskStart("", "weather_graph", 2, routed)
	s.maps[nestedNS] = map[string]string{"": id("c1")}
	s.opening(nestedNS, `{"messages":[]}`, outer, "model_node", taskView(nestedNS, "model_node"))
	s.taskStart(nestedNS, "model_node", 1, outer)
	s.taskEnd(nestedNS, "model_node", 1, `{"city":"San Francisco"}`)
	s.checkpoint(cp{ns: nestedNS, id: "c1", parent: "c0", step: 1, source: loop, values: withCity, next: []string{"weather_node"},
		tasks: []agent.TaskView{taskView(nestedNS, "weather_node")}})
	s.emit(agent.BreakpointHit, "", nil)
	s.end(agent.RunFinish{Status: "success", Suspended: true})

	r := newScript(t, "weather", "resume").start(`{}`)
	sunny := ai("run-"+id("out"), "It's sunny in San Francisco!")
	r.checkpoint(cp{id: "c1", parent: "c0", step: 1, source: loop, values: routed, next: []string{"weather_graph"},
		tasks: []agent.TaskView{graphTask}, metadata: stored("weather", "")})
	r.taskStart("", "weather_graph", 2, routed)
	r.maps[nestedNS] = s.maps[nestedNS]
	r.checkpoint(cp{ns: nestedNS, id: "c1", parent: "c0", step: 1, source: loop, values: withCity, next: []string{"weather_node"},
		tasks: []agent.TaskView{taskView(nestedNS, "weather_node")},
		metadata: stored("weather", `"checkpoint_map":{"":"`+id("c1")+`"},"checkpoint_ns":"`+nestedNS+`","langgraph_checkpoint_ns":"`+nestedNS+
			`","langgraph_node":"weather_graph","langgraph_path":["__pregel_pull","weather_graph"],"langgraph_step":2,"langgraph_triggers":["branch:to:weather_graph"]`)})
	r.taskStart(nestedNS, "weather_node", 2, withCity)
	r.whole(nestedNS, "weather_node", 2, sunny)
	r.taskEnd(nestedNS, "weather_node", 2, `{"messages":`+list(sunny)+`}`)
	r.checkpoint(cp{ns: nestedNS, id: "c2", parent: "c1", step: 2, source: loop, values: `{"messages":` + list(hello, sunny) + `,"city":"San Francisco"}`, next: []string{}})
	r.taskEnd("", "weather_graph", 2, `{"messages":`+list(hello, sunny)+`}`)
	r.checkpoint(cp{id: "c2", parent: "c1", step: 2, source: loop, values: `{"messages":` + list(hello, sunny) + `,"route":"weather"}`, next: []string{}})
	r.end(agent.RunFinish{Status: "success"})
	return []*script{s, r}
}

// nested is a graph within a graph within a graph.
func nested(t *testing.T) *script {
	texts := func(names ...string) string {
		for i := range names {
			names[i] = "Entered " + names[i] + " node"
		}
		return `{"messages":` + string(raw(append([]string{}, names...))) + `}`
	}
	parent, child := taskNS("", "gp_two"), taskNS(taskNS("", "gp_two"), "p_two")
	task := func(ns, node, within string) agent.TaskView {
		v := taskView(ns, node)
		v.SubgraphNS = within
		return v
	}
	s := newScript(t, "nested", "run").start(`{}`)
	s.opening("", `{}`, texts(), "gp_one", task("", "gp_one", ""))
	s.taskStart("", "gp_one", 1, texts())
	s.taskEnd("", "gp_one", 1, texts("gp_one"))
	s.checkpoint(cp{id: "c1", parent: "c0", step: 1, source: loop, values: texts("gp_one"), next: []string{"gp_two"}, tasks: []agent.TaskView{task("", "gp_two", parent)}})
	s.taskStart("", "gp_two", 2, texts("gp_one"))
	s.maps[parent] = map[string]string{"": id("c1")}

	s.opening(parent, `{}`, texts("gp_one"), "p_one", task(parent, "p_one", ""))
	s.taskStart(parent, "p_one", 1, texts("gp_one"))
	s.taskEnd(parent, "p_one", 1, texts("p_one"))
	s.checkpoint(cp{ns: parent, id: "c1", parent: "c0", step: 1, source: loop, values: texts("gp_one", "p_one"), next: []string{"p_two"}, tasks: []agent.TaskView{task(parent, "p_two", child)}})
	s.taskStart(parent, "p_two", 2, texts("gp_one", "p_one"))
	s.maps[child] = map[string]string{"": id("c1"), parent: id(parent + "c1")}

	s.opening(child, `{}`, texts("gp_one", "p_one"), "c_one", task(child, "c_one", ""))
	s.taskStart(child, "c_one", 1, texts("gp_one", "p_one"))
	s.taskEnd(child, "c_one", 1, texts("c_one"))
	s.checkpoint(cp{ns: child, id: "c1", parent: "c0", step: 1, source: loop, values: texts("gp_one", "p_one", "c_one"), next: []string{"c_two"}, tasks: []agent.TaskView{task(child, "c_two", "")}})
	s.taskStart(child, "c_two", 2, texts("gp_one", "p_one", "c_one"))
	s.taskEnd(child, "c_two", 2, texts("c_two"))
	all := texts("gp_one", "p_one", "c_one", "c_two")
	s.checkpoint(cp{ns: child, id: "c2", parent: "c1", step: 2, source: loop, values: all, next: []string{}})

	s.taskEnd(parent, "p_two", 2, all)
	whole := texts("gp_one", "p_one", "gp_one", "p_one", "c_one", "c_two")
	s.checkpoint(cp{ns: parent, id: "c2", parent: "c1", step: 2, source: loop, values: whole, next: []string{}})
	s.taskEnd("", "gp_two", 2, whole)
	s.checkpoint(cp{id: "c2", parent: "c1", step: 2, source: loop, values: texts("gp_one", "gp_one", "p_one", "gp_one", "p_one", "c_one", "c_two"), next: []string{}})
	return s.end(agent.RunFinish{Status: "success"})
}

package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/conformance"
)

func configured(key, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{key: json.RawMessage(value)}
}

func TestAgentSimplePassesAHeaderOnWithoutCallingItsModel(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.AgentSimple())
	r := l.run(run{input: humanInput("input"), configurable: configured("x-configurable-header", `"extra-client"`)})
	require.Equal(t, []string{"human input", "human end: extra-client"}, l.conversation())
	require.Empty(t, r.streamed())
	require.Equal(t, []string{"messages"}, l.state(false).State.Keys())
}

func TestAgentSimpleKeepsLineSeparators(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.AgentSimple())
	l.run(run{input: humanInput("input")})
	require.Equal(t, []string{"human input", "ai begin", "tool tool_call__begin", "ai end\u2028"}, l.conversation())
}

func TestAgentSimpleStoresTheFirstTextPerUser(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.AgentSimple())
	user := configured("langgraph_auth_user", `{"identity":"johndoe"}`)
	l.run(run{input: humanInput("hers"), configurable: user})
	l.run(run{input: `{"messages":[{"type":"human","content":"later","id":"human-2"}]}`, configurable: user})
	l.run(run{input: `{"messages":[{"type":"human","content":"anybody's","id":"human-3"}]}`})
	for user, want := range map[string]string{"johndoe": `{"text":"hers"}`, "ALL": `{"text":"anybody's"}`} {
		item, err := l.items.Get(t.Context(), []string{user}, "key_one")
		require.NoError(t, err)
		require.NotNil(t, item, user)
		require.JSONEq(t, want, string(item.Value))
	}
}

func TestAgentWithToolsReportsItsToolCall(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.AgentWithTools())
	r := l.run(run{input: humanInput("weather?")})
	require.Equal(t, []string{"human weather?", "ai ", "tool It's 60 degrees and foggy.", "ai Done."}, l.conversation())
	var notes []agent.Kind
	for _, e := range r.events {
		note, ok := e.Payload.(agent.ToolNote)
		if !ok {
			continue
		}
		notes = append(notes, e.Kind)
		require.Equal(t, "call_embed_1", note.CallID)
		require.Equal(t, "weather", note.Name)
		if e.Kind == agent.ToolStarted {
			require.JSONEq(t, `{"query":"SF"}`, note.Input)
		} else {
			require.Contains(t, string(note.Output), "It's 60 degrees and foggy.")
		}
	}
	require.Equal(t, []agent.Kind{agent.ToolStarted, agent.ToolFinished}, notes)

	l.run(run{input: `{"messages":[{"type":"human","content":"and now?","id":"human-2"}]}`})
	require.Len(t, l.conversation(), 8, "a second run makes messages of its own")
}

func TestAgentWithStatsReportsNoToolCall(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.AgentWithStats())
	r := l.run(run{input: humanInput("weather?")})
	require.Equal(t, []string{"human weather?", "ai ", "tool It's 60 degrees and foggy.", "ai Done."}, l.conversation())
	last := l.state(false).State.Messages()["messages"].At(2)
	require.Equal(t, []string{"call_stats_1", "weather"}, []string{last.ToolCallID, last.Name})
	for _, e := range r.events {
		require.NotEqual(t, agent.ToolStarted, e.Kind)
	}
	require.Equal(t, map[string]string{"toolCallCount": "0", "totalTokens": "0"}, extensions(t, r.events))

	l = newLab(t, conformance.AgentWithStats())
	r = l.run(run{input: `{"messages":[{"type":"human","content":"x"},{"type":"ai","content":"y","usage_metadata":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}]}`})
	require.Equal(t, "7", extensions(t, r.events)["totalTokens"])
}

// extensions are the last values on channels of their own.
func extensions(t *testing.T, events []agent.Event) map[string]string {
	values := map[string]string{}
	for _, e := range events {
		if c, ok := e.Payload.(agent.Custom); ok {
			require.Empty(t, e.NS)
			var v struct {
				Name    string
				Payload json.RawMessage
			}
			require.NoError(t, json.Unmarshal(c.Value, &v))
			values[v.Name] = string(v.Payload)
		}
	}
	return values
}

func TestNestedConcatenatesWhatEachLevelReturns(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Nested())
	l.run(run{input: `{"messages":[]}`})
	var want []string
	for _, name := range []string{"gp_one", "gp_one", "p_one", "gp_one", "p_one", "c_one", "c_two"} {
		want = append(want, "Entered "+name+" node")
	}
	raw, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), l.value("messages"))
}

func TestWeatherContinuesFromAnEditOfItsSubgraph(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Weather())
	l.run(run{input: humanInput("SF")})
	ns := l.state(false).Tasks[0].SubgraphNS
	require.Regexp(t, `^weather_graph:[0-9a-f-]{36}$`, ns)
	l.update(ns, `{"city":"LA"}`)
	inner := l.history(ns)[0]
	require.Contains(t, string(inner.State.JSON()), `"city":"LA"`)
	require.Equal(t, []string{"weather_node"}, inner.Next)
	require.Empty(t, inner.Tasks[0].Interrupts)

	r := l.run(run{})
	require.Equal(t, "success", r.outcome.Status)
	require.Equal(t, []string{"human SF", "ai It's sunny in LA!"}, l.conversation())
	require.Len(t, l.history(""), 4)
	history := l.history(ns)
	require.Len(t, history, 5)
	require.Equal(t, []string{agent.Start}, history[4].Next)
}

func TestTheCheckpointsStreamedAreTheHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Weather())
	r := l.run(run{input: humanInput("SF")})
	var streamed []string
	for _, e := range r.events {
		if d, ok := e.Payload.(*agent.CheckpointDetail); ok && e.NS == "" {
			streamed = append(streamed, fmt.Sprint(d.Step, " ", d.CheckpointID, " ", d.ParentID))
		}
	}
	var stored []string
	for _, s := range l.history("") {
		stored = append(stored, fmt.Sprint(string(s.Metadata["step"]), " ", s.CheckpointID, " ", s.ParentID))
	}
	slices.Reverse(stored)
	require.Equal(t, stored, streamed)
}

func TestContinuingFromTheHeadByNameStoresNoDuplicate(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Weather())
	l.run(run{input: humanInput("SF"), before: []string{"router_node"}})
	head := l.history("")[0].CheckpointID
	require.Len(t, l.history(""), 2)
	r, err := l.thread.RunFrom(t.Context(), head, nil)
	require.NoError(t, err)
	require.True(t, r.Breakpoint, "it stops again, inside the subgraph")
	require.Len(t, l.history(""), 3)
	for _, e := range r.Events {
		if d, ok := e.Payload.(*agent.CheckpointDetail); ok {
			require.Equal(t, head, d.CheckpointID, "the stream starts with the checkpoint that it goes on from")
			return
		}
	}
	require.Fail(t, "no checkpoint on the stream")
}

func TestAForkFromTheRootIsASecondChildOfIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.AgentWithTools())
	l.run(run{input: humanInput("weather?")})
	history := l.history("")
	root := history[len(history)-1].CheckpointID
	r, err := l.thread.RunFrom(t.Context(), root, json.RawMessage(humanInput("and here?")))
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	children := 0
	for _, s := range l.history("") {
		if s.ParentID == root {
			children++
		}
	}
	require.Equal(t, 2, children)
	require.Equal(t, "human and here?", l.conversation()[0])
}

func TestErrorFailsByNameAfterASecond(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Error())
	r := l.run(run{input: `{"messages":[]}`})
	require.Equal(t, "error", r.outcome.Status)
	require.Equal(t, &agent.ErrorInfo{Name: "CustomError", Message: "Boo!"}, r.outcome.Err)
	require.Equal(t, time.Second, l.elapsed())
}

func TestDelaySleepsAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	for _, ms := range []string{"1000", "8000", "12000"} {
		l := newLab(t, conformance.Delay())
		l.run(run{input: `{"messages":[],"delay":` + ms + `}`})
		want, err := time.ParseDuration(ms + "ms")
		require.NoError(t, err)
		require.Equal(t, want, l.elapsed())
		require.Equal(t, []string{"human finished after " + ms + "ms"}, l.conversation())
	}
}

func TestDynamicNamesItsNodeAfterTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default", "assistant", "runtime"} {
		var cfg map[string]json.RawMessage
		if name != "default" {
			cfg = configured("nodeName", `"`+name+`"`)
		}
		l := newLab(t, conformance.Dynamic())
		l.run(run{input: `{"messages":["input"]}`, configurable: cfg})
		require.JSONEq(t, `{"node":"`+name+`","messages":["input","`+name+`"]}`, string(l.state(false).State.JSON()))
	}
}

func TestDynamicIsRebuiltForAStateUpdate(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Dynamic())
	l.run(run{input: `{"messages":["input"]}`, configurable: configured("nodeName", `"assistant"`)})
	l.edit("", [][]agent.Edit{{{Values: json.RawMessage(`{"messages":"update"}`), AsNode: "assistant"}}})
	require.JSONEq(t, `["input","assistant","update"]`, l.value("messages"))
}

func TestSimpleRuntimeShowsItsContextInOneState(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"openai", "anthropic", "unknown"} {
		l := newLab(t, conformance.SimpleRuntime())
		r := l.run(run{input: `{"messages":["input"]}`, context: json.RawMessage(`{"model":"` + model + `"}`)})
		require.JSONEq(t, `{"model":"`+model+`"}`, string(l.state(false).State.JSON()))
		states := 0
		for _, e := range r.events {
			if e.Kind == agent.ValuesEmitted {
				states++
			}
		}
		require.Equal(t, 1, states)
	}
}

func TestInterruptGraphKeepsAnyAnswerAsAnObject(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"approved":true}`: `{"approved":true}`,
		`"fine"`:            `{"value":"fine"}`,
		`[1]`:               `[1]`,
		`0`:                 `{"value":0}`,
		`[]`:                `[]`,
	} {
		l := newLab(t, conformance.InterruptGraph())
		r := l.run(run{input: `{"request":"Send it"}`})
		require.True(t, r.outcome.Suspended)
		require.JSONEq(t, `{"prompt":"Approve the outbound action?","request":"Send it"}`,
			string(l.state(false).Tasks[0].Interrupts[0].Value))
		l.run(run{resume: answer})
		require.JSONEq(t, want, l.value("decision"), answer)
		require.JSONEq(t, `true`, l.value("completed"))
	}
}

func TestStategraphTextNumbersItsAnswersPerThread(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.StategraphText())
	for _, text := range []string{"Hello", "Again"} {
		r := l.run(run{input: humanInput(text)})
		require.Equal(t, []string{"P", "l", "a", "n", " ", "a", "c", "c", "e", "p", "t", "e", "d", "."}, r.pieces())
	}
	var ids []string
	for _, m := range l.state(false).State.Messages()["messages"].All() {
		ids = append(ids, m.ID)
	}
	require.Equal(t, []string{"human-1", "stategraph-message-0", "stategraph-message-1"}, ids)
}

func TestCreateAgentShowsItsAnswersWhole(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.CreateAgent())
	r := l.run(run{input: humanInput("What is the weather in San Francisco?")})
	require.Equal(t, []string{"", `{"city":"San Francisco","temp_f":64,"condition":"Foggy"}`, "It's 64F and foggy in San Francisco."}, r.pieces())
	require.Equal(t, 200*time.Millisecond, l.elapsed())
}

package classic_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/stream/frame"
)

func TestParseModes(t *testing.T) {
	t.Parallel()
	require.Equal(t, classic.Values, classic.ParseModes(nil))
	require.Equal(t, classic.Values, classic.ParseModes([]string{}))
	require.Equal(t, classic.Updates|classic.MessagesTuple, classic.ParseModes([]string{"messages-tuple", "updates", "none"}))
	require.True(t, classic.Known("debug"))
	require.False(t, classic.Known("none"))
}

// Each mode alone: what the recorded runs show of it (spec/rest-api.md 7.2 nos. 21-28, 61).
func TestOneModeAlone(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"values":         "metadata values*4",
		"updates":        "metadata updates*3",
		"messages-tuple": "metadata messages*9",
		"tasks":          "metadata tasks*6",
		"checkpoints":    "metadata checkpoints*5",
		"debug":          "metadata debug*11",
		"custom":         "metadata custom*3",
		"tools":          "metadata",
	} {
		s := agentRun(t, newScript(t, "agent", "run", mode), `"sleep":{"ms":1,"steps":3}`)
		require.Equal(t, want, counted(names(s.project())), mode)
	}
}

// counted joins names; of each only the number of frames.
func counted(names []string) string {
	var order []string
	count := map[string]int{}
	for _, n := range names {
		if count[n]++; count[n] == 1 {
			order = append(order, n)
		}
	}
	for i, n := range order {
		if count[n] > 1 {
			order[i] = fmt.Sprintf("%s*%d", n, count[n])
		}
	}
	return strings.Join(order, " ")
}

// Without stream_subgraphs a nested graph shows only its messages, custom events
// and tools, without a suffix.
func TestNestedGraphsAreHiddenUnlessAskedFor(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "values", "updates", "messages-tuple", "tasks", "checkpoints", "custom", "tools", "debug").start(`{}`)
	inner := taskNS("", "child")
	s.taskStart(inner, "node", 1, `{}`)
	s.emit(agent.CustomWritten, inner, agent.Custom{Value: raw("c")})
	s.whole(inner, "node", 1, ai("a", "x"))
	s.emit(agent.ToolStarted, taskNS(inner, "node"), agent.ToolNote{CallID: "c1", Name: "okTool", Input: `{"x":1}`})
	s.emit(agent.InterruptRaised, inner, agent.InterruptInfo{ID: "q"})
	s.taskEnd(inner, "node", 1, `{"a":1}`)
	s.checkpoint(cp{ns: inner, id: "c", values: `{}`, source: "loop"})
	s.emit(agent.InterruptBubbled, "", agent.InterruptInfo{ID: "q"})

	child := inner
	require.Equal(t, []string{
		"metadata", "tasks|" + child, "debug|" + child, "custom|" + child, "messages|" + child, "tools|" + child,
		"updates|" + child, "values|" + child, "updates|" + child, "tasks|" + child, "debug|" + child,
		"values|" + child, "checkpoints|" + child, "debug|" + child, "updates", "values",
	}, names(s.project()))
	s.run.Kwargs.Subgraphs = false
	require.Equal(t, []string{"metadata", "custom", "messages", "tools", "updates", "values"}, names(s.project()))
}

func TestToolFrames(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "tools").start(`{}`)
	ns := taskNS("", "tools")
	s.emit(agent.ToolStarted, ns, agent.ToolNote{CallID: "c1", Name: "okTool", Input: `{"x":1}`})
	s.emit(agent.ToolOutput, ns, agent.ToolNote{CallID: "c1", Name: "okTool", Delta: raw("part")})
	s.emit(agent.ToolFinished, ns, agent.ToolNote{CallID: "c1", Name: "okTool", Output: json.RawMessage(`{"type":"tool"}`)})
	s.emit(agent.ToolFailed, ns, agent.ToolNote{CallID: "c2", Name: "bad", Error: "exploded"})
	var got []string
	for _, f := range s.project()[1:] {
		require.Equal(t, "tools", f.Name())
		got = append(got, string(f.Data()))
	}
	require.Equal(t, []string{
		`{"event":"on_tool_start","toolCallId":"c1","name":"okTool","input":"{\"x\":1}"}`,
		`{"event":"on_tool_event","toolCallId":"c1","name":"okTool","data":"part"}`,
		`{"event":"on_tool_end","toolCallId":"c1","name":"okTool","output":{"type":"tool"}}`,
		`{"event":"on_tool_error","toolCallId":"c2","name":"bad","error":"exploded"}`,
	}, got)
}

// spec/rest-api.md 7.2 no. 25: the exact set of callback types; no. 41: the error comes last.
func TestEventsMode(t *testing.T) {
	t.Parallel()
	s := agentRun(t, newScript(t, "agent", "run", "events"), "")
	types := map[string]int{}
	for _, f := range s.project()[1:] {
		require.Equal(t, "events", f.Name())
		var e struct {
			Event, Name string
			RunID       string `json:"run_id"`
			Metadata    map[string]any
			Data        map[string]any
		}
		require.NoError(t, json.Unmarshal(f.Data(), &e))
		require.NotEmpty(t, e.RunID)
		types[e.Event]++
	}
	require.Equal(t, map[string]int{
		"on_chain_start": 4, "on_chain_end": 4, "on_chat_model_start": 2, "on_chat_model_stream": 8, "on_chat_model_end": 2,
	}, types)

	failed := fails(t)
	failed.run.Kwargs.StreamMode = []string{"debug", "events"}
	frames := failed.project()
	require.Equal(t, "error", frames[len(frames)-1].Name())
	require.Equal(t, `{"error":"CustomError","message":"Boo!"}`, string(frames[len(frames)-1].Data()))
}

func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finish agent.RunFinish
		want   string
	}{
		"success":    {agent.RunFinish{Status: "success"}, ""},
		"cancelled":  {agent.RunFinish{Status: "interrupted", Cancel: "interrupt"}, ""},
		"rolledback": {agent.RunFinish{Status: "interrupted", Cancel: "rollback"}, `{"error":"Error","message":"rollback"}`},
		"failed":     {agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Name: "E", Message: "a\nb\u2028"}}, `{"error":"E","message":"a\nb\u2028"}`},
		"unknown":    {agent.RunFinish{Status: "error"}, `{"error":"Error","message":"The run failed."}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, "g", "run", "values").start(`{}`)
			s.end(c.finish)
			p := classic.New(s.run)
			frames := projectAll(p, s.entries, nil)
			require.True(t, p.Finished())
			if c.want == "" {
				require.Len(t, frames, 1)
				return
			}
			require.Equal(t, c.want, string(frames[1].Data()))
		})
	}
}

// A result that is reused says so, and the node's key still comes first (spec/rest-api.md 4.3).
func TestCachedUpdates(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "updates").start(`{}`)
	s.emit(agent.UpdatesEmitted, "", agent.UpdatesNote{Node: "c", Data: json.RawMessage(`{"out":["c"]}`), Cached: true})
	require.Equal(t, `{"c":{"out":["c"]},"__metadata__":{"cached":true}}`, string(s.project()[1].Data()))
}

// A state that no longer exists leaves its number out and renumbers nothing.
func TestMissingStateKeepsTheNumbers(t *testing.T) {
	t.Parallel()
	s := agentRun(t, newScript(t, "agent", "run", "values", "checkpoints", "updates"), "")
	whole := s.project()
	s.states = nil
	var want []int64
	for _, f := range whole {
		if f.Name() != "values" && f.Name() != "checkpoints" {
			want = append(want, f.N)
		}
	}
	var got []int64
	for _, f := range s.replay() {
		got = append(got, f.N)
	}
	require.Equal(t, want, got)
}

// Skipping makes the frames behind a number, the same as without, whatever the modes.
func TestSkipGivesTheSameFrames(t *testing.T) {
	t.Parallel()
	all := []string{"values", "updates", "messages", "messages-tuple", "events", "tasks", "checkpoints", "debug", "custom"}
	rapid.Check(t, func(rt *rapid.T) {
		modes := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, len(all), rapid.ID).Draw(rt, "modes")
		s := agentRun(t, newScript(t, "agent", "run", modes...), `"sleep":{"ms":1,"steps":3}`)
		want := s.project()
		for i, f := range want {
			if f.N != int64(i) || f.Prev != int64(i)-1 {
				rt.Fatalf("frame %d has number %d behind %d", i, f.N, f.Prev)
			}
		}
		after := rapid.Int64Range(-1, int64(len(want))).Draw(rt, "after")
		p := classic.New(s.run)
		p.Skip(after)
		got := projectAll(p, s.entries, s.states)
		want = want[min(after+1, int64(len(want))):]
		if !slices.EqualFunc(got, want, func(a, b frame.Frame) bool { return string(a.Wire) == string(b.Wire) && a.Prev == b.Prev }) {
			rt.Fatalf("after %d: %v instead of %v", after, names(got), names(want))
		}
	})
}

// Any text survives the frame, in one line (D-17).
func TestAnyTextSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		s := newScript(t, "g", "run", "messages-tuple").start(`{}`)
		s.open("m")
		s.delta(agent.Delta{ID: "m", Type: "text", Text: text})
		frames := s.project()
		data := frames[1].Data()
		var pair []struct{ Content string }
		if strings.ContainsAny(string(data), "\r\n") || json.Unmarshal(data, &pair) != nil || pair[0].Content != strings.ToValidUTF8(text, "\ufffd") {
			rt.Fatalf("%q became %s", text, data)
		}
	})
}

package tool_test

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
)

type city string

func TestWhatAFunctionReturnsBecomesItsMessage(t *testing.T) { // spec/runtime.md 7.3
	t.Parallel()
	said := func(m message.Message) string {
		return string(m.Content) + " " + string(m.Artifact) + " " + m.Status
	}
	image := map[string]string{"type": "image", "url": "https://example.com/a.png"}
	for name, c := range map[string]struct {
		returns any
		want    string
	}{
		"a text":              {"a <b>", `"a <b>"  success`},
		"a type of text":      {city("Rome"), `"Rome"  success`},
		"an object":           {map[string]int{"n": 1}, `"{\"n\":1}"  success`},
		"nothing":             {nil, `"null"  success`},
		"an artifact":         {tool.Artifact("2 rows", []int{1, 2}), `"2 rows" [1,2] success`},
		"an own failure":      {tool.Result{Content: "no such file", Failed: true}, `"no such file"  error`},
		"content blocks":      {tool.Blocks{image}, `[{"type":"image","url":"https://example.com/a.png"}]  success`},
		"no content block":    {tool.Blocks{}, `""  success`},
		"a message":           {message.Message{Type: message.Tool, ToolCallID: "c1", Content: message.TextContent("own"), Status: "error"}, `"own"  error`},
		"a Command":           {tool.Answer(ask("{}"), "by command"), `"by command"  `},
		"texts one by one":    {slices.Values([]string{"a", "b"}), `"ab"  success`},
		"values one by one":   {slices.Values([]any{1, "b"}), `"[1,\"b\"]"  success`},
		"nothing one by one":  {slices.Values([]string{}), `""  success`},
		"a sequence no error": {iter.Seq2[string, error](func(yield func(string, error) bool) { yield("x", nil) }), `"x"  success`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, made := range map[string]tool.Tool{
				"Func": tool.Func("echo", "", func(tool.CallContext, question) (any, error) { return c.returns, nil }),
				"New":  echo(func(tool.Context, question) (any, error) { return c.returns, nil }),
			} {
				thread := caller(t, ask(`{"text":"x"}`), made)
				res := begin(t, thread)
				require.Equal(t, "success", res.Status)
				m := answer(t, thread)
				require.Equal(t, c.want, said(m), kind)
				require.NotEmpty(t, m.ID)
				all := notes(res)
				require.Equal(t, "finished c1", all[len(all)-1], kind)
			}
		})
	}
}

func TestTheHostIsToldOfAPanicWithItsStack(t *testing.T) {
	t.Parallel()
	thread := caller(t, ask(`{"text":"x"}`), tool.Func("echo", "", func(tool.CallContext, question) (any, error) { panic("boom") }))
	exec := thread.Execution()
	exec.Input = json.RawMessage(`{"messages":"go"}`)
	var told []string
	exec.Panicked = func(node string, value any, stack []byte) {
		require.Contains(t, string(stack), "func_test.go")
		told = append(told, node, value.(string))
	}
	_, err := thread.Start(t.Context(), exec)
	require.NoError(t, err)
	require.Equal(t, []string{"tools", "boom"}, told)
}

func TestOfSeveralMessagesOneAnswersTheCall(t *testing.T) {
	t.Parallel()
	thread := caller(t, ask(`{"text":"x"}`), tool.Func("echo", "", func(tool.CallContext, question) ([]message.Message, error) {
		return []message.Message{message.NewTool("c1", "echo", "see below"), message.NewHuman("the picture")}, nil
	}))
	begin(t, thread)
	require.Equal(t, "the picture", answer(t, thread).Text())
}

func TestTheModelIsToldHowAFunctionFailed(t *testing.T) {
	t.Parallel()
	broken := iter.Seq2[string, error](func(yield func(string, error) bool) {
		_ = yield("some ", nil) && yield("", errors.New("torn"))
	})
	for name, c := range map[string]struct {
		fn   func(tool.CallContext, question) (any, error)
		says string
	}{
		"an error":          {func(tool.CallContext, question) (any, error) { return nil, errors.New("no such page") }, "Error: no such page\n Please fix your mistakes."},
		"a panic":           {func(tool.CallContext, question) (any, error) { panic("index out of range") }, "the tool panicked"},
		"a nil Command":     {func(tool.CallContext, question) (any, error) { return (*agent.Command)(nil), nil }, "Command that is nil"},
		"no messages":       {func(tool.CallContext, question) (any, error) { return []message.Message{}, nil }, "returned no message"},
		"a broken sequence": {func(tool.CallContext, question) (any, error) { return broken, nil }, "Error: torn"},
		"no JSON":           {func(tool.CallContext, question) (any, error) { return make(chan int), nil }, "encode its result"},
		"no JSON artifact":  {func(tool.CallContext, question) (any, error) { return tool.Artifact("", make(chan int)), nil }, "encode the artifact"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, made := range []tool.Tool{
				tool.Func("echo", "", c.fn),
				echo(func(_ tool.Context, q question) (any, error) { return c.fn(nil, q) }),
			} {
				thread := caller(t, ask(`{"text":"x"}`), made)
				res := begin(t, thread)
				require.Equal(t, "success", res.Status, "the run goes on")
				m := answer(t, thread)
				require.Contains(t, m.Text(), c.says)
				require.Equal(t, "error", m.Status)
			}
		})
	}
}

func TestAFunctionShowsWhatItDoesWhileItRuns(t *testing.T) { // spec/streaming-protocol.md 3.10
	t.Parallel()
	for name, c := range map[string]struct {
		fn     func(tool.CallContext, question) (any, error)
		deltas []string
	}{
		"by Progress": {func(ctx tool.CallContext, _ question) (any, error) {
			ctx.Progress("half")
			ctx.Progress(map[string]int{"part": 2})
			return "done", nil
		}, []string{`"half"`, `{"part":2}`}},
		"by a sequence": {func(tool.CallContext, question) (any, error) { return slices.Values([]string{"a", "b"}), nil }, []string{`"a"`, `"b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := begin(t, caller(t, ask(`{"text":"x"}`), tool.Func("echo", "", c.fn)))
			var deltas []string
			for _, e := range res.Events {
				if e.Kind == agent.ToolOutput {
					note := e.Payload.(agent.ToolNote)
					require.Equal(t, []string{"c1", "echo"}, []string{note.CallID, note.Name})
					deltas = append(deltas, string(note.Delta))
				}
			}
			require.Equal(t, c.deltas, deltas)
		})
	}
}

// pausing is a graph that carries out a call and then waits for a person in the same task.
func pausing(t *testing.T, made tool.Tool, opts ...tool.RunOption) *agenttest.Thread {
	t.Helper()
	set, err := tool.NewSet(made)
	require.NoError(t, err)
	return agenttest.New(agent.NewGraph[desk]("desk").
		Node("tools", func(ctx agent.Context, _ desk) (agent.Update, error) {
			update, err := set.Run(ctx, ask(`{"text":"x"}`), json.RawMessage(`{"note":"n1"}`), opts...)
			if err != nil {
				return nil, err
			}
			_, err = agent.Interrupt[string](ctx, "go on?")
			return update, err
		}).
		Edge(agent.Start, "tools").MustCompile())
}

func TestAFunctionThatHasEndedIsNotCalledAgain(t *testing.T) { // spec/runtime.md 9.1
	t.Parallel()
	for name, c := range map[string]struct {
		result any
		err    error
		says   string
	}{
		"with a result":      {map[string]int{"id": 7}, nil, `{"id":7}`},
		"with an artifact":   {tool.Artifact("x", 1), nil, "x"},
		"with a message":     {message.NewTool("c1", "echo", "own"), nil, "own"},
		"with a Command":     {tool.Answer(ask("{}"), "by command"), nil, "by command"},
		"with a sequence":    {slices.Values([]string{"a", "b"}), nil, "ab"},
		"with an error":      {nil, errors.New("refused"), "Error: refused"},
		"with a JSON object": {json.RawMessage(`{"parley_outcome":null}`), nil, `{"parley_outcome":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			var seen string
			thread := pausing(t, tool.Func("echo", "", func(ctx tool.CallContext, q question) (any, error) {
				calls++
				seen = strings.Join([]string{q.Text, ctx.ToolCall().ID, string(ctx.State()), ctx.ThreadID()}, " ")
				require.NotEmpty(t, ctx.IdempotencyKey())
				require.NotEmpty(t, ctx.RunID())
				require.Equal(t, 1, ctx.Attempt())
				require.Nil(t, ctx.Items())
				require.False(t, ctx.Now().IsZero())
				require.Empty(t, ctx.Config().Tags)
				return c.result, c.err
			}))
			require.True(t, begin(t, thread).Suspended)
			res, err := thread.Resume(t.Context(), "yes")
			require.NoError(t, err)
			require.Equal(t, "success", res.Status)
			require.Equal(t, 1, calls)
			require.Equal(t, `x c1 {"note":"n1"} `+thread.ID, seen)
			m := answer(t, thread)
			require.Contains(t, m.Text(), c.says)
			if c.result == tool.Artifact("x", 1) {
				require.JSONEq(t, "1", string(m.Artifact))
			}
		})
	}
}

func TestAFunctionCanBeBounded(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]tool.Option{
		"at least once": {tool.Timeout(time.Second)},
		"at most once":  {tool.Timeout(time.Second), tool.AtMostOnce()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			thread := pausing(t, tool.Func("echo", "", func(ctx tool.CallContext, _ question) (any, error) {
				calls++
				<-ctx.Done()
				return nil, ctx.Err()
			}, opts...))
			done := make(chan struct{})
			go func() {
				defer close(done)
				if thread.Clock().WaitSleepers(t.Context(), 1) == nil {
					thread.Clock().Advance(time.Second)
				}
			}()
			require.True(t, begin(t, thread).Suspended)
			<-done
			_, err := thread.Resume(t.Context(), "yes")
			require.NoError(t, err)
			require.Equal(t, 1, calls)
			require.Contains(t, answer(t, thread).Text(), "echo did not end within 1s; it isn't known whether it took effect")
		})
	}
}

func TestWhatACrashLeavesOfACallIsUpToItsTool(t *testing.T) { // decisions 6
	t.Parallel()
	for name, c := range map[string]struct {
		opts   []tool.Option
		run    []tool.RunOption
		asks   bool
		answer any
		calls  int
		says   string
	}{
		"it runs again":                        {calls: 2, says: "sent"},
		"a person says that it took place":     {opts: []tool.Option{tool.AtMostOnce()}, asks: true, answer: map[string]any{"type": "done", "result": "id 7"}, calls: 1, says: "id 7"},
		"a person says so without a result":    {opts: []tool.Option{tool.AtMostOnce()}, asks: true, answer: map[string]any{"type": "done"}, calls: 1, says: "took place"},
		"a person says so with an object":      {opts: []tool.Option{tool.AtMostOnce()}, asks: true, answer: map[string]any{"type": "done", "result": map[string]int{"n": 1}}, calls: 1, says: `{"n":1}`},
		"a person has it run again":            {opts: []tool.Option{tool.AtMostOnce()}, asks: true, answer: map[string]any{"type": "retry"}, calls: 2, says: "sent"},
		"a person gives it up":                 {opts: []tool.Option{tool.AtMostOnce()}, asks: true, answer: map[string]any{"type": "fail", "message": "never sent"}, calls: 1, says: "Error: never sent"},
		"a reviewed one asks":                  {run: []tool.RunOption{tool.Reviewed()}, asks: true, answer: map[string]any{"type": "retry"}, calls: 2, says: "sent"},
		"a reviewed one that can be run again": {run: []tool.RunOption{tool.Reviewed()}, opts: []tool.Option{tool.AtLeastOnce()}, calls: 2, says: "sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			var thread *agenttest.Thread
			send := func(ctx tool.CallContext, _ json.RawMessage) (any, error) {
				if calls++; calls == 1 { // the worker dies meanwhile
					thread.OnCommit = func(agent.Commit) error { return errors.New("crashed") }
				}
				return "sent", nil
			}
			set, err := tool.NewSet(tool.Raw("echo", "", json.RawMessage(`{"type":"object"}`), send, c.opts...))
			require.NoError(t, err)
			thread = agenttest.New(agent.NewGraph[desk]("desk").
				Node("tools", func(ctx agent.Context, _ desk) (agent.Update, error) {
					return set.Run(ctx, ask(`{"text":"x"}`), nil, c.run...)
				}).
				Edge(agent.Start, "tools").MustCompile())
			res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
			require.ErrorContains(t, err, "crashed")
			thread.OnCommit = nil
			res, err = thread.Recover(t.Context(), res.Run)
			require.NoError(t, err)
			require.Equal(t, c.asks, res.Suspended)
			if c.asks {
				require.Contains(t, string(thread.Pending()[0].Value), `"step":"tool:echo"`)
				res, err = thread.Resume(t.Context(), c.answer)
				require.NoError(t, err)
			}
			require.Equal(t, "success", res.Status)
			require.Equal(t, c.calls, calls)
			require.Contains(t, answer(t, thread).Text(), c.says)
		})
	}
}

func TestARawToolGetsArgumentsThatFitItsSchema(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`)
	var got []string
	made := tool.Raw("echo", "Says it", schema, func(_ tool.CallContext, args json.RawMessage) (any, error) {
		got = append(got, string(args))
		return args, nil
	})
	require.Equal(t, string(schema), string(made.Definition().Schema))
	begin(t, caller(t, ask(`{"text":"hi", "more":1}`), made))
	begin(t, caller(t, ask(`{"more":1}`), made))
	require.Equal(t, []string{`{"text":"hi", "more":1}`}, got)
}

func TestAToolSaysWhatItDoesToTheWorld(t *testing.T) {
	t.Parallel()
	yes := true
	said := tool.Annotations{Title: "Delete", Destructive: &yes}
	made := tool.Func("echo", "", func(tool.CallContext, question) (string, error) { return "", nil }, tool.Annotate(said), tool.ReturnDirect())
	require.Equal(t, said, tool.AnnotationsOf(made))
	require.True(t, tool.ReturnsDirect(made))
	require.Zero(t, tool.AnnotationsOf(raw{}))
	require.False(t, tool.ReturnsDirect(raw{}))
	require.False(t, tool.ReturnsDirect(tool.Headless[question]("h", "")))
}

func TestASetKnowsItsTools(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(echo(nil))
	require.NoError(t, err)
	found, ok := set.Tool("echo")
	require.True(t, ok)
	require.Equal(t, "echo", found.Definition().Name)
	_, ok = set.Tool("other")
	require.False(t, ok)
	require.Len(t, set.Issues("echo", json.RawMessage(`{}`)), 1)
	require.Empty(t, set.Issues("echo", json.RawMessage(`{"text":"x"}`)))
	require.Empty(t, set.Issues("other", json.RawMessage(`7`)))
}

func TestArgumentsAreAnObject(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { tool.Func("echo", "", func(tool.CallContext, string) (string, error) { return "", nil }) })
}

// The schema's bounds hold for what the function gets, whatever stands beside it.
func TestArgumentsInAnotherCasingAreDropped(t *testing.T) {
	t.Parallel()
	type loud struct {
		Text string `json:"text" jsonschema:"maxLength=3"`
	}
	var got []string
	said := func(l loud) (any, error) {
		got = append(got, l.Text)
		return l.Text, nil
	}
	for _, made := range []tool.Tool{
		tool.Func("echo", "", func(_ tool.CallContext, l loud) (any, error) { return said(l) }),
		tool.New("echo", "", func(_ tool.Context, l loud) (any, error) { return said(l) }),
	} {
		begin(t, caller(t, ask(`{"text":"hi","Text":"much too long"}`), made))
	}
	require.Equal(t, []string{"hi", "hi"}, got)
}

package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

// script renders events one per line: kind, namespace without ids, what matters of the payload.
func script(events []agent.Event) []string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = strings.TrimSpace(string(e.Kind) + " " + withoutIDs(e.NS) + " " + payload(e.Payload))
	}
	return lines
}

func withoutIDs(ns string) string {
	if ns == "" {
		return ""
	}
	parts := strings.Split(ns, "|")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, ":")
	}
	return "[" + strings.Join(parts, "|") + "]"
}

func payload(p any) string {
	switch p := p.(type) {
	case agent.CheckpointNote:
		return fmt.Sprintf("%s %d", p.Source, p.Step)
	case *agent.ValuesNote:
		if p.Inline != nil {
			return "inline " + string(p.Inline)
		}
		return string(p.State.JSON())
	case *agent.CheckpointDetail:
		return fmt.Sprintf("%s %d %v", strings.Trim(string(p.Metadata["source"]), `"`), p.Step, p.Next)
	case agent.TaskStart:
		return p.Name
	case agent.TaskFinish:
		s := p.Name + " " + string(p.Result)
		for _, q := range p.Interrupts {
			s += " ?" + string(q.Value)
		}
		if p.Error != nil {
			s += " !" + p.Error.Message
		}
		return s
	case agent.UpdatesNote:
		if p.Cached {
			return p.Node + " " + string(p.Data) + " cached"
		}
		return p.Node + " " + string(p.Data)
	case agent.InterruptInfo:
		return "?" + string(p.Value)
	case agent.NamespaceNote:
		if p.Failed {
			return p.Name + " failed"
		}
		return p.Name
	case agent.Custom:
		return string(p.Value)
	case agent.Answered:
		return fmt.Sprint(len(p.InterruptIDs))
	case agent.Delta:
		return p.Type + " " + p.Text
	case agent.BlockStart:
		return fmt.Sprintf("%d %s", p.Index, p.Block)
	case agent.BlockFinish:
		return fmt.Sprintf("%d %s", p.Index, p.Block)
	case agent.MessageSnapshot:
		var m message.Message
		_ = json.Unmarshal(p.Message, &m)
		return m.Type + " " + m.Text()
	case agent.MessageFinish:
		return p.Reason
	case agent.ToolNote:
		return p.CallID + " " + p.Name
	}
	return ""
}

type chat struct {
	Messages message.List `json:"messages"`
	Mood     string       `json:"mood"`
}

func TestEventsOfARunWithAStreamedAnswer(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[chat]("chat").
		Node("model", func(ctx agent.Context, s chat) (agent.Update, error) {
			out := agent.StreamMessage(ctx, agent.MessageOptions{Prompt: s.Messages})
			out.Chunk(message.Chunk{Text: "let "})
			out.Chunk(message.Chunk{Text: "me"})
			out.Chunk(message.Chunk{ToolCalls: []message.ToolCallChunk{{Index: 0, ID: "c1", Name: "look"}}})
			out.Chunk(message.Chunk{ToolCalls: []message.ToolCallChunk{{Index: 0, Args: `{"at":1}`}}})
			return agent.Set("messages", out.Finish()), nil
		}).
		Node("tools", func(ctx agent.Context, s chat) (agent.Update, error) {
			agent.ToolCallStarted(ctx, "c1", "look", json.RawMessage(`{"at":1}`))
			ctx.Write(map[string]int{"progress": 1})
			result := message.NewTool("c1", "look", "fine")
			agent.ToolCallFinished(ctx, "c1", "look", result)
			return agent.Set("messages", []message.Message{result}), nil
		}).
		Node("quiet", func(agent.Context, chat) (agent.Update, error) { return nil, nil }).
		Edge(agent.Start, "model").Edge("model", "tools").Edge("tools", "quiet").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), map[string]any{"messages": []message.Message{{Type: "human", ID: "h1", Content: message.TextContent("hi")}}})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	lines := script(res.Events)
	for i, l := range lines {
		if strings.HasPrefix(l, "values") || strings.HasPrefix(l, "updates") || strings.HasPrefix(l, "task.finished") {
			l, _, _ = strings.Cut(l, " {")
			lines[i] = strings.TrimSpace(l)
		}
	}
	require.Equal(t, []string{
		"checkpoint.saved  input -1 [__start__]",
		"checkpoint.announced  loop 0", "values", "checkpoint.saved  loop 0 [model]",
		"task.started  model",
		"namespace.started [model] model",
		"message.started [model]",
		`block.started [model] 0 {"type":"text","text":""}`,
		"block.delta [model] text let", "block.delta [model] text me",
		`block.finished [model] 0 {"type":"text","text":"let me"}`,
		`block.started [model] 1 {"type":"tool_call_chunk","id":"c1","name":"look","args":"","index":0}`,
		"block.delta [model] tool_call", `block.delta [model] tool_call {"at":1}`,
		`block.finished [model] 1 {"type":"tool_call","id":"c1","name":"look","args":{"at":1}}`,
		"message.finished [model] tool_use",
		"updates  model", "task.finished  model", "namespace.finished [model] model",
		"checkpoint.announced  loop 1", "values", "checkpoint.saved  loop 1 [tools]",
		"task.started  tools",
		"namespace.started [tools] tools",
		"tool.started [tools] c1 look", `custom  {"progress":1}`, "tool.finished [tools] c1 look",
		"message.whole [tools] tool fine",
		"updates  tools", "task.finished  tools", "namespace.finished [tools] tools",
		"checkpoint.announced  loop 2", "values", "checkpoint.saved  loop 2 [quiet]",
		"task.started  quiet", "task.finished  quiet",
		"checkpoint.saved  loop 3 []",
	}, lines)
	require.Len(t, res.Commits, 4, "one commit a superstep, the last with the outcome")
	require.NotNil(t, res.Commits[3].Outcome)
}

func TestEventsOfAReturnedMessage(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[chat]("chat").
		Node("a", func(ctx agent.Context, s chat) (agent.Update, error) {
			last, _ := s.Messages.Last()
			return agent.Updates{
				agent.Set("messages", []any{last, message.NewAI("hello"), "plain"}),
				&agent.Command{Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(`[{"type":"ai","content":"by command"}]`)}}},
			}, nil
		}).
		Edge(agent.Start, "a").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	var lines []string
	for _, l := range script(res.Events) {
		if strings.Contains(l, " [a] ") || strings.HasSuffix(l, "[a]") && !strings.HasPrefix(l, "checkpoint") {
			lines = append(lines, l)
		}
	}
	require.Equal(t, []string{
		"namespace.started [a] a", "message.whole [a] ai hello", "message.started [a]", `block.started [a] 0 {"type":"text","text":""}`,
		"block.delta [a] text hello", `block.finished [a] 0 {"type":"text","text":"hello"}`, "message.finished [a]",
		"namespace.finished [a] a", // the given message, the bare text and the command's are not sent
	}, lines)
	// Ids are the same in events, records and state.
	var whole message.Message
	for _, e := range res.Events {
		if s, ok := e.Payload.(agent.MessageSnapshot); ok {
			require.NoError(t, json.Unmarshal(s.Message, &whole))
			list := th.History("")[0].Channels["messages"].Value.List
			_, found := list.Find(whole.ID)
			require.True(t, found, whole.ID)
		}
	}
	require.Equal(t, 4, th.History("")[0].Channels["messages"].Value.List.Len())
}

func TestEventsOfParallelInterruptsAndAPartialAnswer(t *testing.T) { // spec/rest-api.md A.3, D-33
	t.Parallel()
	ask := func(name string) func(agent.Context, xy) (agent.Update, error) {
		return func(ctx agent.Context, _ xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, name)
			return x(name + ":" + r), err
		}
	}
	asked := make(chan struct{})
	g := agent.NewGraph[xy]("three").
		Node("a", ask("a")).Node("b", ask("b")).
		Node("c", func(agent.Context, xy) (agent.Update, error) { <-asked; return x("c"), nil }).
		Edge(agent.Start, "a").Edge(agent.Start, "b").Edge(agent.Start, "c").MustCompile()
	th := agenttest.New(g)
	raised := 0
	th.OnEmit = func(e agent.Event) {
		if e.Kind == agent.InterruptRaised {
			if raised++; raised == 2 {
				close(asked)
			}
		}
	}
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	th.OnEmit = nil
	require.True(t, res.Suspended)
	lines := script(res.Events)
	require.Equal(t, []string{
		`updates  c {"x":["c"]}`, `task.finished  c {"x":["c"]}`, "checkpoint.announced  loop 0", `values  inline {"x":["c"]}`,
	}, lines[len(lines)-4:])
	s, err := th.State(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, s.Next)
	require.JSONEq(t, `{"x":["c"]}`, string(s.State.JSON()))

	pending := th.Pending()
	require.Len(t, pending, 2)
	res, err = th.Answer(t.Context(), map[string]any{pending[1].ID: "B"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	lines = script(res.Events)
	require.Equal(t, []string{
		"input.answered  1", "checkpoint.announced  loop 0", `values  {"x":[]}`, "checkpoint.saved  loop 0 [a b c]",
		`updates  c {"x":["c"]} cached`, "task.started  a", "task.started  b", "task.started  c",
	}, lines[:8])
	require.Contains(t, lines, `interrupt  ?"a"`)
	require.NotContains(t, lines, `interrupt  ?"b"`)
	require.Equal(t, []string{"checkpoint.announced  loop 0", `values  inline {"x":["b:B","c"]}`}, lines[len(lines)-2:])

	res, err = th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.False(t, res.Suspended)
	require.JSONEq(t, `{"x":["a:A","b:B","c"]}`, stateOf(t, th, ""))
	require.Len(t, th.History(""), 3)
}

func TestEventsOfANestedInterrupt(t *testing.T) { // spec/streaming-protocol.md 3.12 I, D-50
	t.Parallel()
	inner := agent.NewGraph[xy]("inner").
		Node("review", func(ctx agent.Context, _ xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, "ok?")
			return agent.Set("y", r), err
		}).Edge(agent.Start, "review").MustCompile()
	child := agent.NewGraph[xy]("child").Subgraph("inner", inner).Edge(agent.Start, "inner").MustCompile()
	g := agent.NewGraph[xy]("root").Subgraph("child", child).Edge(agent.Start, "child").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), agent.Set("y", "in"))
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Equal(t, []string{
		"checkpoint.saved  input -1 [__start__]",
		"checkpoint.announced  loop 0", `values  {"x":[],"y":"in"}`, "checkpoint.saved  loop 0 [child]", "task.started  child",
		"namespace.started [child] child", "checkpoint.saved [child] input -1 [__start__]",
		"checkpoint.announced [child] loop 0", `values [child] {"x":[],"y":"in"}`, "checkpoint.saved [child] loop 0 [inner]", "task.started [child] inner",
		"namespace.started [child|inner] inner", "checkpoint.saved [child|inner] input -1 [__start__]",
		"checkpoint.announced [child|inner] loop 0", `values [child|inner] {"x":[],"y":"in"}`, "checkpoint.saved [child|inner] loop 0 [review]",
		"task.started [child|inner] review",
		`interrupt [child|inner] ?"ok?"`, `task.finished [child|inner] review {} ?"ok?"`,
		`interrupt.bubbled [child] ?"ok?"`, `task.finished [child] inner {} ?"ok?"`, "namespace.finished [child|inner] inner",
		`interrupt.bubbled  ?"ok?"`, `task.finished  child {} ?"ok?"`, "namespace.finished [child] child",
	}, script(res.Events))
	last := res.Commits[len(res.Commits)-1]
	require.NotNil(t, last.Outcome)
	require.Len(t, last.Tasks, 3, "the question is stored at all levels in the commit that ends the run")

	res, err = th.Resume(t.Context(), "yes")
	require.NoError(t, err)
	require.Equal(t, []string{
		"input.answered  1",
		"checkpoint.announced  loop 0", `values  {"x":[],"y":"in"}`, "checkpoint.saved  loop 0 [child]", "task.started  child",
		"namespace.started [child] child",
		"checkpoint.announced [child] loop 0", `values [child] {"x":[],"y":"in"}`, "checkpoint.saved [child] loop 0 [inner]", "task.started [child] inner",
		"namespace.started [child|inner] inner",
		"checkpoint.announced [child|inner] loop 0", `values [child|inner] {"x":[],"y":"in"}`, "checkpoint.saved [child|inner] loop 0 [review]",
		"task.started [child|inner] review",
		`updates [child|inner] review {"y":"yes"}`, `task.finished [child|inner] review {"y":"yes"}`,
		"checkpoint.announced [child|inner] loop 1", `values [child|inner] {"x":[],"y":"yes"}`, "checkpoint.saved [child|inner] loop 1 []",
		`updates [child] inner {"x":[],"y":"yes"}`, `task.finished [child] inner {"x":[],"y":"yes"}`, "namespace.finished [child|inner] inner",
		"checkpoint.announced [child] loop 1", `values [child] {"x":[],"y":"yes"}`, "checkpoint.saved [child] loop 1 []",
		`updates  child {"x":[],"y":"yes"}`, `task.finished  child {"x":[],"y":"yes"}`, "namespace.finished [child] child",
		"checkpoint.announced  loop 1", `values  {"x":[],"y":"yes"}`, "checkpoint.saved  loop 1 []",
	}, script(res.Events))
	require.Len(t, res.Commits, 4, "one commit before each level's task and one at the end")
}

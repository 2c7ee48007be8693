package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

// spoken runs a one-node graph whose node streams, and returns the events on the node's namespace.
func spoken(t *testing.T, node func(ctx agent.Context) (agent.Update, error), opts ...agent.NodeOption) ([]agent.Event, agenttest.Result) {
	t.Helper()
	g := agent.NewGraph[chat]("speaks").
		Node("n", func(ctx agent.Context, _ chat) (agent.Update, error) { return node(ctx) }, opts...).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	th.Clock().AutoAdvance = true
	res, err := th.Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	var events []agent.Event
	for _, e := range res.Events {
		if strings.HasPrefix(e.NS, "n:") {
			events = append(events, e)
		}
	}
	return events, res
}

func TestStreamedMessageWithReasoningTextAndUsage(t *testing.T) {
	t.Parallel()
	events, _ := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		out := agent.StreamMessage(ctx, agent.MessageOptions{
			ID: "m1", Name: "model", Tags: []string{"t"}, Extra: map[string]json.RawMessage{"ls_provider": json.RawMessage(`"test"`)},
			Prompt: message.New(message.NewHuman("hi")),
		})
		out.Chunk(message.Chunk{Reasoning: "hm"})
		out.Chunk(message.Chunk{Text: "a"})
		out.Chunk(message.Chunk{Block: json.RawMessage(`{"type":"image","url":"u"}`)})
		out.Chunk(message.Chunk{Text: "b", Usage: &message.Usage{OutputTokens: 2, TotalTokens: 2}, FinishReason: "length"})
		return agent.Set("messages", []message.Message{out.Finish()}), nil
	}, agent.Tags("node-tag"), agent.NodeMetadata(map[string]any{"color": "red"}))
	require.Equal(t, []string{
		"namespace.started [n] n", "message.started [n]",
		`block.started [n] 0 {"type":"reasoning","reasoning":""}`, "block.delta [n] reasoning hm", `block.finished [n] 0 {"type":"reasoning","reasoning":"hm"}`,
		`block.started [n] 1 {"type":"text","text":""}`, "block.delta [n] text a", `block.finished [n] 1 {"type":"text","text":"a"}`,
		`block.started [n] 2 {"type":"image","url":"u"}`, `block.finished [n] 2 {"type":"image","url":"u"}`,
		`block.started [n] 3 {"type":"text","text":""}`, "block.delta [n] text b", `block.finished [n] 3 {"type":"text","text":"b"}`,
		"message.finished [n] length", "namespace.finished [n] n",
	}, script(events))
	start := events[1].Payload.(agent.MessageStart)
	require.Equal(t, []any{"m1", "ai", "model", true}, []any{start.ID, start.Type, start.Name, start.Streamed})
	require.Equal(t, []string{"node-tag", "t"}, start.Meta.Tags)
	require.Equal(t, "n", start.Meta.Node)
	require.Equal(t, events[0].NS, start.Meta.CheckpointNS)
	require.JSONEq(t, `["__pregel_pull","n"]`, string(start.Meta.Path))
	require.JSONEq(t, `"test"`, string(start.Meta.Extra["ls_provider"]))
	require.JSONEq(t, `"red"`, string(start.Meta.Extra["color"]))
	require.Contains(t, string(start.Input), `"hi"`)
	finish := events[len(events)-2].Payload.(agent.MessageFinish)
	require.Equal(t, 2, finish.Usage.OutputTokens)
}

func TestSignedReasoningIsShownWithItsSignature(t *testing.T) {
	t.Parallel()
	events, _ := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		out := agent.StreamMessage(ctx, agent.MessageOptions{ID: "m1"})
		out.Chunk(message.Chunk{Reasoning: "a"})
		out.Chunk(message.Chunk{Signature: "s"})
		out.Chunk(message.Chunk{Reasoning: "b"})
		out.Chunk(message.Chunk{Text: "t"})
		return agent.Set("messages", []message.Message{out.Finish()}), nil
	})
	require.Equal(t, []string{
		"namespace.started [n] n", "message.started [n]",
		`block.started [n] 0 {"type":"reasoning","reasoning":""}`, "block.delta [n] reasoning a", `block.finished [n] 0 {"type":"reasoning","reasoning":"a","extras":{"signature":"s"}}`,
		`block.started [n] 1 {"type":"reasoning","reasoning":""}`, "block.delta [n] reasoning b", `block.finished [n] 1 {"type":"reasoning","reasoning":"b"}`,
		`block.started [n] 2 {"type":"text","text":""}`, "block.delta [n] text t", `block.finished [n] 2 {"type":"text","text":"t"}`,
		"message.finished [n] stop", "namespace.finished [n] n",
	}, script(events))
}

func TestSecondAttemptOfACallKeepsTheMessageID(t *testing.T) { // decisions 7
	t.Parallel()
	events, res := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		out := agent.StreamMessage(ctx, agent.MessageOptions{})
		out.Chunk(message.Chunk{Text: "half"})
		out.Reset()
		out.Chunk(message.Chunk{Text: "whole"})
		return agent.Set("messages", []message.Message{out.Finish()}), nil
	})
	require.Equal(t, "success", res.Status)
	kinds := []string{}
	ids := map[string]bool{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case agent.MessageStart:
			ids[p.ID] = true
			kinds = append(kinds, "start")
		case agent.MessageRef:
			ids[p.ID] = true
			kinds = append(kinds, "reset")
		}
	}
	require.Equal(t, []string{"start", "reset", "start"}, kinds)
	require.Len(t, ids, 1)
}

func TestSecondAttemptOfANodeResetsItsMessage(t *testing.T) { // decisions 7
	t.Parallel()
	events, res := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		out := agent.StreamMessage(ctx, agent.MessageOptions{})
		out.Chunk(message.Chunk{Text: "text"})
		if ctx.Attempt() == 1 {
			err := errors.New("gone")
			out.Fail(err)
			return nil, err
		}
		return agent.Set("messages", []message.Message{out.Finish()}), nil
	}, agent.Retry(agent.RetryPolicy{}))
	require.Equal(t, "success", res.Status)
	lines := script(events)
	require.Contains(t, lines, "message.failed [n]")
	require.Contains(t, lines, "message.reset [n]")
	require.NotContains(t, lines, "message.whole [n] ai text", "a streamed message isn't sent again")
}

func TestRecoveredRunResetsWhatMayHaveBeenSeen(t *testing.T) { // decisions 7
	t.Parallel()
	crash := true
	g := agent.NewGraph[chat]("speaks").
		Node("n", func(ctx agent.Context, _ chat) (agent.Update, error) {
			out := agent.StreamMessage(ctx, agent.MessageOptions{})
			out.Chunk(message.Chunk{Text: "text"})
			return agent.Set("messages", []message.Message{out.Finish()}), nil
		}).Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	th.OnCommit = func(c agent.Commit) error {
		if crash && c.Outcome != nil {
			return errors.New("crashed")
		}
		return nil
	}
	res, err := th.Run(t.Context(), map[string]any{"messages": "hi"})
	require.Error(t, err)
	crash = false
	res, err = th.Recover(t.Context(), res.Run)
	require.NoError(t, err)
	lines := script(res.Events)
	require.Equal(t, "checkpoint.announced  loop 0", lines[0])
	require.Contains(t, lines, "message.reset [n]")
}

func TestQuietCallsAndHiddenNodesShowNothing(t *testing.T) {
	t.Parallel()
	speak := func(tags ...string) func(ctx agent.Context) (agent.Update, error) {
		return func(ctx agent.Context) (agent.Update, error) {
			out := agent.StreamMessage(ctx, agent.MessageOptions{Tags: tags})
			out.Chunk(message.Chunk{Text: "secret"})
			require.Equal(t, "secret", out.Finish().Text())
			agent.ToolCallStarted(ctx, "c", "tool", nil)
			return nil, nil
		}
	}
	events, _ := spoken(t, speak("nostream"))
	require.Equal(t, []string{"namespace.started [n] n", "tool.started [n] c tool", "namespace.finished [n] n"}, script(events))
	events, res := spoken(t, speak(), agent.Tags("langsmith:hidden"))
	require.Empty(t, events)
	for _, l := range script(res.Events) {
		require.NotContains(t, l, "task.")
		require.NotContains(t, l, "updates")
	}
}

func TestMessageReturnedByASendThatGotItIsNotShown(t *testing.T) { // spec/rest-api.md 4.4
	t.Parallel()
	b := agent.NewGraph[chat]("sends").
		BranchTo(agent.Start, func(_ agent.Context, s chat) ([]agent.Target, error) {
			last, _ := s.Messages.Last()
			return []agent.Target{agent.Send("w", last), agent.Send("w", map[string]any{"messages": s.Messages, "k": 1})}, nil
		}, "w")
	agent.NodeOf(b, "w", func(_ agent.Context, in json.RawMessage) (agent.Update, error) {
		return agent.Set("messages", []any{json.RawMessage(`{"type":"human","id":"h1","content":"hi"}`), message.NewTool("c", "w", "new")}), nil
	})
	th := agenttest.New(b.MustCompile())
	res, err := th.Run(t.Context(), map[string]any{"messages": []map[string]any{{"type": "human", "id": "h1", "content": "hi"}}})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	whole := 0
	for _, l := range script(res.Events) {
		if strings.HasPrefix(l, "message.whole") {
			require.Equal(t, "message.whole [w] tool new", l)
			whole++
		}
	}
	require.Equal(t, 2, whole)
}

func TestNestedCheckpointsTellTheTaskThatMadeThem(t *testing.T) { // spec/rest-api.md 5.1
	t.Parallel()
	child := agent.NewGraph[xy]("child").Node("c", add("c")).Edge(agent.Start, "c").MustCompile()
	g := agent.NewGraph[xy]("parent").Subgraph("p", child).Edge(agent.Start, "p").MustCompile()
	th := agenttest.New(g)
	th.Config = agent.Config{
		Configurable: map[string]json.RawMessage{"user": json.RawMessage(`"u"`), "__secret": json.RawMessage(`"s"`), "langgraph_auth_user": json.RawMessage(`"s"`), "obj": json.RawMessage(`{}`)},
		Metadata:     map[string]json.RawMessage{"k": json.RawMessage(`1`)},
	}
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	ns := th.Namespaces()[1]
	m := th.History(ns)[0].Metadata
	require.JSONEq(t, `["branch:to:p"]`, string(m["langgraph_triggers"]))
	require.JSONEq(t, `"`+ns+`"`, string(m["checkpoint_ns"]))
	require.JSONEq(t, `1`, string(m["k"]))
	root := th.History("")[0].Metadata
	require.JSONEq(t, `"u"`, string(root["user"]))
	for _, hidden := range []string{"__secret", "langgraph_auth_user", "obj", "langgraph_node"} {
		require.NotContains(t, root, hidden)
	}
}

// The nodes of a nested graph send what they return; the node that it is sends
// nothing again, and not what it was given.
func TestNestedGraphSendsItsMessagesOnce(t *testing.T) {
	t.Parallel()
	child := agent.NewGraph[chat]("child").
		Node("inner", func(agent.Context, chat) (agent.Update, error) {
			return agent.Set("messages", message.NewAI("reply")), nil
		}).Edge(agent.Start, "inner").MustCompile()
	g := agent.NewGraph[chat]("parent").Subgraph("child", child).
		BranchTo(agent.Start, func(agent.Context, chat) ([]agent.Target, error) {
			return []agent.Target{agent.Send("child", map[string]any{"messages": []message.Message{message.NewHuman("subtask")}})}, nil
		}, "child").MustCompile()
	res, err := agenttest.New(g).Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	var whole []string
	for _, e := range res.Events {
		if s, ok := e.Payload.(agent.MessageSnapshot); ok {
			var m message.Message
			require.NoError(t, json.Unmarshal(s.Message, &m))
			whole = append(whole, m.Text())
		}
	}
	require.Equal(t, []string{"reply"}, whole)
}

package hitl_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
)

type chat struct {
	Messages message.List `json:"messages"`
}

// desk is what the tools of a test did, in order.
type desk struct {
	mu   sync.Mutex
	runs []string
}

func (d *desk) did(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs = append(d.runs, what)
}

func (d *desk) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.runs)
}

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount" jsonschema:"minimum=1"`
}

// list are the tools pay and mail, which tests gate, and search, which they don't.
func (d *desk) list() []tool.Tool {
	as := func(name string, schema string) tool.Tool {
		return tool.Raw(name, name, json.RawMessage(schema), func(ctx tool.CallContext, _ json.RawMessage) (any, error) {
			d.did(name + string(ctx.ToolCall().Args))
			return name + " done", nil
		}, tool.AtMostOnce())
	}
	return []tool.Tool{
		as("pay", `{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"integer","minimum":1}},"required":["to","amount"]}`),
		as("mail", `{"$defs":{"addr":{"type":"string","minLength":3}},"type":"object","properties":{"to":{"$ref":"#/$defs/addr"}},"required":["to"]}`),
		as("search", `{"type":"object"}`),
	}
}

func (d *desk) tools(t require.TestingT) *tool.Set {
	set, err := tool.NewSet(d.list()...)
	require.NoError(t, err)
	return set
}

// script answers with the messages in turn: after n answers of its own it gives the n-th.
func script(turns ...message.Message) func(message.List) message.Message {
	return func(conversation message.List) message.Message {
		n, last := 0, 0
		for _, m := range conversation.All() {
			if m.Type == message.AI && strings.HasPrefix(m.ID, "ai-") {
				n++
				if at, err := strconv.Atoi(m.ID[3:]); err == nil {
					last = max(last, at)
				}
			}
		}
		m := message.NewAI("Done.")
		if n < len(turns) {
			m = turns[n]
		}
		m.ID = fmt.Sprintf("ai-%d", last+1)
		return m
	}
}

// calls is an AI message that makes calls.
func calls(all ...message.ToolCall) message.Message {
	m := message.NewAI("")
	m.ToolCalls = all
	return m
}

func call(id, name, args string) message.ToolCall {
	return message.NewToolCall(id, name, json.RawMessage(args))
}

// speaker is the newest AI message that makes calls, cards of the frontend left out, and its open calls.
func speaker(conversation message.List) (m message.Message, open []message.ToolCall) {
	answered := map[string]bool{}
	for _, m := range conversation.Backward() {
		switch {
		case m.Type == message.Tool:
			answered[m.ToolCallID] = true
		case m.Type == message.AI && strings.HasPrefix(m.ID, "ai-"):
			for _, c := range m.ToolCalls {
				if !answered[c.ID] {
					open = append(open, c)
				}
			}
			return m, open
		}
	}
	return message.Message{}, nil
}

// carryOut is what the tools node of a graph does with a call.
func carryOut(ctx agent.Context, gate *hitl.Gate, set *tool.Set, call message.ToolCall) (agent.Update, error) {
	return gate.Call(ctx, call, func(ctx agent.Context, call message.ToolCall) (agent.Update, error) {
		return set.Run(ctx, call, nil, tool.Reviewed())
	})
}

// loop is a small agent around a gate: model, review, one task per call.
func loop(gate *hitl.Gate, set *tool.Set, model func(message.List) message.Message, options ...agent.GraphOption) *agent.Graph {
	b := agent.NewGraph[chat]("desk", append(options, gate.Options()...)...).
		Node("model_request", func(_ agent.Context, s chat) (agent.Update, error) {
			return agent.Set("messages", []message.Message{model(s.Messages)}), nil
		})
	last := "model_request"
	if gate.Batch() {
		last = hitl.NodeName
		b.Node(last, func(ctx agent.Context, s chat) (agent.Update, error) { return gate.AfterModel(ctx, s.Messages) })
		b.Edge("model_request", last)
	}
	agent.NodeOf(b, "tools", func(ctx agent.Context, in json.RawMessage) (agent.Update, error) {
		var sent struct {
			Call message.ToolCall `json:"call"`
		}
		if err := json.Unmarshal(in, &sent); err != nil {
			return nil, err
		}
		return carryOut(ctx, gate, set, sent.Call)
	})
	b.Edge(agent.Start, "model_request").Edge("tools", "model_request")
	b.BranchTo(last, func(_ agent.Context, s chat) ([]agent.Target, error) {
		m, open := speaker(s.Messages)
		if len(m.ToolCalls)+len(m.InvalidToolCalls) == 0 {
			return []agent.Target{{Node: agent.End}}, nil
		}
		targets := make([]agent.Target, 0, len(open)+1)
		for _, c := range open {
			targets = append(targets, agent.Send("tools", map[string]any{"call": c}))
		}
		if len(targets) == 0 {
			targets = append(targets, agent.Target{Node: "model_request"})
		}
		return targets, nil
	}, "tools", "model_request", agent.End)
	return b.MustCompile()
}

// standard gates pay and mail, with all decisions.
func standard() hitl.Config {
	return hitl.Config{Policy: hitl.Policy{"pay": {Decisions: hitl.All()}, "mail": {Decisions: hitl.All()}}}
}

// begin is a thread whose agent has spoken: a desk, a configuration, what the model says.
func begin(t *testing.T, c hitl.Config, turns ...message.Message) (*agenttest.Thread, *desk) {
	t.Helper()
	d := &desk{}
	set := d.tools(t)
	gate, err := hitl.New(c, set)
	require.NoError(t, err)
	thread := newThread(loop(gate, set, script(turns...)))
	say(t, thread, "go")
	return thread, d
}

func newThread(g *agent.Graph) *agenttest.Thread {
	thread := agenttest.New(g)
	thread.Clock().AutoAdvance = true
	return thread
}

func say(t *testing.T, thread *agenttest.Thread, text string) agenttest.Result {
	t.Helper()
	res, err := thread.Run(t.Context(), map[string]any{"messages": text})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status, "%+v", res.Err)
	return res
}

// answer resumes the only question and says whether the run went to its end.
func answer(t *testing.T, thread *agenttest.Thread, wire string) agenttest.Result {
	t.Helper()
	res, err := thread.Command(t.Context(), agent.Command{Resume: json.RawMessage(wire), HasResume: true})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status, "%+v", res.Err)
	return res
}

// refused answers and returns what was wrong, as "path message".
func refused(t *testing.T, thread *agenttest.Thread, wire string) []string {
	t.Helper()
	_, err := thread.Command(t.Context(), agent.Command{Resume: json.RawMessage(wire), HasResume: true})
	var refusal *agent.ResumeError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, agent.InvalidAnswer, refusal.Code)
	var all []string
	for _, issue := range refusal.Issues {
		require.Contains(t, refusal.IDs, issue.InterruptID)
		all = append(all, issue.Path+" "+issue.Message)
	}
	return all
}

func conversation(t require.TestingT, thread *agenttest.Thread) message.List {
	s, err := thread.State(ctxOf(t), "")
	require.NoError(t, err)
	if s == nil {
		return message.List{}
	}
	return s.State.Messages()["messages"]
}

// told are the tool messages: "id status name: text".
func told(t require.TestingT, thread *agenttest.Thread) []string {
	var all []string
	for _, m := range conversation(t, thread).All() {
		if m.Type == message.Tool {
			all = append(all, fmt.Sprintf("%s %s %s: %s", m.ToolCallID, m.Status, m.Name, m.Text()))
		}
	}
	return all
}

package hitl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// world is an agent under test with what was allowed and what was done.
type world struct {
	t     *rapid.T
	desk  *desk
	set   *tool.Set
	mode  hitl.Mode
	graph *agent.Graph
	// threads are the thread and its copies.
	threads []*agenttest.Thread
	// allowed counts what reviewers let run: each approval is good for one execution.
	allowed map[string]int
	// asked are the questions that were answered.
	asked map[string]bool
	// crashes lets commits fail at random.
	crashes bool
	// react is set for the agent of package react, otherwise it is the loop of these tests, whose
	// tools node believes what it is sent.
	react bool
	// unique is set if no two AI messages make calls under the same id.
	unique bool
	// edits counts the messages that clients made up.
	edits int
	// condition is set if calls of pay to Ann need no review.
	condition bool
}

var gated = []string{"pay", "mail"}

// drawConfig draws a policy and a mode.
func drawConfig(t *rapid.T) hitl.Config {
	decisions := rapid.SliceOfNDistinct(rapid.SampledFrom(hitl.All()), 1, 4, rapid.ID[hitl.Decision])
	c := hitl.Config{
		Policy: hitl.Policy{"pay": {Decisions: decisions.Draw(t, "pay decisions")}, "mail": {Decisions: decisions.Draw(t, "mail decisions")}},
		Mode:   rapid.SampledFrom([]hitl.Mode{hitl.Batch, hitl.PerCall}).Draw(t, "mode"),
		Casing: rapid.SampledFrom([]hitl.Casing{hitl.Camel, hitl.Snake}).Draw(t, "casing"),
	}
	if rapid.Bool().Draw(t, "condition") {
		rule := c.Policy["pay"]
		rule.When = func(r hitl.Request) bool { return !strings.Contains(string(r.Call.Args), "Ann") }
		c.Policy["pay"] = rule
	}
	return c
}

// drawArgs draws arguments, mostly right ones.
func drawArgs(t *rapid.T, name string) string {
	switch name {
	case "pay":
		return rapid.SampledFrom([]string{`{"to":"Ann","amount":1}`, `{"to":"Bob","amount":2}`, `{"to":"Bob","amount":3}`, `{"to":"Bob"}`, `[]`}).Draw(t, "args")
	case "mail":
		return rapid.SampledFrom([]string{`{"to":"a@b"}`, `{"to":"c@d"}`, `{"to":"x"}`}).Draw(t, "args")
	}
	return rapid.SampledFrom([]string{`{}`, `{"q":1}`}).Draw(t, "args")
}

func drawCall(t *rapid.T, id string) message.ToolCall {
	name := rapid.SampledFrom([]string{"pay", "mail", "search"}).Draw(t, "tool")
	return call(id, name, drawArgs(t, name))
}

// drawTurn draws an AI message with up to four calls, whose ids have a prefix.
func drawTurn(t *rapid.T, prefix string) message.Message {
	n := rapid.IntRange(1, 4).Draw(t, "calls")
	all := make([]message.ToolCall, n)
	for i := range all {
		all[i] = drawCall(t, fmt.Sprintf("%sc%d", prefix, i+1))
	}
	return calls(all...)
}

func newWorld(t *rapid.T, crashes bool) *world {
	c := drawConfig(t)
	w := &world{t: t, desk: &desk{}, mode: c.Mode, allowed: map[string]int{}, asked: map[string]bool{}, crashes: crashes, condition: c.Policy["pay"].When != nil}
	list := w.desk.list()
	var err error
	w.set, err = tool.NewSet(list...)
	require.NoError(t, err)
	turns := make([]message.Message, rapid.IntRange(1, 3).Draw(t, "turns"))
	w.unique = rapid.Bool().Draw(t, "unique ids")
	for i := range turns {
		turns[i] = drawTurn(t, w.prefix(fmt.Sprintf("ai-%d", i+1)))
	}
	if w.react = rapid.Bool().Draw(t, "react"); w.react {
		w.graph, err = react.New(react.Options[react.State]{
			Name: "desk", Model: scripted.Script{Choose: chosen(turns)}, Tools: list, Review: c,
		})
		require.NoError(t, err)
	} else {
		gate, err := hitl.New(c, w.set)
		require.NoError(t, err)
		w.graph = loop(gate, w.set, script(turns...))
	}
	w.threads = []*agenttest.Thread{newThread(w.graph)}
	return w
}

// chosen plays turns: the n-th answer of a conversation is the n-th turn.
func chosen(turns []message.Message) scripted.Chooser {
	return func(c scripted.Call) (scripted.Turn, error) {
		n := 0
		for _, m := range c.Messages.All() {
			if m.Type == message.AI && len(m.ToolCalls) > 0 {
				n++
			}
		}
		if n < len(turns) {
			return scripted.Turn{ToolCalls: turns[n].ToolCalls}, nil
		}
		return scripted.Say("Done."), nil
	}
}

// prefix makes the ids of an AI message's calls unique in the thread, if they are to be.
func (w *world) prefix(messageID string) string {
	if w.unique {
		return messageID + "/"
	}
	return ""
}

var errDown = errors.New("the store is gone")

// start carries out a run; a worker that crashes on the way is followed by another.
func (w *world) start(thread *agenttest.Thread, exec agent.Execution) {
	left := 3
	fail := func(agent.Commit) error { return nil }
	if w.crashes {
		fail = func(agent.Commit) error {
			if left > 0 && rapid.IntRange(0, 5).Draw(w.t, "crash") == 0 {
				left--
				return errDown
			}
			return nil
		}
	}
	exec.Config.MaxConcurrency = 1 // draws must come in one order
	exec.Config.RecursionLimit = 60
	for {
		thread.OnCommit = fail
		res, err := thread.Start(w.t.Context(), exec)
		thread.OnCommit = nil
		if err != nil {
			require.ErrorIs(w.t, err, errDown)
			exec.Attempt++
			continue
		}
		require.Equal(w.t, "success", res.Status, "%+v", res.Err)
		return
	}
}

func (w *world) run(thread *agenttest.Thread, input any) {
	exec := thread.Execution()
	if input != nil {
		raw, err := json.Marshal(input)
		require.NoError(w.t, err)
		exec.Input = raw
	}
	w.start(thread, exec)
}

// question is a pending question with the actions that it is about.
type question struct {
	agent.InterruptInfo
	actions []hitl.Action
	allowed [][]hitl.Decision
	unknown bool
	batch   bool
}

func readQuestion(t require.TestingT, q agent.InterruptInfo) question {
	out := question{InterruptInfo: q}
	var wire struct {
		Type    string          `json:"type"`
		Name    string          `json:"name"`
		Args    json.RawMessage `json:"args"`
		Camel   []hitl.Action   `json:"actionRequests"`
		Snake   []hitl.Action   `json:"action_requests"`
		ReviewC []struct {
			Allowed []hitl.Decision `json:"allowedDecisions"`
		} `json:"reviewConfigs"`
		ReviewS []struct {
			Allowed []hitl.Decision `json:"allowed_decisions"`
		} `json:"review_configs"`
	}
	require.NoError(t, json.Unmarshal(q.Value, &wire))
	switch wire.Type {
	case "unknown_outcome":
		out.unknown = true
	case "tool_approval":
		out.actions = []hitl.Action{{Name: wire.Name, Args: wire.Args}}
		out.allowed = [][]hitl.Decision{nil}
	default:
		out.batch = true
		out.actions = append(wire.Camel, wire.Snake...)
		for _, r := range wire.ReviewC {
			out.allowed = append(out.allowed, r.Allowed)
		}
		for _, r := range wire.ReviewS {
			out.allowed = append(out.allowed, r.Allowed)
		}
	}
	return out
}

// decide draws an answer that fits, and what it lets run.
func (w *world) decide(q question) (answer any, lets []hitl.Action) {
	if q.unknown {
		return map[string]any{"type": "done", "result": "known"}, nil
	}
	var all []any
	for i, a := range q.actions {
		allowed := q.allowed[i]
		if allowed == nil {
			allowed = hitl.All()
		}
		var d map[string]any
		for { // of the per-call question only the schema says what is allowed
			t := rapid.SampledFrom(allowed).Draw(w.t, "decision")
			d = map[string]any{"type": t}
			var let *hitl.Action
			switch t {
			case hitl.Approve:
				let = &a
			case hitl.Edit:
				edited := hitl.Action{Name: a.Name, Args: json.RawMessage(map[string]string{"pay": `{"to":"Cleo","amount":9}`, "mail": `{"to":"cleo@x"}`}[a.Name])}
				if q.batch && rapid.Bool().Draw(w.t, "another tool") {
					edited = hitl.Action{Name: "search", Args: json.RawMessage(`{"q":"edited"}`)}
				}
				d[rapid.SampledFrom([]string{"editedAction", "edited_action"}).Draw(w.t, "casing")] = edited
				let = &edited
			case hitl.Respond:
				d["message"] = "answer"
			}
			checker, err := agent.NewChecker(q.ResponseSchema)
			require.NoError(w.t, err)
			raw, err := json.Marshal(d)
			require.NoError(w.t, err)
			if !q.batch && len(checker.Issues(raw)) > 0 {
				continue
			}
			if let != nil {
				lets = append(lets, *let)
			}
			break
		}
		all = append(all, d)
	}
	if q.batch {
		return map[string]any{"decisions": all}, lets
	}
	return all[0], lets
}

// answerSome answers some of the pending questions of a thread; false if there are none.
func (w *world) answerSome(thread *agenttest.Thread, extra agent.Command) bool {
	pending := thread.Pending()
	if len(pending) == 0 {
		return false
	}
	chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(pending)-1), 1, len(pending), rapid.ID[int]).Draw(w.t, "answered")
	answers := map[string]any{}
	for _, i := range chosen {
		q := readQuestion(w.t, pending[i])
		if rapid.IntRange(0, 4).Draw(w.t, "wrong first") == 0 {
			raw, err := json.Marshal(map[string]any{q.ID: map[string]any{"decisions": []any{map[string]any{"type": "maybe"}}, "type": "maybe"}})
			require.NoError(w.t, err)
			_, err = thread.Admit(w.t.Context(), agent.Command{Resume: raw, HasResume: true})
			var refusal *agent.ResumeError
			require.ErrorAs(w.t, err, &refusal)
		}
		answer, lets := w.decide(q)
		answers[q.ID] = answer
		require.False(w.t, w.asked[thread.ID+q.ID], "no question is asked twice")
		w.asked[thread.ID+q.ID] = true
		for _, a := range lets {
			w.allowed[a.Name+string(a.Args)]++
		}
	}
	raw, err := json.Marshal(answers)
	require.NoError(w.t, err)
	extra.Resume, extra.HasResume = raw, true
	exec := thread.Execution()
	exec.Resumed, err = thread.Admit(w.t.Context(), extra)
	require.NoError(w.t, err)
	w.start(thread, exec)
	return true
}

// finish answers until nothing is pending and nothing is left to run.
func (w *world) finish(thread *agenttest.Thread) {
	for range 100 {
		if w.answerSome(thread, agent.Command{}) {
			continue
		}
		s, err := thread.State(w.t.Context(), "")
		require.NoError(w.t, err)
		if s == nil || len(s.Next) == 0 {
			return
		}
		w.run(thread, nil)
	}
	require.Fail(w.t, "no end in sight")
}

// isGated tells an execution of a gated tool, as the desk notes it, from one that needs no approval.
func isGated(run string) bool {
	return slices.ContainsFunc(gated, func(name string) bool { return strings.HasPrefix(run, name+"{") })
}

// exempt tells whether the policy's condition lets a run pass unasked.
func (w *world) exempt(run string) bool {
	return w.conditional() && strings.HasPrefix(run, "pay") && strings.Contains(run, "Ann")
}

func (w *world) conditional() bool { return w.condition }

// checkRuns checks that nothing ran without an approval, and none was used twice.
func (w *world) checkRuns() {
	count := map[string]int{}
	for _, run := range w.desk.all() {
		if isGated(run) && !w.exempt(run) {
			count[run]++
			require.LessOrEqual(w.t, count[run], w.allowed[run], "%s ran without an approval; allowed: %v", run, w.allowed)
		}
	}
}

// checkHistory checks that the conversation is one that providers take: each call answered once,
// behind its message and before the model speaks again. Calls that were no JSON may have
// an answer; the agent tells the model what it needs to know of them.
func checkHistory(t require.TestingT, list message.List) {
	open, mayBe := map[string]bool{}, map[string]bool{}
	for _, m := range list.All() {
		switch m.Type {
		case message.AI:
			require.Empty(t, open, "calls without an answer before the model spoke again")
			clear(mayBe)
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
			for _, c := range m.InvalidToolCalls {
				mayBe[c.ID] = true
			}
		case message.Tool:
			require.True(t, open[m.ToolCallID] || mayBe[m.ToolCallID], "no open call %s", m.ToolCallID)
			delete(open, m.ToolCallID)
			delete(mayBe, m.ToolCallID)
		}
	}
	require.Empty(t, open)
}

// checkAnswers checks that no call is answered twice.
func checkAnswers(t require.TestingT, list message.List) {
	answered := map[string]bool{}
	for _, m := range list.All() {
		if m.Type == message.Tool {
			require.False(t, answered[m.ToolCallID], "call %s is answered twice: %s", m.ToolCallID, list.AppendJSON(nil))
			answered[m.ToolCallID] = true
		}
	}
}

// Issue 4, Show 4: for any tool calls, policies and decisions a tool runs exactly once if it
// was allowed to, else never, and the history is one that every provider accepts. Crashes included.
func TestAToolRunsExactlyOnceIfItWasAllowed(t *testing.T) { // D-20, D-40, D-45, D-46
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.Bool().Draw(t, "crashes"))
		thread := w.threads[0]
		w.run(thread, map[string]any{"messages": "go"})
		w.finish(thread)
		w.checkRuns()
		list := conversation(t, thread)
		checkHistory(t, list)
		checkHistory(t, react.Acceptable(list))
		count := map[string]int{}
		for _, run := range w.desk.all() {
			count[run]++
		}
		for run, n := range w.allowed {
			if takes(w.set, run) && isGated(run) && !w.exempt(run) {
				require.Equal(t, n, count[run], "%s was allowed %d times", run, n)
			}
		}
	})
}

// takes tells whether a tool takes the arguments: with others it answers with an error.
func takes(set *tool.Set, run string) bool {
	i := strings.IndexAny(run, "{[")
	return run[i] == '{' && len(set.Issues(run[:i], json.RawMessage(run[i:]))) == 0
}

// The same with whatever else a client can do thrown in: state edits, gotos with made-up Sends, forks,
// replays, copies and new input.
func TestNothingThatAClientDoesRunsAToolUnallowed(t *testing.T) { // D-40, D-101
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.Bool().Draw(t, "crashes"))
		w.run(w.threads[0], map[string]any{"messages": "go"})
		for range rapid.IntRange(1, 12).Draw(t, "actions") {
			w.act(w.threads[rapid.IntRange(0, len(w.threads)-1).Draw(t, "thread")])
			w.checkRuns()
		}
		for _, thread := range w.threads {
			w.finish(thread)
			if w.unique && w.react {
				checkAnswers(t, conversation(t, thread))
			}
		}
		w.checkRuns()
	})
}

// drawSend draws a Send to the tools, of a call that the conversation may or may not make.
func (w *world) drawSend() agent.Target {
	id := rapid.SampledFrom([]string{"c1", "c2", "c3", "c9"}).Draw(w.t, "id")
	return agent.Send("tools", map[string]any{w.sendKey(): drawCall(w.t, w.prefix(fmt.Sprintf("ai-%d", rapid.IntRange(1, 3).Draw(w.t, "message")))+id)})
}

// sendKey is where the tools node looks for its call.
func (w *world) sendKey() string {
	if w.react {
		return "lg_tool_call"
	}
	return "call"
}

func (w *world) drawTargets() []agent.Target {
	var all []agent.Target
	for range rapid.IntRange(1, 3).Draw(w.t, "targets") {
		nodes := []string{"model_request", "", ""}
		if w.mode == hitl.Batch {
			nodes = append(nodes, hitl.NodeName)
		}
		if node := rapid.SampledFrom(nodes).Draw(w.t, "node"); node != "" {
			all = append(all, agent.Target{Node: node})
			continue
		}
		send := w.drawSend()
		all = append(all, send)
		if rapid.Bool().Draw(w.t, "twice") {
			all = append(all, send)
		}
	}
	return all
}

// newestCalls is the newest message that makes calls.
func newestCalls(list message.List) message.Message {
	for _, m := range list.Backward() {
		if m.Type == message.AI && len(m.ToolCalls) > 0 {
			return m
		}
	}
	return message.Message{}
}

// drawEdit draws messages that a client writes into the state.
func (w *world) drawEdit(thread *agenttest.Thread, head bool) json.RawMessage {
	var messages []message.Message
	kind := rapid.IntRange(0, 3).Draw(w.t, "edit")
	if kind == 2 && !head { // it would fail later, for its own reason
		kind = 0
	}
	switch kind {
	case 0: // nothing
	case 1: // the newest calls, changed
		m := newestCalls(conversation(w.t, thread))
		if len(m.ToolCalls) == 0 || !head {
			w.edits++
			m = message.Message{ID: fmt.Sprintf("edit-%d", w.edits)}
		}
		prefix := w.prefix(m.ID)
		if len(m.ToolCalls) > 0 && w.unique {
			prefix, _, _ = strings.Cut(m.ToolCalls[0].ID, "c")
		}
		changed := drawTurn(w.t, prefix)
		changed.ID = m.ID
		messages = append(messages, changed)
	case 2: // an answer taken away
		for _, m := range conversation(w.t, thread).Backward() {
			if m.Type == message.Tool {
				messages = append(messages, message.Message{Type: message.Remove, ID: m.ID})
				break
			}
		}
	case 3:
		messages = append(messages, message.NewAI("a word"))
	}
	if messages == nil {
		messages = []message.Message{}
	}
	raw, err := json.Marshal(map[string]any{"messages": messages})
	require.NoError(w.t, err)
	return raw
}

// act does one thing that a client can do.
func (w *world) act(thread *agenttest.Thread) {
	ctx := w.t.Context()
	history := thread.History("")
	older := func() string { return history[rapid.IntRange(0, len(history)-1).Draw(w.t, "checkpoint")].ID }
	nodes := []string{"", "model_request", "tools", "__input__", "__copy__", "__end__"}
	if w.mode == hitl.Batch {
		nodes = append(nodes, hitl.NodeName)
	}
	switch rapid.SampledFrom([]string{"answer", "answer", "answer and go", "go", "update", "edit", "edit older", "replay", "copy", "continue", "input"}).Draw(w.t, "action") {
	case "answer":
		w.answerSome(thread, agent.Command{})
	case "answer and go":
		w.answerSome(thread, agent.Command{Goto: w.drawTargets()})
	case "go":
		cmd := agent.Command{Goto: w.drawTargets()}
		exec := thread.Execution()
		exec.Command = &cmd
		w.start(thread, exec)
	case "update":
		exec := thread.Execution()
		exec.Command = &agent.Command{Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(`[{"type":"ai","id":"card","content":"card"}]`)}}}
		w.start(thread, exec)
	case "edit", "edit older":
		at := ""
		if rapid.Bool().Draw(w.t, "older") {
			at = older()
		}
		as := rapid.SampledFrom(nodes).Draw(w.t, "as node")
		// A client may well ask for what can't be: that changes nothing.
		_ = thread.EditAt(ctx, "", at, []agent.Edit{{Values: w.drawEdit(thread, at == "" && as != "__input__"), AsNode: as}})
	case "replay":
		exec := thread.Execution()
		exec.CheckpointID = older()
		w.start(thread, exec)
	case "copy":
		if len(w.threads) < 3 {
			w.threads = append(w.threads, thread.Copy(fmt.Sprintf("00000000-0000-4000-8000-00000000010%d", len(w.threads))))
		}
	case "continue":
		w.run(thread, nil)
	case "input":
		w.run(thread, map[string]any{"messages": "more"})
	}
}

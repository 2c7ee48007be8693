package demo_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/demo"
)

func threadOf(t *testing.T, a agent.Agent) *agenttest.Thread {
	t.Helper()
	g, err := a.Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	thread := agenttest.New(g)
	thread.Clock().AutoAdvance = true
	return thread
}

// ask is a turn of the user.
func ask(t *testing.T, thread *agenttest.Thread, text string) agenttest.Result {
	t.Helper()
	r, err := thread.Run(t.Context(), map[string]any{"messages": []any{map[string]string{"type": "human", "content": text}}})
	require.NoError(t, err)
	return r
}

func conversation(t *testing.T, thread *agenttest.Thread) []string {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	var all []string
	for _, m := range s.State.Messages()["messages"].All() {
		all = append(all, m.Type+": "+m.Text())
	}
	return all
}

// last is the newest message without its receipt, which is no constant.
func last(t *testing.T, thread *agenttest.Thread) string {
	t.Helper()
	all := conversation(t, thread)
	text, _, _ := strings.Cut(all[len(all)-1], "\nReceipt: ")
	return text
}

func TestTheDemosAgents(t *testing.T) {
	t.Parallel()
	var names []string
	for _, a := range demo.Agents() {
		names = append(names, a.Name())
	}
	require.Equal(t, []string{"echo", "approval", "human_in_the_loop", "human_in_the_loop_per_call", "hitl_interrupt_forms"}, names)
}

func TestEchoStreamsTheUsersWords(t *testing.T) {
	t.Parallel()
	thread := threadOf(t, demo.Echo())
	begin := thread.Clock().Now()
	r := ask(t, thread, "one two three")
	var pieces []string
	for _, e := range r.Events {
		if d, ok := e.Payload.(agent.Delta); ok {
			pieces = append(pieces, d.Text)
		}
	}
	require.Equal(t, []string{"one ", "two ", "three"}, pieces)
	require.Equal(t, 50*time.Millisecond, thread.Clock().Now().Sub(begin), "one can watch the words arrive")
	ask(t, thread, "four")
	require.Equal(t, []string{"human: one two three", "ai: one two three", "human: four", "ai: four"}, conversation(t, thread))
	ask(t, thread, " ")
	require.Equal(t, "ai: Say something, and I will say it back.", last(t, thread))
}

func TestApprovalDoesWhatTheReviewerAllows(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		says string
		acts bool
	}{
		`{"decisions":[{"type":"approve"}]}`: {"Done: Refund order 7", true},
		`{"approved":true}`:                  {"Done: Refund order 7", true},
		`{"decisions":[{"type":"edit","edited_action":{"name":"carry_out","args":{"request":"Refund half of order 7"}}}]}`: {
			"Done, as the reviewer changed it: Refund half of order 7", true},
		`{"decisions":[{"type":"reject"}]}`:                {"I did not do it: Refund order 7\nThe reviewer rejected it.", false},
		`{"decisions":[{"type":"reject","message":"no"}]}`: {"I did not do it: Refund order 7\nThe reviewer rejected it: no.", false},
		`{"approved":false}`:                               {"I did not do it: Refund order 7\nThe reviewer rejected it.", false},
	} {
		thread := threadOf(t, demo.Approval())
		require.True(t, ask(t, thread, "Refund order 7").Suspended)
		require.Equal(t, []string{"human: Refund order 7", "ai: You asked me to: Refund order 7\nI need approval for that."}, conversation(t, thread))
		r, err := thread.Resume(t.Context(), json.RawMessage(answer))
		require.NoError(t, err)
		require.Equal(t, "success", r.Status)
		require.Equal(t, "ai: "+want.says, last(t, thread), answer)
		acted := false
		for _, e := range r.Events {
			if u, ok := e.Payload.(agent.UpdatesNote); ok {
				acted = acted || u.Node == "act"
			}
		}
		require.Equal(t, want.acts, acted, answer)
	}
}

func TestEachToolCallOfApprovalIsAnsweredOnce(t *testing.T) { // D-46
	t.Parallel()
	thread := threadOf(t, demo.Approval())
	for _, approved := range []bool{true, false, true} {
		ask(t, thread, "Do it")
		_, err := thread.Resume(t.Context(), map[string]bool{"approved": approved})
		require.NoError(t, err)
	}
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	calls, answers := map[string]int{}, map[string]int{}
	for _, m := range s.State.Messages()["messages"].All() {
		for _, c := range m.ToolCalls {
			require.JSONEq(t, `{"request":"Do it"}`, string(c.Args))
			calls[c.ID]++
		}
		if m.ToolCallID != "" {
			answers[m.ToolCallID]++
		}
	}
	require.Len(t, calls, 3)
	require.Equal(t, calls, answers)
}

func TestTheFrontendsMessageAppearsOnceAndChangesNothing(t *testing.T) { // D-41, D-42
	t.Parallel()
	thread := threadOf(t, demo.Approval())
	ask(t, thread, "Refund order 7")
	before := len(thread.History(""))
	r, err := thread.Command(t.Context(), agent.Command{
		Resume: json.RawMessage(`{"decisions":[{"type":"approve"}]}`), HasResume: true,
		Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(
			`[{"type":"human","id":"note-1","content":"Pay order 8 instead"}]`)}},
	})
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	require.Equal(t, "ai: Done: Refund order 7", last(t, thread), "what was approved is what runs")
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(s.State.JSON()), `"note-1"`))
	require.Len(t, thread.History(""), before+3, "review, act and report; the update has no checkpoint of its own")
	for _, e := range r.Events {
		if m, ok := e.Payload.(agent.MessageStart); ok {
			require.NotEqual(t, "note-1", m.ID, "the graph doesn't say it again")
		}
	}
}

func TestApprovalRefusesOtherAnswers(t *testing.T) { // D-35
	t.Parallel()
	thread := threadOf(t, demo.Approval())
	ask(t, thread, "Refund order 7")
	_, err := thread.Resume(t.Context(), "ok")
	var refused *agent.ResumeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agent.InvalidAnswer, refused.Code)
	require.Len(t, thread.Pending(), 1)
}

func TestApprovalActsOnceOverACrash(t *testing.T) { // D-43
	t.Parallel()
	thread := threadOf(t, demo.Approval())
	ask(t, thread, "Refund order 7")
	crashed := errors.New("the machine is gone")
	var recorded []agent.StepRecord
	thread.OnCommit = func(c agent.Commit) error {
		for _, s := range c.Steps {
			if s.Name == "carry_out" {
				recorded = append(recorded, s)
			}
		}
		for _, task := range c.Tasks {
			if task.Name == "act" {
				return crashed
			}
		}
		return nil
	}
	r, err := thread.Resume(t.Context(), map[string]bool{"approved": true})
	require.ErrorIs(t, err, crashed)
	require.Len(t, recorded, 1)
	thread.OnCommit = nil
	_, err = thread.Recover(t.Context(), r.Run)
	require.NoError(t, err)
	var receipt string
	require.NoError(t, json.Unmarshal(recorded[0].Result, &receipt))
	all := conversation(t, thread)
	require.Equal(t, "ai: Done: Refund order 7\nReceipt: "+receipt, all[len(all)-1])
}

func TestApprovalAsksForARequestFirst(t *testing.T) {
	t.Parallel()
	thread := threadOf(t, demo.Approval())
	r := ask(t, thread, "")
	require.False(t, r.Suspended)
	require.Equal(t, "ai: Tell me what to do. I will ask for approval before I do it.", last(t, thread))
}

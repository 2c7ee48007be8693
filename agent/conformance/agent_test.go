package conformance_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/conformance"
)

func TestAgentAnswersInFourMessages(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: humanInput("foo")})
	require.Equal(t, "success", r.outcome.Status)
	require.Equal(t, []string{"human foo", "ai begin", "tool tool_call__begin", "ai end"}, l.conversation())
	var nodes []string
	for _, e := range r.events {
		if u, ok := e.Payload.(agent.UpdatesNote); ok {
			nodes = append(nodes, u.Node)
		}
	}
	require.Equal(t, []string{"agent", "tool", "agent"}, nodes)
	history := l.history("")
	require.Len(t, history, 5)
	require.Empty(t, history[0].Next)
	require.Equal(t, []string{agent.Start}, history[4].Next)
	require.JSONEq(t, `{"messages":[]}`, string(history[4].State.JSON()))
}

func TestEachValuesOfAgentAddsOneMessage(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: humanInput("foo")})
	before := []string{}
	states := 0
	for _, e := range r.events {
		note, ok := e.Payload.(*agent.ValuesNote)
		if !ok {
			continue
		}
		states++
		now := []string{}
		for _, m := range note.State.Messages()["messages"].All() {
			require.NotEmpty(t, m.ID)
			now = append(now, m.ID)
		}
		require.Equal(t, before, now[:len(now)-1])
		before = now
	}
	require.Equal(t, 4, states)
}

func TestAgentStreamsOneChunkPerCharacter(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: humanInput("foo")})
	require.Equal(t, []string{"b", "e", "g", "i", "n", "tool_call__begin", "e", "n", "d"}, r.pieces())
	require.Equal(t, []string{"begin", "end"}, r.streamed())
}

func TestASecondRunAnswersAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	l.run(run{input: humanInput("foo")})
	marked := map[string]json.RawMessage{"turn": json.RawMessage(`"second"`)}
	l.run(run{input: `{"messages":[{"type":"human","content":"bar","id":"human-2"}]}`, metadata: marked})
	require.Equal(t, []string{
		"human foo", "ai begin", "tool tool_call__begin", "ai end",
		"human bar", "ai begin", "tool tool_call__begin", "ai end",
	}, l.conversation())
	require.Len(t, l.history(""), 10)
	var second []*agent.Snapshot
	for _, s := range l.history("") {
		if string(s.Metadata["turn"]) == `"second"` {
			second = append(second, s)
		}
	}
	require.Len(t, second, 5)
	require.Equal(t, 4, second[4].State.Messages()["messages"].Len())
}

func TestAnswersAreCountedPerThreadAndSet(t *testing.T) {
	t.Parallel()
	shared := conformance.Agent()
	one, two := newLab(t, shared), newLab(t, shared)
	one.run(run{input: humanInput("should_end")})
	require.Equal(t, []string{"human should_end", "ai begin"}, one.conversation())
	two.run(run{input: humanInput("should_end")})
	require.Equal(t, []string{"human should_end", "ai begin"}, two.conversation(), "another thread")
	one.run(run{input: humanInput("should_end")})
	require.Equal(t, []string{"human should_end", "ai begin", "ai end"}, one.conversation(), "the same thread goes on")
}

func TestARecursionLimitOfOneFailsTheRun(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: humanInput("foo"), limit: 1})
	require.Equal(t, "error", r.outcome.Status)
	require.Equal(t, "GraphRecursionError", r.outcome.Err.Name)
}

func TestAgentStopsBeforeItsToolAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, edited := range map[string]bool{"as it was": false, "with an edited message": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, conformance.Agent())
			r := l.run(run{input: humanInput("foo"), before: []string{"tool"}})
			require.True(t, r.outcome.Breakpoint)
			require.Equal(t, []string{"human foo", "ai begin"}, l.conversation())
			require.Equal(t, []string{"tool"}, l.state(false).Next)
			entries, third := 5, "tool tool_call__begin"
			if edited {
				last, _ := l.state(false).State.Messages()["messages"].Last()
				l.update("", `{"messages":[{"type":"ai","id":"`+last.ID+`","content":"modified"}]}`)
				state := l.state(false)
				require.Equal(t, []string{"tool"}, state.Next)
				require.Len(t, state.Tasks, 1)
				require.Equal(t, "tool", state.Tasks[0].Name)
				require.Nil(t, state.Tasks[0].Error)
				require.Empty(t, state.Tasks[0].Interrupts)
				entries, third = 6, "tool tool_call__modified"
			}
			r = l.run(run{})
			require.Equal(t, "success", r.outcome.Status)
			require.Len(t, l.conversation(), 4)
			require.Equal(t, third, l.conversation()[2])
			require.Len(t, l.history(""), entries)
		})
	}
}

func TestAgentStopsBeforeItsFirstNode(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	require.True(t, l.run(run{input: humanInput("foo"), before: []string{"agent"}}).outcome.Breakpoint)
	require.Equal(t, []string{"human foo"}, l.conversation())
}

func TestABreakpointAtNoNodeDoesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	require.False(t, l.run(run{input: humanInput("foo"), before: []string{"nobody"}}).outcome.Breakpoint)
	require.Len(t, l.conversation(), 4)
}

func TestAgentAsksOnceAndTakesAnyAnswer(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: `{"messages":[{"type":"human","content":"foo","id":"initial-message"}],"interrupt":true}`})
	require.True(t, r.outcome.Suspended)
	state := l.state(false)
	require.Equal(t, []string{"agent"}, state.Next)
	require.Len(t, state.Tasks, 1)
	task := state.Tasks[0]
	require.JSONEq(t, `["__pregel_pull","agent"]`, string(task.Path))
	require.Nil(t, task.Error)
	require.Nil(t, task.Result)
	require.Empty(t, task.SubgraphNS)
	require.Len(t, task.Interrupts, 1)
	require.JSONEq(t, `"i want to interrupt"`, string(task.Interrupts[0].Value))
	require.Regexp(t, `^[0-9a-f]{32}$`, task.Interrupts[0].ID)
	r = l.run(run{resume: `"whatever"`})
	require.Equal(t, "success", r.outcome.Status)
	require.Len(t, l.conversation(), 4)
}

func TestACommandUpdatesAFinishedThread(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	l.run(run{input: humanInput("foo")})
	r := l.run(run{commandUpdate: `{"keyOne":"value3","keyTwo":"value4"}`})
	require.Equal(t, "success", r.outcome.Status)
	require.JSONEq(t, `"value3"`, l.value("keyOne"))
	require.JSONEq(t, `"value4"`, l.value("keyTwo"))
}

func TestAgentSharesTheUsersIDThroughTheStore(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	l.run(run{input: humanInput("foo"), configurable: map[string]json.RawMessage{"user_id": json.RawMessage(`"start_user_id"`)}})
	require.JSONEq(t, `{"id":"start_user_id"}`, l.value("sharedStateFromStoreConfig"))
	item, err := l.items.Get(t.Context(), []string{"sharedState", "data"}, "user_id")
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"start_user_id"}`, string(item.Value))
	require.NotContains(t, string(l.state(false).State.JSON()), `"sharedState":`)
}

func TestAgentChecksTheStore(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: humanInput("___check_state_value")})
	require.Equal(t, "error", r.outcome.Status)
	require.Equal(t, &agent.ErrorInfo{Name: "Error", Message: "Value is not true"}, r.outcome.Err)

	l = newLab(t, conformance.Agent())
	require.NoError(t, l.items.Put(t.Context(), []string{"inputtedState", "data"}, "my_key", json.RawMessage(`{"isTrue":true}`)))
	require.Equal(t, "success", l.run(run{input: humanInput("___check_state_value")}).outcome.Status)
}

func TestACancelledSleepTakesNoAnswer(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	clock := l.thread.Clock()
	clock.AutoAdvance = false
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan result)
	go func() { stopped <- l.runIn(ctx, run{input: humanInput("foo", `"sleep":2`)}) }()
	require.NoError(t, clock.WaitSleepers(t.Context(), 1))
	cancel()
	require.Equal(t, "interrupted", (<-stopped).outcome.Status)
	require.Equal(t, []string{"human foo"}, l.conversation())
	clock.AutoAdvance = true
	l.run(run{input: `{"messages":[{"type":"human","content":"bar","id":"human-2"}],"sleep":0}`})
	require.Equal(t, []string{"human foo", "human bar", "ai begin", "tool tool_call__begin", "ai end"}, l.conversation())
}

func TestAgentWritesToTheCustomStreamWhileItSleeps(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Agent())
	r := l.run(run{input: humanInput("should_end", `"sleep":{"steps":3,"ms":1000}`)})
	var custom []string
	for _, e := range r.events {
		if c, ok := e.Payload.(agent.Custom); ok {
			custom = append(custom, string(c.Value))
		}
	}
	require.JSONEq(t, `[{"type":"sleep","step":0},{"type":"sleep","step":1},{"type":"sleep","step":2}]`, "["+strings.Join(custom, ",")+"]")
	require.Equal(t, 3*time.Second, l.elapsed())
}

func TestAThreadCanBeRebuiltByStateUpdates(t *testing.T) {
	t.Parallel()
	a := conformance.Agent()
	original := newLab(t, a)
	r := original.run(run{input: humanInput("foo")})
	history := original.history("")

	input := string(history[len(history)-2].State.JSON())
	supersteps := [][]agent.Edit{
		{{Values: json.RawMessage(input), AsNode: "__input__"}},
		{{Values: json.RawMessage(input), AsNode: agent.Start}},
	}
	for _, e := range r.events {
		if u, ok := e.Payload.(agent.UpdatesNote); ok {
			supersteps = append(supersteps, []agent.Edit{{Values: u.Data, AsNode: u.Node}})
		}
	}
	rebuilt := newLab(t, a)
	rebuilt.edit("", supersteps)
	copies := rebuilt.history("")
	require.Len(t, copies, len(history))
	for i := range history {
		require.Equal(t, history[i].Next, copies[i].Next, "entry %d", i)
		require.JSONEq(t, string(history[i].State.JSON()), string(copies[i].State.JSON()), "entry %d", i)
	}
}

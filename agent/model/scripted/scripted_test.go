package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

var (
	_ model.Model = List{}
	_ model.Model = Deterministic{}
	_ model.Model = Script{}
)

func stream(t *testing.T, m model.Model, req model.Request) []message.Chunk {
	t.Helper()
	var all []message.Chunk
	for c, err := range m.Stream(t.Context(), req) {
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

func TestListStreamsCodePointsAndWraps(t *testing.T) {
	t.Parallel()
	m := List{Answers: []string{"é😀", "end\u2028"}, Cursors: NewCursors(), Key: "t"}
	require.Equal(t, []message.Chunk{{Text: "é"}, {Text: "😀"}}, stream(t, m, model.Request{}))
	require.Len(t, stream(t, m, model.Request{}), 4)
	require.Equal(t, "é😀", m.Next().Text())
	require.Empty(t, List{Answers: []string{"a"}, Cursors: NewCursors()}.Next().ID)

	other := m
	other.Key = "u" // another thread starts at the first answer
	require.Equal(t, "é😀", other.Next().Text())
	require.Equal(t, 3, m.Cursors.Calls("t"))
	require.Equal(t, "FakeListChatModel", m.Info().Provider)
}

func TestListIDs(t *testing.T) {
	t.Parallel()
	drawn := 0
	f := List{Answers: []string{"ab"}, Cursors: NewCursors(), NewID: func() string { drawn++; return string(rune('A' + drawn)) }}
	require.Equal(t, []message.Chunk{{ID: "B", Text: "a"}, {ID: "B", Text: "b"}}, stream(t, f, model.Request{}))
	require.Equal(t, "C", stream(t, f, model.Request{})[0].ID)

	s := StableList(NewCursors(), "", "ok")
	require.Equal(t, "stategraph-message-0", stream(t, s, model.Request{})[1].ID)
	require.Equal(t, "stategraph-message-1", stream(t, s, model.Request{})[0].ID)
	require.Equal(t, 2, s.Cursors.Calls("$"))
}

func TestListStopsWhenTheRunIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := List{Answers: []string{"abc"}, Cursors: NewCursors()}
	var got string
	var last error
	for c, err := range m.Stream(ctx, model.Request{}) {
		got += c.Text
		last = err
		cancel()
	}
	require.Equal(t, "a", got)
	require.ErrorIs(t, last, context.Canceled)
}

func TestDeterministicStreamsHalvesAndWords(t *testing.T) {
	t.Parallel()
	call := message.NewToolCall("call-weather-1", "get_weather", json.RawMessage(`{"city":"San Francisco"}`))
	first := message.NewAI("", call, message.NewToolCall("c2", "now", json.RawMessage(`1`)))
	first.ID = "call-weather-1-message"
	m := Deterministic{Answers: []message.Message{first, message.NewAI("It's 64F and  foggy.")}, Cursors: NewCursors()}

	chunks := stream(t, m, model.Request{})
	piece := func(index int, id, name, args string) message.Chunk {
		return message.Chunk{ID: first.ID, ToolCalls: []message.ToolCallChunk{{Index: index, ID: id, Name: name, Args: args}}}
	}
	require.Equal(t, []message.Chunk{
		piece(0, "call-weather-1", "get_weather", `{"city":"San`),
		piece(0, "call-weather-1", "get_weather", ` Francisco"}`),
		piece(1, "c2", "now", `1`),
	}, chunks)

	chunks = stream(t, m, model.Request{})
	var parts []string
	for _, c := range chunks {
		require.Equal(t, "deterministic-message-2", c.ID)
		parts = append(parts, c.Text)
	}
	require.Equal(t, []string{"It's ", "64F ", "and  ", "foggy."}, parts)

	require.Equal(t, first, m.Next())
}

func TestDeterministicMovesOnBehindTheLastChunk(t *testing.T) {
	t.Parallel()
	m := Deterministic{Answers: []message.Message{message.NewAI("one two")}, Cursors: NewCursors(), Key: "k"}
	for range m.Stream(t.Context(), model.Request{}) {
		require.Zero(t, m.Cursors.Calls("k"))
		break
	}
	require.Zero(t, m.Cursors.Calls("k"))
	stream(t, m, model.Request{})
	require.Equal(t, 1, m.Cursors.Calls("k"))
}

func TestHalvesCutNoCharacter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":     {""},
		"a":    {"a"},
		"ab":   {"a", "b"},
		"abc":  {"ab", "c"},
		"😀":    {"😀"},
		"a😀bc": {"a😀", "bc"},
	} {
		require.Equal(t, want, halves(in), in)
	}
}

func TestCursorsCountEachCallOnce(t *testing.T) {
	t.Parallel()
	c := NewCursors()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c.next("k")
			}
		})
	}
	wg.Wait()
	require.Equal(t, 800, c.Calls("k"))
}

func prompt(messages ...message.Message) model.Request {
	return model.Request{Messages: message.New(messages...)}
}

func TestScriptPlaysATurn(t *testing.T) {
	t.Parallel()
	s := Script{Name: "demo", Cursors: NewCursors(), IDPrefix: "demo-", Choose: Sequence(
		Turn{Reasoning: "hm, well", Text: "one two", ToolCalls: []message.ToolCall{message.NewToolCall("c", "f", json.RawMessage(`{"a":1}`))}, Usage: &message.Usage{TotalTokens: 5}},
		Turn{ID: "own", Tokens: []string{"x", "y"}, FinishReason: "length"},
		Turn{},
	)}
	m, err := model.Collect(t.Context(), s, model.Request{})
	require.NoError(t, err)
	require.Equal(t, message.Message{
		Type: message.AI, ID: "demo-0",
		Content:       json.RawMessage(`[{"type":"reasoning","reasoning":"hm, well"},{"type":"text","text":"one two"}]`),
		ToolCalls:     []message.ToolCall{message.NewToolCall("c", "f", json.RawMessage(`{"a":1}`))},
		UsageMetadata: &message.Usage{TotalTokens: 5},
	}, m)
	require.Equal(t, []message.Chunk{{ID: "own", Text: "x"}, {ID: "own", Text: "y", FinishReason: "length"}}, stream(t, s, model.Request{}))
	require.Equal(t, []message.Chunk{{ID: "demo-2", FinishReason: "stop"}}, stream(t, s, model.Request{}))
	require.Equal(t, "tool_use", CallTool("c", "f", `{}`).chunks()[1].FinishReason)
	require.Equal(t, "demo", s.Info().Name)
}

func TestScriptWithoutCursorsCountsTheTurnsAnswers(t *testing.T) {
	t.Parallel()
	s := Script{Choose: Sequence(CallTool("c", "f", `{}`), Say("done"))}
	human, tool := message.NewHuman("go"), message.NewTool("c", "f", "r")
	call := message.NewAI("", message.NewToolCall("c", "f", json.RawMessage(`{}`)))
	for _, tc := range []struct {
		req  model.Request
		want string
	}{
		{prompt(human), ""},
		{prompt(human, call, tool), "done"},
		{prompt(human, call, tool, message.NewAI("done"), human), ""},
	} {
		m, err := model.Collect(t.Context(), s, tc.req)
		require.NoError(t, err)
		require.Equal(t, tc.want, m.Text())
	}
}

func TestMatchFollowsTheNewestHumanMessage(t *testing.T) {
	t.Parallel()
	s := Script{Choose: Match(Rule{Contains: "refund", Say: Always(Say("R"))}, Rule{Contains: "PAY", Say: Always(Say("P"))})}
	m, err := model.Collect(t.Context(), s, prompt(message.NewHuman("refund"), message.NewAI("x"), message.NewHuman("please pay")))
	require.NoError(t, err)
	require.Equal(t, "P", m.Text())
	_, err = model.Collect(t.Context(), s, prompt(message.NewHuman("hello")))
	require.ErrorContains(t, err, `no rule for "hello"`)
	require.Empty(t, Call{}.LastHuman())
}

func TestTurnFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for after, want := range map[int]string{0: "", 1: "a ", 9: "a b"} {
		var got string
		var last error
		for c, err := range (Script{Choose: Always(Turn{Text: "a b", Err: boom, FailAfter: after})}).Stream(t.Context(), model.Request{}) {
			got, last = got+c.Text, err
		}
		require.Equal(t, want, got)
		require.ErrorIs(t, last, boom)
	}
}

// virtualClock moves only when someone sleeps.
type virtualClock struct{ now time.Time }

func (c *virtualClock) Now() time.Time { return c.now }
func (c *virtualClock) Sleep(d time.Duration) error {
	c.now = c.now.Add(d)
	return nil
}

func TestTurnKeepsItsSchedule(t *testing.T) {
	t.Parallel()
	clock := &virtualClock{}
	s := Script{Choose: Always(Turn{Tokens: []string{"a", "b", "c", "d"}, Delay: time.Second, Interval: 10 * time.Millisecond})}
	var at []time.Duration
	for range s.Stream(model.WithClock(t.Context(), clock), model.Request{}) {
		at = append(at, clock.now.Sub(time.Time{}))
		if len(at) == 2 {
			clock.now = clock.now.Add(15 * time.Millisecond) // a slow listener makes one chunk late, not all
		}
	}
	require.Equal(t, []time.Duration{1000, 1010, 1025, 1030}, []time.Duration{
		at[0] / time.Millisecond, at[1] / time.Millisecond, at[2] / time.Millisecond, at[3] / time.Millisecond,
	})
}

func TestScriptStopsWhenTheListenerHasEnough(t *testing.T) {
	t.Parallel()
	n := 0
	for _, err := range (Script{Choose: Always(Say("a b c"))}).Stream(t.Context(), model.Request{}) {
		require.NoError(t, err)
		if n++; n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
}

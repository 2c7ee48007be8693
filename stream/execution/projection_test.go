package execution_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/stream/execution"
	"github.com/parley-dev/parley/thread"
)

// play folds events behind chunk number after, and returns the chunks with their ids.
func play(t *testing.T, after int64, events ...agent.Event) (list []execution.Chunk, ids []string) {
	t.Helper()
	p := execution.New(thread.Run{ID: "run-2", ExecutionID: "run-1"})
	p.Skip(after)
	for i, e := range events {
		require.False(t, p.Finished())
		require.Empty(t, p.NeedsState(thread.Entry{Event: e}), "the events hold the state")
		for _, f := range p.Project(thread.Entry{Pos: int64(i + 1), Event: e}, nil) {
			lines := strings.Split(string(f.Wire), "\n")
			require.Len(t, lines, 4, "data, id, and the end: %q", f.Wire)
			var c execution.Chunk
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines[0], "data: ")), &c))
			list, ids = append(list, c), append(ids, strings.TrimPrefix(lines[1], "id: "))
			require.Equal(t, "run-1", c.ExecutionID)
			require.NotNil(t, c.Metadata)
			require.EqualValues(t, i+1, f.Pos)
			require.Equal(t, lines[0]+"\n\n", string(f.WithoutID(nil)))
		}
	}
	return list, ids
}

func TestChunks(t *testing.T) {
	t.Parallel()
	start := agent.Event{Kind: agent.RunStarted, Payload: agent.RunStart{Attempt: 1}}
	ai := func(id string) agent.Event {
		return agent.Event{Kind: agent.MessageStarted, NS: "model:t1", Payload: agent.MessageStart{ID: id, Type: message.AI, Streamed: true}}
	}
	text := func(id, s string) agent.Event {
		return agent.Event{Kind: agent.BlockDelta, NS: "model:t1", Payload: agent.Delta{ID: id, Type: "text", Text: s}}
	}
	done := agent.Event{Kind: agent.RunFinished, Payload: agent.RunFinish{Status: "success"}}
	for name, c := range map[string]struct {
		events []agent.Event
		want   []string
	}{
		"only what a model says in words is text": {[]agent.Event{
			start, {Kind: agent.MessageStarted, Payload: agent.MessageStart{ID: "h", Type: message.Human}}, text("h", "never"), ai("a"),
			{Kind: agent.BlockDelta, Payload: agent.Delta{ID: "a", Type: "reasoning", Text: "hm"}},
			{Kind: agent.BlockDelta, Payload: agent.Delta{ID: "a", Type: "tool_call", Text: "{}"}}, text("a", "<b>\n"), text("x", "unknown"), done,
		}, []string{"text <b>\n", "completed "}},
		"a second attempt voids the first": {[]agent.Event{
			start, ai("a"), text("a", "wro"), {Kind: agent.MessageReset, Payload: agent.MessageRef{ID: "a"}}, ai("a"), text("a", "right"), done,
		}, []string{"text wro", "text ", "text right", "completed "}},
		"the response is the last state's": {[]agent.Event{
			start, {Kind: agent.ValuesEmitted, Payload: &agent.ValuesNote{Inline: json.RawMessage(`{"messages":[{"type":"human","content":"q"},{"type":"ai","content":"a"}]}`)}}, done,
		}, []string{"completed a"}},
		"nested states don't count": {[]agent.Event{
			start, {Kind: agent.ValuesEmitted, NS: "sub:t", Payload: &agent.ValuesNote{Inline: json.RawMessage(`{"messages":[{"type":"ai","content":"a"}]}`)}}, done,
		}, []string{"completed "}},
		"tools": {[]agent.Event{
			start, {Kind: agent.ToolStarted, Payload: agent.ToolNote{CallID: "c", Name: "pay", Input: `{"to":"Ann"}`}},
			{Kind: agent.ToolOutput, Payload: agent.ToolNote{CallID: "c", Name: "pay", Delta: json.RawMessage(`"half"`)}},
			{Kind: agent.ToolFinished, Payload: agent.ToolNote{CallID: "c", Name: "pay", Output: message.NewTool("c", "pay", "paid").AppendJSON(nil)}},
			{Kind: agent.ToolStarted, Payload: agent.ToolNote{CallID: "d", Name: "pay", Input: `not JSON`}},
			{Kind: agent.ToolFailed, Payload: agent.ToolNote{CallID: "d", Name: "pay", Error: "no money"}}, done,
		}, []string{"tool pay", "tool pay", "tool paid", "tool pay", "tool no money", "completed "}},
		"questions, each once": {[]agent.Event{
			start, {Kind: agent.InterruptRaised, Payload: agent.InterruptInfo{ID: "i", Value: json.RawMessage(`{"reason":"why","x":1}`)}},
			{Kind: agent.InterruptBubbled, Payload: agent.InterruptInfo{ID: "i", Value: json.RawMessage(`{"reason":"why","x":1}`)}},
			{Kind: agent.InterruptRaised, Payload: agent.InterruptInfo{ID: "i", Value: json.RawMessage(`{"reason":"why","x":1}`)}},
			{Kind: agent.RunFinished, Payload: agent.RunFinish{Status: "success", Suspended: true}},
		}, []string{"suspended why"}},
		"a failure": {[]agent.Event{
			start, {Kind: agent.RunFinished, Payload: agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Name: "E", Message: "boom"}}},
		}, []string{"error boom"}},
		"a cancel": {[]agent.Event{
			start, {Kind: agent.RunFinished, Payload: agent.RunFinish{Status: "interrupted", Cancel: "interrupt"}},
		}, []string{"error " + thread.CancelledText}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, ids := play(t, -1, c.events...)
			var got []string
			for i, chunk := range list {
				got = append(got, chunk.Type+" "+chunk.Content)
				run, n, ok := execution.ParseID(ids[i])
				require.True(t, ok)
				require.Equal(t, "run-2", run)
				require.EqualValues(t, i, n)
			}
			require.Equal(t, c.want, got)
			for after := range list { // wherever a client left off, the rest is the same
				rest, restIDs := play(t, int64(after), c.events...)
				require.Equal(t, append([]execution.Chunk{}, list[after+1:]...), append([]execution.Chunk{}, rest...))
				require.Equal(t, append([]string{}, ids[after+1:]...), append([]string{}, restIDs...))
			}
		})
	}
}

// Decisions 2: what a dead worker told and never stored has numbers that are not given again, so
// that a client that goes on behind them misses nothing.
func TestChunksOfARecoveredRunBeginBehindTheReservedNumbers(t *testing.T) {
	t.Parallel()
	said := func(id, s string) []agent.Event {
		return []agent.Event{
			{Kind: agent.MessageStarted, Payload: agent.MessageStart{ID: id, Type: message.AI, Streamed: true}},
			{Kind: agent.BlockDelta, Payload: agent.Delta{ID: id, Type: "text", Text: s}},
		}
	}
	begun := append([]agent.Event{{Kind: agent.RunStarted, Payload: agent.RunStart{Attempt: 1}}}, said("a", "one")...)
	again := append([]agent.Event{{Kind: agent.RunStarted, Payload: agent.RunStart{Attempt: 2, FrameBase: 1000}}}, said("b", "two")...)
	for _, after := range []int64{0, 1, 7} { // told by the dead worker
		list, ids := play(t, after, append(slices.Clone(begun), again...)...)
		require.Len(t, list, 1)
		require.Equal(t, "two", list[0].Content)
		require.Equal(t, execution.ID("run-2", 1000), ids[0])
	}
	_, ids := play(t, -1, again...)
	require.Equal(t, []string{execution.ID("run-2", 1000)}, ids, "although its beginning is lost")
}

func TestChunkIDs(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "7", ":7", "run:", "run:x", "run:-1", "run:1:2"} {
		_, _, ok := execution.ParseID(bad)
		require.False(t, ok, bad)
	}
	run, n, ok := execution.ParseID(" " + execution.ID("r", 12) + " ")
	require.True(t, ok)
	require.Equal(t, "r", run)
	require.EqualValues(t, 12, n)
}

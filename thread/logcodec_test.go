package thread_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// drawEntries makes a batch with rising positions: deltas mostly, as in real logs.
func drawEntries(t *rapid.T) []thread.Entry {
	pos, seq, at := rapid.Int64Range(0, 1<<35).Draw(t, "pos"), rapid.Int64Range(0, 1<<35).Draw(t, "seq"), int64(0)
	ns := rapid.SampledFrom([]string{"", "a:1", "a:1|b:2"})
	text := rapid.String()
	var list []thread.Entry
	for range rapid.IntRange(0, 20).Draw(t, "n") {
		pos += rapid.Int64Range(1, 1<<21).Draw(t, "step")
		at += rapid.Int64Range(-5, 1<<40).Draw(t, "at")
		e := thread.Entry{Pos: pos, RunID: "r", Event: agent.Event{At: at, NS: ns.Draw(t, "ns")}}
		if rapid.Bool().Draw(t, "numbered") {
			seq += rapid.Int64Range(1, 9).Draw(t, "seq step")
			e.Seq = seq
		}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			e.Event.Kind = agent.BreakpointHit
		case 1:
			e.Event.Kind, e.Event.Payload = agent.ToolFailed, agent.ToolNote{CallID: "c", Name: "t", Error: text.Draw(t, "error")}
		default:
			e.Event.Kind = agent.BlockDelta
			e.Event.Payload = agent.Delta{
				ID: rapid.SampledFrom([]string{"m", "n", ""}).Draw(t, "id"), Index: rapid.IntRange(0, 2).Draw(t, "index"),
				Type: rapid.SampledFrom([]string{"text", "tool_call"}).Draw(t, "type"), Text: text.Draw(t, "text"),
				CallID: rapid.SampledFrom([]string{"", "c"}).Draw(t, "call"), CallIndex: rapid.IntRange(0, 1).Draw(t, "call index"),
			}
		}
		list = append(list, e)
	}
	return list
}

func TestStoredEntriesReadBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawEntries(t)
		b, err := thread.AppendEntries(nil, want)
		require.NoError(t, err)
		got, err := thread.DecodeEntries(nil, b, "r", 0)
		require.NoError(t, err)
		require.Equal(t, want, got)
		if len(want) == 0 {
			return
		}
		i := rapid.IntRange(0, len(want)-1).Draw(t, "after")
		got, err = thread.DecodeEntries(nil, b, "r", want[i].Pos)
		require.NoError(t, err)
		require.Equal(t, append([]thread.Entry(nil), want[i+1:]...), got)
	})
}

func TestDamagedEntriesAreAnErrorNeverAPanic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, err := thread.AppendEntries(nil, drawEntries(t))
		require.NoError(t, err)
		switch i := rapid.IntRange(0, len(b)-1).Draw(t, "at"); {
		case rapid.Bool().Draw(t, "cut"):
			b = b[:i]
		default:
			b[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		}
		_, _ = thread.DecodeEntries(nil, b, "r", 0) // what is damaged may still be readable
	})
	for _, b := range [][]byte{nil, {}, {9}, {1, 0xff}, {1, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0}} {
		_, err := thread.DecodeEntries(nil, b, "r", 0)
		require.Error(t, err, "%x", b)
	}
}

func TestPositionsThatDoNotRiseAreRefused(t *testing.T) {
	t.Parallel()
	e := thread.Entry{Pos: 2, Event: agent.Event{Kind: agent.BreakpointHit}}
	_, err := thread.AppendEntries(nil, []thread.Entry{e, e})
	require.Error(t, err)
}

// A log outlives the program that wrote it: these bytes must always be read.
func TestOldEntriesStayReadable(t *testing.T) {
	t.Parallel()
	want := []thread.Entry{
		{Pos: 7, Seq: 5, RunID: "r", Event: agent.Event{Kind: agent.RunStarted, At: 1000, Payload: agent.RunStart{GraphID: "g", AssistantID: "a", Attempt: 1}}},
		{Pos: 8, Seq: 6, RunID: "r", Event: agent.Event{Kind: agent.BlockDelta, At: 1001, NS: "n:1", Payload: agent.Delta{ID: "m", Type: "text", Text: "Hel"}}},
		{Pos: 9, Seq: 7, RunID: "r", Event: agent.Event{Kind: agent.BlockDelta, At: 1002, NS: "n:1", Payload: agent.Delta{ID: "m", Type: "text", Text: "lo"}}},
		{Pos: 10, RunID: "r", Event: agent.Event{Kind: agent.BreakpointHit, At: 1002}},
		{Pos: 11, Seq: 8, RunID: "r", Event: agent.Event{Kind: "later.kind", At: 1003}},
	}
	const stored = "0123070ad00f2f7b2267726170685f6964223a2267222c22617373697374616e745f6964223a2261222c22617474656d7074223a317d11010202036e3a31016d0004746578740348656c17010202026c6ff00101000000030102020a6c617465722e6b696e6400"
	b, err := hex.DecodeString(stored)
	require.NoError(t, err)
	got, err := thread.DecodeEntries(nil, b, "r", 0)
	require.NoError(t, err)
	require.Equal(t, want, got)
	again, err := thread.AppendEntries(nil, want)
	require.NoError(t, err)
	require.Equal(t, stored, hex.EncodeToString(again))
}

func TestATokenTakesAFewBytes(t *testing.T) {
	t.Parallel()
	var list []thread.Entry
	for i := range int64(200) {
		list = append(list, thread.Entry{Pos: i + 1, Seq: i + 1, Event: agent.Event{
			Kind: agent.BlockDelta, At: 1_700_000_000_000 + i, NS: "echo:8c3cf5c2-4d7e-4b68-a3a9-6f0f5a3c9f10",
			Payload: agent.Delta{ID: "run-8c3cf5c2", Type: "text", Text: "0000 "},
		}})
	}
	b, err := thread.AppendEntries(nil, list)
	require.NoError(t, err)
	require.Less(t, len(b), 200*11)
}

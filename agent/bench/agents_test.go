package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/bench"
)

func threadOf(t testing.TB, id string) *agenttest.Thread {
	t.Helper()
	for _, a := range bench.Agents() {
		if a.Name() == id {
			g, err := a.Graph(t.Context(), agent.Config{})
			require.NoError(t, err)
			thread := agenttest.New(g)
			thread.Clock().AutoAdvance = true
			return thread
		}
	}
	require.Fail(t, "no agent "+id)
	return nil
}

func prompt(text string) map[string]any {
	return map[string]any{"messages": []any{map[string]string{"type": "human", "content": text}}}
}

func texts(events []agent.Event) (pieces, ids []string) {
	for _, e := range events {
		if d, ok := e.Payload.(agent.Delta); ok {
			pieces, ids = append(pieces, d.Text), append(ids, d.ID)
		}
	}
	return pieces, ids
}

func TestTheSetHasTheBenchmarksIDs(t *testing.T) {
	t.Parallel()
	var names []string
	for _, a := range bench.Agents() {
		names = append(names, a.Name())
	}
	require.Equal(t, []string{"echo_stream", "long_thread", "fanout", "approval"}, names)
}

// A run of n tokens has one values event with the input, n chunks and one values event with the answer.
func TestEveryTokenIsAChunkOfOneMessage(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"echo_stream", "long_thread", "fanout"} {
		thread := threadOf(t, id)
		r, err := thread.Run(t.Context(), prompt("tokens=37"))
		require.NoError(t, err)
		require.Equal(t, "success", r.Status)
		pieces, ids := texts(r.Events)
		require.Len(t, pieces, 37)
		require.Equal(t, "0000 ", pieces[0])
		require.Equal(t, "0010 ", pieces[36])
		states := 0
		for _, e := range r.Events {
			if e.Kind == agent.ValuesEmitted {
				states++
			}
		}
		require.Equal(t, 2, states)
		s, err := thread.State(t.Context(), "")
		require.NoError(t, err)
		last, _ := s.State.Messages()["messages"].Last()
		require.Equal(t, strings.Join(pieces, ""), last.Text())
		for _, id := range ids {
			require.Equal(t, last.ID, id)
		}
		require.Equal(t, []string{"messages"}, s.State.Keys(), "note is absent until written")
	}
}

func TestTokensComeOnASchedule(t *testing.T) {
	t.Parallel()
	thread := threadOf(t, "fanout")
	clock := thread.Clock()
	begin := clock.Now()
	var at []time.Duration
	thread.OnEmit = func(e agent.Event) {
		if e.Kind == agent.BlockDelta {
			at = append(at, clock.Now().Sub(begin))
			if len(at) == 2 {
				clock.Advance(25 * time.Millisecond) // a stall doesn't move the rest
			}
		}
	}
	r, err := thread.Run(t.Context(), prompt("tokens=5 delay_us=10000 start_ms=100 stamp=1"))
	require.NoError(t, err)
	ms := time.Millisecond
	require.Equal(t, []time.Duration{100 * ms, 110 * ms, 135 * ms, 135 * ms, 140 * ms}, at)
	pieces, _ := texts(r.Events)
	require.Equal(t, fmt.Sprintf("0001@%d ", begin.Add(110*ms).UnixMicro()), pieces[1])
}

func TestApprovalTransfersWhatWasApproved(t *testing.T) {
	t.Parallel()
	for answer, content := range map[string]string{"approve": "sent 100 to acme", "reject": "rejected"} {
		thread := threadOf(t, "approval")
		r, err := thread.Run(t.Context(), prompt("tokens=2"))
		require.NoError(t, err)
		require.True(t, r.Suspended)
		require.JSONEq(t, `{
			"actionRequests": [{"name": "transfer", "args": {"to": "acme", "amount": 100}, "description": "May I run transfer?"}],
			"reviewConfigs": [{"actionName": "transfer", "allowedDecisions": ["approve", "reject"]}]
		}`, string(thread.Pending()[0].Value))
		r, err = thread.Command(t.Context(), agent.Command{
			Resume: json.RawMessage(`{"decisions":[{"type":"` + answer + `"}]}`), HasResume: true,
			Update: []agent.Write{{Channel: "note", Value: json.RawMessage(`"n1"`)}},
		})
		require.NoError(t, err)
		require.Equal(t, "success", r.Status)
		s, err := thread.State(t.Context(), "")
		require.NoError(t, err)
		messages := s.State.Messages()["messages"]
		require.Equal(t, 4, messages.Len())
		require.Equal(t, "call_1", messages.At(1).ToolCalls[0].ID)
		tool := messages.At(2)
		require.Equal(t, []string{content, "call_1", "transfer"}, []string{tool.Text(), tool.ToolCallID, tool.Name})
		require.Equal(t, "0000 0001 ", messages.At(3).Text())
		note, _ := s.State.Value("note")
		require.JSONEq(t, `"n1"`, string(note.JSON))
	}
}

// discard is a recorder that keeps nothing, so that what is measured is the agent and the runtime.
type discard struct{}

func (discard) Emit(...agent.Event)                        {}
func (discard) Commit(context.Context, agent.Commit) error { return nil }

// BenchmarkTokens shows what a token costs: the event, and nothing of the agent's own.
func BenchmarkTokens(b *testing.B) {
	thread := threadOf(b, "echo_stream")
	exec := thread.Execution()
	exec.Recorder = discard{}
	exec.Input = json.RawMessage(fmt.Sprintf(`{"messages":[{"type":"human","id":"h","content":"tokens=%d"}]}`, b.N))
	b.ReportAllocs()
	b.ResetTimer()
	out, err := thread.Start(b.Context(), exec)
	require.NoError(b, err)
	require.Equal(b, "success", out.Status)
}

// Not parallel: it counts the allocations of the process.
func TestATokenAllocatesNothingButItsEvent(t *testing.T) {
	thread := threadOf(t, "echo_stream")
	allocations := func(tokens int) float64 {
		return testing.AllocsPerRun(5, func() {
			exec := thread.Execution()
			exec.Recorder = discard{}
			exec.Input = json.RawMessage(fmt.Sprintf(`{"messages":[{"type":"human","id":"h","content":"tokens=%d"}]}`, tokens))
			_, err := thread.Start(t.Context(), exec)
			require.NoError(t, err)
		})
	}
	const more = 10_000
	perToken := (allocations(100+more) - allocations(100)) / more
	require.Less(t, perToken, 2.1, "the event's payload and the list it is emitted in")
}

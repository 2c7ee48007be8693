package thread_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func TestAnEditIsAnnouncedBetweenRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	b.run(input(id, "echo", `{"note":"x"}`))
	before := b.events.of(id)
	last := before[len(before)-1]
	_, cp, _, err := b.svc.UpdateState(ctx, id, thread.StateUpdate{Values: []byte(`{"log":["edited"]}`), AsNode: "say"})
	require.NoError(t, err)

	told := b.events.of(id)[len(before):]
	require.Len(t, told, 2)
	for i, e := range told {
		require.Empty(t, e.RunID)
		require.Equal(t, last.Pos+int64(i)+1, e.Pos)
		require.Equal(t, last.Seq+int64(i)+1, e.Seq)
	}
	require.Equal(t, agent.CheckpointAnnounced, told[0].Event.Kind)
	note, ok := told[0].Event.Payload.(agent.CheckpointNote)
	require.True(t, ok)
	require.Equal(t, cp, note.ID)
	require.Equal(t, agent.SourceUpdate, note.Source)
	require.NotEmpty(t, note.ParentID)
	require.Equal(t, agent.ValuesEmitted, told[1].Event.Kind)
	require.Equal(t, cp, agent.StateReference(told[1].Event.Payload))
	stored, err := b.store.ReadLog(ctx, id, last.Pos, 10)
	require.NoError(t, err)
	require.Equal(t, told, stored, "what is published is stored")
	state, err := b.svc.Materialize(ctx, id, "", cp)
	require.NoError(t, err)
	require.JSONEq(t, b.values(id), string(state.JSON()))

	_, _, _, err = b.svc.UpdateState(ctx, id, thread.StateUpdate{Values: []byte(`{}`), AsNode: "nowhere"})
	require.Error(t, err)
	require.Len(t, b.events.of(id), len(before)+2, "a refused edit tells nothing")
	next := b.run(input(id, "echo", `{"note":"y"}`))
	after := b.events.of(id)[len(before)+2:]
	require.Equal(t, next.ID, after[0].RunID)
	require.Equal(t, told[1].Seq+1, after[0].Seq)
}

func TestAGivenHistoryIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, err := b.svc.CreateThread(context.Background(), thread.CreateThread{
		Metadata: thread.Metadata{"graph_id": []byte(`"echo"`)},
		Supersteps: [][]agent.Edit{
			{{Values: []byte(`{"note":"one"}`), AsNode: "__input__"}},
			{{Values: []byte(`{"log":["two"]}`), AsNode: "say"}},
		},
	})
	require.NoError(t, err)
	told := b.events.of(made.ID)
	require.Len(t, told, 2, "the state that it leaves")
	require.EqualValues(t, 1, told[0].Seq)
	require.Equal(t, made.Head, agent.StateReference(told[1].Event.Payload))
}

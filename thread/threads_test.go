package thread_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func TestThreadIsCreatedOnceOrFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	c := thread.CreateThread{ID: "22222222-2222-2222-2222-222222222222", Metadata: thread.Metadata{"a": []byte(`1`)}}
	th, err := b.svc.CreateThread(ctx, c)
	require.NoError(t, err)
	require.Equal(t, thread.Idle, th.Status)
	_, err = b.svc.CreateThread(ctx, c)
	require.ErrorIs(t, err, thread.ErrExists)
	c.DoNothing, c.Metadata = true, thread.Metadata{"a": []byte(`2`)}
	again, err := b.svc.CreateThread(ctx, c)
	require.NoError(t, err)
	require.JSONEq(t, `1`, string(again.Metadata["a"]))
	for _, bad := range []thread.CreateThread{{ID: "no-uuid"}, {ID: c.ID + "0"}, {TTLMinutes: 1, TTLStrategy: "burn"}} {
		_, err = b.svc.CreateThread(ctx, bad)
		var invalid *thread.InvalidInputError
		require.ErrorAs(t, err, &invalid)
	}
}

func TestHistoryGivenAtCreationIsRecreated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	b.run(input(id, "straight", `{"note":"n"}`))
	original := b.history(id)

	edit := func(node, values string) []agent.Edit {
		return []agent.Edit{{AsNode: node, Values: json.RawMessage(values)}}
	}
	c := thread.CreateThread{
		Metadata:   thread.Metadata{"graph_id": []byte(`"straight"`)},
		Supersteps: [][]agent.Edit{edit("__input__", `{"note":"n"}`), edit("__start__", `{"note":"n"}`), edit("one", `{"log":["one"]}`), edit("two", `{"log":["two"]}`)},
	}
	th, err := b.svc.CreateThread(ctx, c)
	require.NoError(t, err)
	copied := b.history(th.ID)
	require.Len(t, copied, len(original))
	for i := range original {
		require.JSONEq(t, string(original[i].State.JSON()), string(copied[i].State.JSON()))
		require.Equal(t, original[i].Next, copied[i].Next)
	}
	require.True(t, b.get(th.ID).Ended, "values are shown after a state update")

	c.Metadata = nil
	_, err = b.svc.CreateThread(ctx, c)
	var none *thread.NoGraphError
	require.ErrorAs(t, err, &none)
	_, total, err := b.svc.SearchThreads(ctx, thread.ThreadQuery{}, nil)
	require.NoError(t, err)
	require.Equal(t, 2, total, "nothing was created that can't be filled")
}

func TestViewShowsValuesAndQuestionsOfTheHead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	fresh, err := b.svc.ViewThread(ctx, b.get(b.thread()))
	require.NoError(t, err)
	require.Nil(t, fresh.Values)
	require.Nil(t, fresh.Interrupts)

	id, _ := b.suspend("approve")
	view, err := b.svc.ViewThread(ctx, b.get(id))
	require.NoError(t, err)
	require.JSONEq(t, b.values(id), string(view.Values))
	task := b.state(id).Tasks[0].ID
	require.Equal(t, []string{task}, view.TaskOrder)
	require.Equal(t, b.question(id), view.Interrupts[task][0].ID)

	b.run(resume(id, "approve", `"yes"`))
	view, err = b.svc.ViewThread(ctx, b.get(id))
	require.NoError(t, err)
	require.NotNil(t, view.Interrupts)
	require.Empty(t, view.Interrupts)
}

func TestSearchByValuesFiltersSlicesAndCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	b.thread() // one without values never matches
	for i := range 5 {
		id := b.thread()
		b.run(input(id, "echo", fmt.Sprintf(`{"note":"%s"}`, []string{"odd", "even"}[i%2])))
	}
	found, count, err := b.svc.SearchThreads(ctx, thread.ThreadQuery{Limit: 2, Offset: 2}, thread.Metadata{"note": []byte(`"odd"`)})
	require.NoError(t, err)
	require.Equal(t, 3, count)
	require.Len(t, found, 1)
	_, count, err = b.svc.SearchThreads(ctx, thread.ThreadQuery{CountOnly: true}, thread.Metadata{"note": []byte(`"even"`)})
	require.NoError(t, err)
	require.Equal(t, 2, count)
	_, count, err = b.svc.SearchThreads(ctx, thread.ThreadQuery{}, thread.Metadata{"note": []byte(`"neither"`)})
	require.NoError(t, err)
	require.Zero(t, count)
}

func TestPruneRemovesThreadsOrAllButTheirNewestCheckpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	one, two := b.thread(), b.thread()
	for _, id := range []string{one, two} {
		b.run(input(id, "echo", `{"note":"kept"}`))
	}
	n, err := b.svc.PruneThreads(ctx, []string{one, "00000000-0000-0000-0000-000000000001"}, thread.TTLKeepLatest)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Len(t, b.history(one), 1)
	require.Contains(t, b.values(one), "kept")
	for _, e := range b.log(one) {
		require.True(t, e.Snapshot, "what the log told of is gone; it tells of what is left")
	}
	n, err = b.svc.PruneThreads(ctx, []string{one, two}, thread.TTLDelete)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = b.svc.GetThread(ctx, two)
	require.ErrorIs(t, err, thread.ErrNotFound)
	_, err = b.svc.PruneThreads(ctx, nil, "burn")
	require.Error(t, err)
}

func TestExpiredThreadsGoOrKeepTheirNewestCheckpoint(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock))
	ctx := context.Background()
	create := func(strategy string) string {
		th, err := b.svc.CreateThread(ctx, thread.CreateThread{TTLMinutes: 10, TTLStrategy: strategy})
		require.NoError(t, err)
		b.run(input(th.ID, "echo", `{"note":"x"}`))
		return th.ID
	}
	gone, kept := create(""), create(thread.TTLKeepLatest)
	clock.advance(9 * time.Minute)
	b.svc.Sweep(ctx)
	require.Len(t, b.history(gone), 3)
	clock.advance(2 * time.Minute)
	b.svc.Sweep(ctx)
	_, err := b.svc.GetThread(ctx, gone)
	require.ErrorIs(t, err, thread.ErrNotFound)
	require.Len(t, b.history(kept), 1)
	clock.advance(time.Hour)
	b.svc.Sweep(ctx)
	require.Len(t, b.history(kept), 1)
}

// D-06
func TestLogOfASuspendedExecutionIsKeptAsLongAsItWaits(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock), with(func(o *thread.Options) { o.LogRetention = time.Hour }))
	ctx := context.Background()
	done, waiting := b.thread(), ""
	b.run(input(done, "echo", `{}`))
	waiting, _ = b.suspend("approve")
	clock.advance(48 * time.Hour)
	b.svc.Sweep(ctx)
	require.True(t, b.log(done)[0].Snapshot, "ended long ago")
	require.EqualValues(t, 1, must(b.store.LogStart(ctx, waiting)))
	b.run(resume(waiting, "approve", `"yes"`))
	clock.advance(48 * time.Hour)
	b.svc.Sweep(ctx)
	require.True(t, b.log(waiting)[0].Snapshot)
}

func TestStateOfAnEmptyThreadIsEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	s := b.state(id)
	require.Empty(t, s.CheckpointID)
	require.JSONEq(t, `{}`, string(s.State.JSON()))
	require.Empty(t, b.history(id))
	_, err := b.svc.State(ctx, "00000000-0000-0000-0000-000000000001", thread.StateQuery{})
	require.ErrorIs(t, err, thread.ErrNotFound)
	b.run(input(id, "echo", `{}`))
	s, err = b.svc.State(ctx, id, thread.StateQuery{CheckpointID: "00000000-0000-0000-0000-000000000001"})
	require.NoError(t, err)
	require.Empty(t, s.CheckpointID)
}

func TestHistoryIsBoundedAndFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	one := input(id, "echo", `{"note":"1"}`)
	one.Metadata = thread.Metadata{"mark": []byte(`"one"`)}
	b.run(one)
	b.run(input(id, "echo", `{"note":"2"}`))
	all := b.history(id)
	require.Len(t, all, 6)
	for i, q := range []struct {
		q thread.HistoryQuery
		n int
	}{
		{thread.HistoryQuery{}, 0},
		{thread.HistoryQuery{Limit: 2}, 2},
		{thread.HistoryQuery{Limit: 10, Before: all[3].CheckpointID}, 2},
		{thread.HistoryQuery{Limit: 10, Metadata: one.Metadata}, 3},
		{thread.HistoryQuery{Limit: 10, CheckpointID: all[4].CheckpointID}, 1},
	} {
		got, err := b.svc.History(ctx, id, q.q)
		require.NoError(t, err)
		require.Len(t, got, q.n, i)
	}
}

func TestUpdateStateAppliesReducersAndFollowsEdges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id, _ := b.suspend("approve")
	before := b.history(id)
	ns, cp, m, err := b.svc.UpdateState(ctx, id, thread.StateUpdate{Values: []byte(`{"log":["edited"]}`), AsNode: "prepare", Metadata: thread.Metadata{"who": []byte(`"jo"`)}})
	require.NoError(t, err)
	require.Empty(t, ns)
	require.Nil(t, m)
	state := b.state(id)
	require.Equal(t, cp, state.CheckpointID)
	require.Equal(t, before[0].CheckpointID, state.ParentID)
	require.Equal(t, []string{"review"}, state.Next)
	require.JSONEq(t, `"update"`, string(state.Metadata["source"]))
	require.JSONEq(t, `"jo"`, string(state.Metadata["who"]))
	require.Contains(t, string(state.State.JSON()), `"log":["prepared","edited"]`)
	require.Empty(t, b.pending(id), "the question of the replaced checkpoint is superseded")
	require.Equal(t, thread.Interrupted, b.get(id).Status, "status doesn't change")

	fork, err := b.svc.History(ctx, id, thread.HistoryQuery{Limit: 10})
	require.NoError(t, err)
	_, _, _, err = b.svc.UpdateState(ctx, id, thread.StateUpdate{Values: []byte(`{"log":["fork"]}`), AsNode: "prepare", CheckpointID: fork[2].CheckpointID})
	require.NoError(t, err)
	require.Equal(t, fork[2].CheckpointID, b.state(id).ParentID)
}

func TestUpdateStateIsRefusedWithoutGraphOrWhileARunIsActive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	u := thread.StateUpdate{Values: []byte(`{"note":"x"}`)}
	_, _, _, err := b.svc.UpdateState(ctx, id, u)
	var none *thread.NoGraphError
	require.ErrorAs(t, err, &none)
	run := b.begin(input(id, "gated", `{}`))
	_, _, _, err = b.svc.UpdateState(ctx, id, u)
	require.ErrorIs(t, err, thread.ErrBusy)
	b.world.open("gate:" + id)
	b.wait(run)
	_, _, _, err = b.svc.UpdateState(ctx, id, thread.StateUpdate{Values: []byte(`{}`), AsNode: "nowhere"})
	var invalid *agent.InvalidUpdateError
	require.ErrorAs(t, err, &invalid)
}

// D-50: a question in a nested graph is answered by its id alone, in its own namespace.
func TestNestedQuestionIsAnsweredAndEditedInItsNamespace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id, _ := b.suspend("nested")
	outer := b.state(id)
	require.Equal(t, []string{"inner"}, outer.Next)
	ns := outer.Tasks[0].SubgraphNS
	inner, err := b.svc.State(ctx, id, thread.StateQuery{CheckpointNS: ns})
	require.NoError(t, err)
	require.Equal(t, []string{"ask"}, inner.Next)
	full, err := b.svc.State(ctx, id, thread.StateQuery{Subgraphs: true})
	require.NoError(t, err)
	require.Equal(t, inner.CheckpointID, full.Tasks[0].Subgraph.CheckpointID)

	got, cp, m, err := b.svc.UpdateState(ctx, id, thread.StateUpdate{Values: []byte(`{"note":"inner edit"}`), CheckpointNS: ns, AsNode: "before"})
	require.NoError(t, err)
	require.Equal(t, ns, got)
	require.Equal(t, map[string]string{"": outer.CheckpointID, ns: cp}, m)

	require.True(t, b.run(thread.StartRun{ThreadID: id, AssistantID: "nested"}).Suspended, "the edited graph asks again")
	require.Len(t, b.pending(id), 1)
	run := b.run(resume(id, "nested", `{"`+b.pending(id)[0]+`":"yes"}`))
	require.Equal(t, thread.RunSuccess, run.Status)
	require.Contains(t, b.values(id), `"answer":"yes"`)
	require.Contains(t, b.values(id), `inner edit`)
}

func TestCopyEqualsItsOriginalButForItsID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	b.run(input(id, "echo", `{"note":"x","messages":[{"type":"human","id":"m","content":"hi"}]}`))
	th, err := b.svc.CopyThread(ctx, id)
	require.NoError(t, err)
	require.Equal(t, thread.Idle, th.Status)
	original, copied := b.history(id), b.history(th.ID)
	require.Len(t, copied, len(original))
	for i := range original {
		require.Equal(t, original[i].CheckpointID, copied[i].CheckpointID)
		require.JSONEq(t, string(original[i].State.JSON()), string(copied[i].State.JSON()))
		require.JSONEq(t, `"`+th.ID+`"`, string(copied[i].Metadata["thread_id"]))
	}
	b.run(input(th.ID, "echo", `{"note":"only here"}`))
	require.Contains(t, b.values(th.ID), "only here")
	require.NotContains(t, b.values(id), "only here")
	_, err = b.svc.CopyThread(ctx, "00000000-0000-0000-0000-000000000001")
	require.ErrorIs(t, err, thread.ErrNotFound)
}

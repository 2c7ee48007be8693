package thread_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

func TestEachGraphHasASystemAssistantWithAKnownID(t *testing.T) {
	t.Parallel()
	require.Equal(t, "fe096781-5601-53d2-b2f6-0d3403f7e9ca", thread.SystemAssistantID("agent"))
	require.Equal(t, "5fb44052-6611-57fc-99b4-527b0d62f788", thread.SystemAssistantID("weather"))
	b := setup(t, with(func(o *thread.Options) {
		o.GraphDefaults = map[string]thread.GraphDefault{"echo": {Config: []byte(`{"configurable":{"model_name":"openai"}}`)}}
	}))
	ctx := context.Background()
	byGraph, err := b.svc.Assistant(ctx, "echo")
	require.NoError(t, err)
	byID, err := b.svc.Assistant(ctx, thread.SystemAssistantID("echo"))
	require.NoError(t, err)
	require.Equal(t, byGraph, byID)
	require.Equal(t, "echo", byGraph.Name)
	require.Equal(t, 1, byGraph.Version)
	require.JSONEq(t, `"system"`, string(byGraph.Metadata["created_by"]))
	require.JSONEq(t, `{"configurable":{"model_name":"openai"}}`, string(byGraph.Config))
	_, total, err := b.store.SearchAssistants(ctx, thread.AssistantQuery{})
	require.NoError(t, err)
	require.Equal(t, len(b.svc.Graphs()), total)
	id := b.thread()
	b.run(input(id, "echo", `{}`))
	require.JSONEq(t, `{"configurable":{"model_name":"openai"}}`, string(b.get(id).Config))
	require.JSONEq(t, `"openai"`, string(b.history(id)[0].Metadata["model_name"]))
}

func TestSystemAssistantFollowsItsConfigurationOverRestarts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	b.stop()
	changed := with(func(o *thread.Options) {
		o.GraphDefaults = map[string]thread.GraphDefault{"echo": {Context: []byte(`{"tone":"plain"}`)}}
	})
	next := setup(t, sharing(b), changed)
	a, err := next.svc.Assistant(ctx, "echo")
	require.NoError(t, err)
	require.JSONEq(t, `{"tone":"plain"}`, string(a.Context))
	require.Equal(t, 2, a.Version)
	next.stop()
	again := setup(t, sharing(b), changed)
	a, err = again.svc.Assistant(ctx, "echo")
	require.NoError(t, err)
	require.Equal(t, 2, a.Version, "the same configuration is no new version")
}

func TestAssistantIsCreatedPatchedAndReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	a, err := b.svc.CreateAssistant(ctx, thread.Assistant{GraphID: "echo", Metadata: thread.Metadata{"a": []byte(`1`)}}, false)
	require.NoError(t, err)
	require.Equal(t, "Untitled", a.Name)
	require.JSONEq(t, `{}`, string(a.Config))
	_, err = b.svc.CreateAssistant(ctx, thread.Assistant{ID: a.ID, GraphID: "echo"}, false)
	require.ErrorIs(t, err, thread.ErrExists)
	same, err := b.svc.CreateAssistant(ctx, thread.Assistant{ID: a.ID, GraphID: "echo", Name: "other"}, true)
	require.NoError(t, err)
	require.Equal(t, "Untitled", same.Name)

	name := "named"
	two, err := b.svc.PatchAssistant(ctx, a.ID, thread.AssistantPatch{Name: &name, Metadata: thread.Metadata{"b": []byte(`2`)}})
	require.NoError(t, err)
	require.Equal(t, 2, two.Version)
	require.Len(t, two.Metadata, 2, "metadata is merged")
	three, err := b.svc.PatchAssistant(ctx, a.ID, thread.AssistantPatch{})
	require.NoError(t, err)
	require.Equal(t, 3, three.Version, "an empty patch is a version, too")
	one, err := b.svc.SetAssistantVersion(ctx, a.ID, 1)
	require.NoError(t, err)
	require.Equal(t, "Untitled", one.Name)
	four, err := b.svc.PatchAssistant(ctx, a.ID, thread.AssistantPatch{})
	require.NoError(t, err)
	require.Equal(t, 4, four.Version)
	_, err = b.svc.SetAssistantVersion(ctx, a.ID, 9)
	require.ErrorIs(t, err, thread.ErrNotFound)

	var invalid *thread.InvalidInputError
	for _, bad := range []thread.Assistant{{}, {GraphID: "echo", ID: "x"}, {GraphID: "echo", Config: []byte(`[]`)}} {
		_, err = b.svc.CreateAssistant(ctx, bad, false)
		require.ErrorAs(t, err, &invalid)
	}
	_, err = b.svc.PatchAssistant(ctx, "nobody", thread.AssistantPatch{})
	require.ErrorIs(t, err, thread.ErrNotFound)
}

func TestDeletedAssistantTakesItsRunsAndIfAskedItsThreads(t *testing.T) {
	t.Parallel()
	for _, threads := range []bool{false, true} {
		b := setup(t)
		ctx := context.Background()
		a, err := b.svc.CreateAssistant(ctx, thread.Assistant{GraphID: "echo"}, false)
		require.NoError(t, err)
		id := b.thread()
		b.run(input(id, a.ID, `{}`))
		require.NoError(t, b.svc.DeleteAssistant(ctx, a.ID, threads))
		_, err = b.svc.Assistant(ctx, a.ID)
		require.ErrorIs(t, err, thread.ErrNotFound)
		runs, err := b.svc.ListRuns(ctx, id, thread.RunQuery{})
		if threads {
			require.ErrorIs(t, err, thread.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Empty(t, runs)
	}
}

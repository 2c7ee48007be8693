package thread_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// questions maps the node that asks to the id of its open question.
func (b *bundle) questions(threadID string) map[string]string {
	b.t.Helper()
	open, err := b.store.PendingInterrupts(context.Background(), threadID)
	require.NoError(b.t, err)
	ids := map[string]string{}
	for _, q := range open {
		ids[strings.Trim(string(q.Value), `"`)] = q.ID
	}
	return ids
}

var panelAnswers = map[string]string{"a": `"yes"`, "b": `{"ok":true}`, "c": `3`}

// D-26
func TestAllOpenQuestionsAreInStateAndView(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("panel")
	var asked []string
	for _, task := range b.state(id).Tasks {
		require.Len(t, task.Interrupts, 1)
		asked = append(asked, task.Interrupts[0].ID)
	}
	require.Len(t, asked, 3)
	view, err := b.svc.ViewThread(context.Background(), b.get(id))
	require.NoError(t, err)
	require.Len(t, view.Interrupts, 3)
	require.Equal(t, 3, b.events.count(id, agent.InterruptRaised))
}

// D-33
func TestParallelQuestionsAreAnsweredInAnyOrderAndNoneIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		id, first := b.suspend("panel")
		ids := b.questions(id)
		names := []string{"a", "b", "c"}
		rand.Shuffle(3, func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			require.Equal(t, ids[name], b.questions(id)[name], "an open question keeps its id")
			run := b.run(resume(id, "panel", fmt.Sprintf(`{"%s":%s}`, ids[name], panelAnswers[name])))
			require.Equal(t, i < 2, run.Suspended)
			require.Equal(t, first.ID, run.ExecutionID)
			require.Len(t, b.questions(id), 2-i)
		}
		require.Contains(t, b.values(id), `"log":["a=yes","b=map[ok:true]","c=3"]`)
		for _, name := range names {
			require.Equal(t, 1, b.world.count(name+":"+id))
		}
	}
}

func TestParallelQuestionsAnsweredAtOnceByDifferentPeople(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("panel")
	ids := b.questions(id)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var runs []thread.Run
	for name, answer := range panelAnswers {
		wg.Go(func() {
			r := command(id, "panel", fmt.Sprintf(`{"resume":{"%s":%s},"update":{"messages":[{"type":"human","id":"%s","content":"%s"}]}}`, ids[name], answer, name, name))
			r.Principal = name
			started, err := b.svc.StartRun(context.Background(), r)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			runs = append(runs, started.Run)
		})
	}
	wg.Wait()
	for _, run := range runs {
		require.Equal(t, thread.RunSuccess, b.wait(run).Status)
	}
	values := b.values(id)
	require.Contains(t, values, `"log":["a=yes","b=map[ok:true]","c=3"]`)
	for name := range panelAnswers {
		require.Contains(t, values, `"id":"`+name+`"`, "nobody's update is lost")
		require.Equal(t, 1, b.world.count(name+":"+id))
	}
	require.Equal(t, thread.Idle, b.get(id).Status)
}

// D-34
func TestOneValueForManyQuestionsIsAmbiguous(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("panel")
	_, err := b.svc.StartRun(context.Background(), resume(id, "panel", `"yes"`))
	var refused *agent.ResumeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agent.AmbiguousResume, refused.Code)
	require.Len(t, refused.IDs, 3)
	require.Len(t, b.pending(id), 3)
}

// D-35, D-37
func TestOneInvalidAnswerOfSeveralStoresNoneAndARetryWorks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("panel")
	ids := b.questions(id)
	all := func(bAnswer string) thread.StartRun {
		return resume(id, "panel", fmt.Sprintf(`{"%s":"yes","%s":%s,"%s":3}`, ids["a"], ids["b"], bAnswer, ids["c"]))
	}
	_, err := b.svc.StartRun(context.Background(), all(`{"ok":"perhaps"}`))
	var refused *agent.ResumeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agent.InvalidAnswer, refused.Code)
	require.Equal(t, ids["b"], refused.Issues[0].InterruptID)
	require.Equal(t, "/ok", refused.Issues[0].Path)
	require.Len(t, b.pending(id), 3)
	require.Equal(t, thread.RunSuccess, b.run(all(`{"ok":true}`)).Status)
	require.Contains(t, b.values(id), `"log":["a=yes","b=map[ok:true]","c=3"]`)
}

// D-53
func TestDecidingAnewForksWithNewQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	old := b.question(id)
	asked := b.state(id).CheckpointID
	b.run(resume(id, "approve", `"no"`))
	before := len(b.history(id))
	fork := thread.StartRun{ThreadID: id, AssistantID: "approve", CheckpointID: asked}
	require.True(t, b.run(fork).Suspended)
	require.Len(t, b.pending(id), 1)
	require.NotEqual(t, old, b.pending(id)[0])
	require.Equal(t, thread.RunSuccess, b.run(resume(id, "approve", `"yes"`)).Status)
	require.Contains(t, b.values(id), `"answer":"yes"`)
	require.Greater(t, len(b.history(id)), before, "both branches are kept")
	require.Equal(t, 2, b.world.count("pay:"+id), "a fork executes again")
}

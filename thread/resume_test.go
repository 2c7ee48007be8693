package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// suspend brings a thread to the question of graph approve.
func (b *bundle) suspend(graph string) (threadID string, first thread.Run) {
	b.t.Helper()
	id := b.thread()
	first = b.run(input(id, graph, `{"note":"n"}`))
	require.Equal(b.t, thread.RunSuccess, first.Status)
	require.Equal(b.t, thread.Interrupted, b.get(id).Status)
	return id, first
}

func TestResumeGoesOnWithTheAnswerInTheSameExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, first := b.suspend("approve")
	require.True(t, first.Suspended)
	state := b.state(id)
	require.Equal(t, []string{"review"}, state.Next)
	require.JSONEq(t, `{"q":"pay?"}`, string(state.Tasks[0].Interrupts[0].Value))
	require.Zero(t, b.world.count("pay:"+id))

	run := b.run(resume(id, "approve", `"yes"`))

	require.Equal(t, thread.RunSuccess, run.Status)
	require.Equal(t, first.ID, run.ExecutionID)
	require.Equal(t, thread.Idle, b.get(id).Status)
	require.Contains(t, b.values(id), `"answer":"yes"`)
	require.Equal(t, 1, b.world.count("pay:"+id))
	require.Equal(t, 1, b.world.count("look:"+id), "the step before the question isn't executed again (D-43)")
	require.Empty(t, b.pending(id))
	require.Equal(t, 1, b.events.count(id, agent.InputAnswered))
}

// D-31
func TestHundredDifferentResumesOneIsAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	b.world.shut("pay:" + id) // nobody's run ends before all have asked
	var mu sync.Mutex
	var accepted []thread.Run
	decided := 0
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			r := resume(id, "approve", fmt.Sprintf(`{"%s":"answer %d"}`, b.question(id), i))
			if i%2 == 0 {
				r = resume(id, "approve", fmt.Sprintf(`"answer %d"`, i))
			}
			r.Principal = fmt.Sprint("reviewer ", i)
			started, err := b.svc.StartRun(context.Background(), r)
			mu.Lock()
			defer mu.Unlock()
			var already *thread.AlreadyDecidedError
			var refused *agent.ResumeError
			switch {
			case err == nil:
				accepted = append(accepted, started.Run)
			case errors.As(err, &already) && already.Answer.By != "", errors.As(err, &refused):
				decided++
			default:
				t.Errorf("unexpected: %v", err)
			}
		})
	}
	wg.Wait()
	b.world.releaseAll()
	require.Len(t, accepted, 1)
	require.Equal(t, 99, decided)
	require.Equal(t, thread.RunSuccess, b.wait(accepted[0]).Status)
	require.Equal(t, 1, b.world.count("pay:"+id))
}

// question is the id of the only question that was asked on a thread, open or not.
func (b *bundle) question(threadID string) string {
	for _, e := range b.events.of(threadID) {
		if q, ok := e.Event.Payload.(agent.InterruptInfo); ok && e.Event.Kind == agent.InterruptRaised {
			return q.ID
		}
	}
	b.t.Error("nothing was asked")
	return ""
}

// D-31
func TestHundredEqualResumesAreOneRun(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(question string) string{
		"plain": func(string) string { return `"yes"` },
		"by id": func(q string) string { return `{ "` + q + `": "\u0079es" }` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id, _ := b.suspend("approve")
			b.world.shut("pay:" + id)
			var mu sync.Mutex
			runs := map[string]int{}
			first := 0
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					r := resume(id, "approve", answer(b.question(id)))
					r.Principal = "jo"
					started, err := b.svc.StartRun(context.Background(), r)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("refused: %v", err)
						return
					}
					runs[started.Run.ID]++
					if !started.Repeat {
						first++
					}
				})
			}
			wg.Wait()
			b.world.releaseAll()
			require.Len(t, runs, 1)
			require.Equal(t, 1, first)
		})
	}
}

// D-32
func TestSameDecisionAgainGetsTheFirstRunAnotherIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	q := b.question(id)
	by := func(principal, answer string) thread.StartRun {
		r := resume(id, "approve", `{"`+q+`":`+answer+`}`)
		r.Principal = principal
		return r
	}
	first := b.run(by("jo", `"yes"`))

	again, err := b.svc.StartRun(context.Background(), by("jo", `"yes"`))
	require.NoError(t, err)
	require.True(t, again.Repeat)
	require.Equal(t, first.ID, again.Run.ID)

	for _, r := range []thread.StartRun{by("jo", `"no"`), by("al", `"yes"`)} {
		_, err = b.svc.StartRun(context.Background(), r)
		var already *thread.AlreadyDecidedError
		require.ErrorAs(t, err, &already)
		require.Equal(t, "jo", already.Answer.By)
		require.JSONEq(t, `"yes"`, string(already.Answer.Value))
		require.Equal(t, first.ID, already.Answer.RunID)
		require.False(t, already.Answer.At.IsZero())
		require.NotErrorIs(t, err, thread.ErrConflict)
	}
}

func TestResumeThatCannotBeAcceptedStoresNothing(t *testing.T) {
	t.Parallel()
	unknown := "0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		graph   string
		command func(q string) string
		code    string
	}{
		"nothing pending":    {"echo", func(string) string { return `{"resume":"x"}` }, agent.NothingPending},
		"unknown id":         {"approve", func(string) string { return `{"resume":{"` + unknown + `":1}}` }, agent.InterruptNotPending},
		"one of two unknown": {"approve", func(q string) string { return `{"resume":{"` + unknown + `":1,"` + q + `":"x"}}` }, agent.InterruptNotPending},
		"plain null":         {"approve", func(string) string { return `{"resume":null}` }, agent.EmptyCommand},
		"empty command":      {"approve", func(string) string { return `{}` }, agent.EmptyCommand},
		"goto to nowhere":    {"approve", func(string) string { return `{"resume":"x","goto":"nowhere"}` }, ""},
		"parent graph":       {"approve", func(string) string { return `{"resume":"x","graph":"__parent__"}` }, ""},
		"update that fails":  {"approve", func(string) string { return `{"resume":"x","update":{"messages":[{"type":"remove","id":"ghost"}]}}` }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.thread()
			b.run(input(id, c.graph, `{"note":"n"}`))
			q := ""
			if c.graph == "approve" {
				q = b.question(id)
			}
			before := b.pending(id)
			_, err := b.svc.StartRun(context.Background(), command(id, c.graph, c.command(q)))
			var resume *agent.ResumeError
			var invalid *agent.InvalidCommandError
			if c.code == "" {
				require.ErrorAs(t, err, &invalid)
			} else {
				require.ErrorAs(t, err, &resume)
				require.Equal(t, c.code, resume.Code)
			}
			require.Equal(t, before, b.pending(id))
			runs, err := b.svc.ListRuns(context.Background(), id, thread.RunQuery{})
			require.NoError(t, err)
			require.Len(t, runs, 1)
		})
	}
}

// D-52
func TestResumeOfTheHeadByItsIDIsAsNoneOfAnOlderOneIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	history := b.history(id)
	old := resume(id, "approve", `"yes"`)
	old.CheckpointID = history[1].CheckpointID
	_, err := b.svc.StartRun(context.Background(), old)
	var refused *agent.ResumeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agent.InterruptNotPending, refused.Code)
	require.Len(t, refused.Pending, 1)
	head := resume(id, "approve", `"yes"`)
	head.CheckpointID = history[0].CheckpointID
	require.Equal(t, thread.RunSuccess, b.run(head).Status)
	require.Len(t, b.history(id), len(history)+1, "no fork")
}

// D-41
func TestResumeUpdateAndGotoAreOneCheckpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	before := b.history(id)
	r := command(id, "approve", `{"resume":"yes","update":{"note":"updated","messages":[{"type":"ai","id":"card-1","content":"card"}]},"goto":"other"}`)
	started, err := b.svc.StartRun(context.Background(), r)
	require.NoError(t, err)
	run := b.wait(started.Run)

	require.Equal(t, thread.RunSuccess, run.Status)
	after := b.history(id)
	require.Len(t, after, len(before)+1)
	require.Equal(t, before[0].CheckpointID, after[0].ParentID)
	var state board
	require.NoError(t, json.Unmarshal([]byte(b.values(id)), &state))
	require.Equal(t, "updated", state.Note)
	require.ElementsMatch(t, []string{"prepared", "paid:yes", "other"}, state.Log)
	require.Equal(t, 1, state.Messages.Len())
	require.Equal(t, "card-1", state.Messages.At(0).ID)
}

// D-21, D-42
func TestAcceptedResumeIsVisibleBeforeItsRunStarts(t *testing.T) {
	t.Parallel()
	b := setup(t, notStarted())
	// One worker made the suspension; this service has none, so that the resume stays queued.
	other := setup(t, sharing(b))
	id, _ := other.suspend("approve")
	other.stop()
	_, err := b.svc.StartRun(context.Background(), command(id, "approve", `{"resume":"yes","update":{"note":"updated"}}`))
	require.NoError(t, err)
	require.Empty(t, b.pending(id))
	require.Contains(t, b.values(id), `"note":"updated"`)
	require.Empty(t, b.state(id).Tasks[0].Interrupts)
}

// decisions 8
func TestAnswerIsTakenWhileASiblingRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.begin(input(id, "pair", `{}`))
	<-b.world.arrived("work:"+id, 1)
	b.events.until(t, "the question", func() bool { return b.events.count(id, agent.InterruptRaised) == 1 })

	answered := b.begin(resume(id, "pair", `"yes"`))
	require.Equal(t, thread.RunPending, must(b.svc.GetRun(context.Background(), id, answered.ID)).Status)
	require.Empty(t, b.pending(id))
	require.Equal(t, thread.RunRunning, must(b.svc.GetRun(context.Background(), id, run.ID)).Status)

	b.world.open("work:" + id)
	require.Equal(t, thread.RunSuccess, b.wait(run).Status)
	require.Equal(t, thread.RunSuccess, b.wait(answered).Status)
	require.Equal(t, thread.Idle, b.get(id).Status)
	require.Contains(t, b.values(id), `"log":["ask:yes","work"]`)
	require.Equal(t, 1, b.world.count("work:"+id), "the sibling's work isn't done twice")
	require.Equal(t, 1, b.world.count("answered:"+id))
}

// D-23
func TestImmediateRespondersAreNeverRejected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	responders := many(t, "PARLEY_RESPONDERS", 100)
	var wg sync.WaitGroup
	b.events.on = func(threadID string, e thread.Entry) {
		if e.Event.Kind != agent.InterruptRaised {
			return
		}
		wg.Go(func() {
			started, err := b.svc.StartRun(context.Background(), resume(threadID, "approve", `"yes"`))
			if err != nil {
				t.Errorf("rejected: %v", err)
				return
			}
			b.wait(started.Run)
		})
	}
	ids := make([]string, responders)
	for i := range ids {
		ids[i] = b.thread()
		b.begin(input(ids[i], "approve", `{}`))
	}
	for _, id := range ids {
		b.events.until(t, "thread "+id+" has paid", func() bool { return b.world.count("pay:"+id) == 1 })
	}
	wg.Wait()
	for _, id := range ids {
		require.Equal(t, thread.Idle, b.get(id).Status)
	}
}

// D-44
func TestQuestionsOfOneNodeAreAnsweredOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, first := b.suspend("twice")
	run := b.run(resume(id, "twice", `"A"`))
	require.True(t, run.Suspended)
	require.Equal(t, first.ID, run.ExecutionID)
	require.Equal(t, thread.Interrupted, b.get(id).Status)
	require.Len(t, b.pending(id), 1)
	require.Equal(t, []string{"ask"}, b.state(id).Next)
	run = b.run(resume(id, "twice", `"B"`))
	require.Equal(t, first.ID, run.ExecutionID)
	require.Contains(t, b.values(id), `"log":["AB"]`)
}

func TestKeyedResumeGetsItsFirstResultAfterTheThreadMovedOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	r := resume(id, "approve", `"yes"`)
	r.IdempotencyKey = "k"
	first := b.run(r)
	if _, ok := any(b.store).(thread.KeyFinder); !ok {
		t.Skip("the store finds no run by its key")
	}
	again, err := b.svc.StartRun(context.Background(), r)
	require.NoError(t, err)
	require.True(t, again.Repeat)
	require.Equal(t, first.ID, again.Run.ID)
}

// D-29
func TestNewInputDropsTheQuestionUnlessToldToRefuse(t *testing.T) {
	t.Parallel()
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		id, _ := b.suspend("approve")
		run := b.begin(input(id, "approve", `{"note":"anew"}`))
		require.Equal(t, thread.RunSuccess, b.wait(run).Status)
		require.Len(t, b.pending(id), 1, "asked again, by a new question")
		require.Equal(t, run.ID, must(b.svc.GetRun(context.Background(), id, run.ID)).ExecutionID)
	})
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		b := setup(t, with(func(o *thread.Options) { o.OnInputWhileInterrupted = "error" }))
		id, _ := b.suspend("approve")
		_, err := b.svc.StartRun(context.Background(), input(id, "approve", `{"note":"anew"}`))
		var refused *thread.InputWhileInterruptedError
		require.ErrorAs(t, err, &refused)
		require.Len(t, refused.Pending, 1)
		require.Equal(t, thread.RunSuccess, b.run(resume(id, "approve", `"yes"`)).Status)
	})
}

func TestCopiedThreadAsksAndIsAnsweredOnItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.suspend("approve")
	copied, err := b.svc.CopyThread(context.Background(), id)
	require.NoError(t, err)
	require.Equal(t, b.state(id).CheckpointID, b.state(copied.ID).CheckpointID)
	require.Equal(t, thread.RunSuccess, b.run(resume(copied.ID, "approve", `"on the copy"`)).Status)
	require.Contains(t, b.values(copied.ID), "on the copy")
	require.Equal(t, thread.Interrupted, b.get(id).Status)
	require.Len(t, b.pending(id), 1)
	require.Equal(t, thread.RunSuccess, b.run(resume(id, "approve", `"on the original"`)).Status)
}

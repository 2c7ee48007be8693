package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis/redistest"
	"github.com/parley-dev/parley/thread/transfer"
)

// ids are the threads that fill makes.
type ids struct {
	asked, answered, copied, done, edited, busy, cut, delayed string
	question                                                  string
	answer                                                    thread.Run
}

// fill makes some of everything that a store can keep, and leaves runs in the middle.
func (w *world) fill() (made ids) {
	t, ctx := w.t, w.t.Context()
	require := require.New(t)

	made.cut = w.thread() // its log is cut, and goes on behind
	w.ends(w.start(made.cut, "say"))
	_, err := w.store.ExpireLogs(ctx, time.Now().Add(time.Hour), 100)
	require.NoError(err)
	w.ends(w.start(made.cut, "fail"))

	made.done = w.thread()
	for range 3 {
		w.ends(w.start(made.done, "say"))
	}
	w.ends(w.start(made.done, "say", func(r *thread.StartRun) { r.IdempotencyKey, r.Webhook = "once", "http://127.0.0.1:1/hook" }))

	made.asked = w.thread()
	w.ends(w.start(made.asked, "ask"))
	made.question = w.question(made.asked)
	made.answered = w.thread()
	w.ends(w.start(made.answered, "ask"))
	made.answer = w.ends(w.resume(made.answered, w.question(made.answered), `{"<yes>":1}`))
	copied, err := w.svc.CopyThread(ctx, made.asked)
	require.NoError(err)
	made.copied = copied.ID
	w.ends(w.resume(made.copied, made.question, `null`))

	made.edited = w.thread()
	w.ends(w.start(made.edited, "ask"))
	_, _, _, err = w.svc.UpdateState(ctx, made.edited, thread.StateUpdate{Values: json.RawMessage(`{"note":"by hand"}`)})
	require.NoError(err)

	made.delayed = w.thread()
	later := func(r *thread.StartRun) { r.AfterSeconds, r.MultitaskStrategy = 3600, "enqueue" }
	w.start(made.delayed, "say", later)
	dropped := w.start(made.delayed, "say", later)
	require.NoError(w.svc.CancelRun(ctx, made.delayed, dropped.ID, thread.CancelInterrupt))

	_, err = w.svc.CreateThread(ctx, thread.CreateThread{TTLMinutes: 60, TTLStrategy: thread.TTLKeepLatest})
	require.NoError(err)
	a, err := w.svc.CreateAssistant(ctx, thread.Assistant{GraphID: "say", Name: "<mine>"}, false)
	require.NoError(err)
	name := "other"
	_, err = w.svc.PatchAssistant(ctx, a.ID, thread.AssistantPatch{Name: &name})
	require.NoError(err)
	_, err = w.svc.SetAssistantVersion(ctx, a.ID, 1)
	require.NoError(err)
	_, err = w.svc.CreateCron(ctx, thread.Cron{AssistantID: "say", Schedule: "0 0 1 1 *", Payload: json.RawMessage(`{"input":{}}`), Enabled: true})
	require.NoError(err)
	for i, ttl := range []time.Duration{0, time.Hour, time.Microsecond} {
		scoped := thread.ScopedNamespace([]string{"", "p", "p"}[i], []string{"", "", "w"}[i], []string{"a", string(rune('b' + i))})
		it := agent.Item{Namespace: scoped, Key: "<k>", Value: json.RawMessage(`{"v": "<1>"}`)}
		require.NoError(w.store.PutItem(ctx, it, ttl))
	}

	require.NoError(w.store.CreateKey(ctx, thread.Key{ID: "k", Name: "<key>", Hash: "ff", Roles: []string{"viewer"}}, thread.AuditBody{}))
	removed := w.thread() // of which the audit log still tells
	w.ends(w.start(removed, "ask"))
	require.NoError(w.svc.DeleteThread(ctx, removed))

	made.busy = w.thread() // one runs, one waits, one was dropped meanwhile
	running := w.start(made.busy, "slow")
	w.until("it runs", func() bool {
		r, err := w.svc.GetRun(ctx, made.busy, running.ID)
		return err == nil && r.Status == thread.RunRunning && w.note(made.busy) == "first"
	})
	queue := func(r *thread.StartRun) { r.MultitaskStrategy = "enqueue" }
	w.start(made.busy, "say", queue)
	gone := w.start(made.busy, "say", queue)
	require.NoError(w.svc.CancelRun(ctx, made.busy, gone.ID, thread.CancelInterrupt))
	return made
}

// note is a value of the thread's state.
func (w *world) note(id string) string { return w.values(id).Note }

func (w *world) values(id string) (values state) {
	w.t.Helper()
	snap, err := w.svc.State(w.t.Context(), id, thread.StateQuery{})
	require.NoError(w.t, err)
	if snap.State != nil {
		require.NoError(w.t, json.Unmarshal(snap.State.JSON(), &values))
	}
	return values
}

// TestEverythingMoves: from the embedded store to Redis, to a file, and back again, and
// to a cluster; at each place everything is what it was.
func TestEverythingMoves(t *testing.T) {
	t.Parallel()
	a := &agents{hold: make(chan struct{})}
	first := localPlace(t)
	s, err := first.open(t, false)
	require.NoError(t, err)
	w := a.serve(t, s)
	w.fill()
	w.stop()
	begin := tally(t, source(s))
	for _, kind := range transfer.Kinds {
		require.NotZero(t, begin.Sums[kind].Count, "no %s were made", kind)
	}

	url := sharedRedis(t)
	remote := redisPlace(t, url)
	move(t, source(s), remote)
	require.NoError(t, s.Close())
	r := remote.opened(t)
	require.Empty(t, begin.Differences(tally(t, source(r))))

	file := transfer.NewFile(filepath.Join(t.TempDir(), "dump"))
	copied, err := transfer.Copy(t.Context(), source(r), file)
	require.NoError(t, err)
	require.Empty(t, begin.Differences(copied))

	second := localPlace(t)
	move(t, file, second)
	require.Empty(t, begin.Differences(tally(t, source(second.opened(t)))))
	third := redisPlace(t, redistest.StartCluster(t, 3, 0).URL())
	move(t, source(r), third)
	require.Empty(t, begin.Differences(tally(t, source(third.opened(t)))))
}

// TestWorkGoesOnElsewhere: on the other store questions have the same ids, answers are
// accepted once, event numbers go on, histories are equal, what ran goes on and what
// waited runs, and no finished step is done again. In both directions.
func TestWorkGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	url := sharedRedis(t)
	for name, places := range map[string][2]place{
		"local to Redis": {localPlace(t), redisPlace(t, url)},
		"Redis to local": {redisPlace(t, url), localPlace(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agents{hold: make(chan struct{})}
			s, err := places[0].open(t, false)
			require.NoError(t, err)
			w := a.serve(t, s)
			made := w.fill()
			w.stop()
			require.NoError(t, s.Close()) // which ends its subscription
			s, err = places[0].open(t, false)
			require.NoError(t, err)
			before := a.look(t, s).seen(made)
			require.NoError(t, s.Close())
			s, err = places[0].open(t, false)
			require.NoError(t, err)
			move(t, source(s), places[1])
			require.NoError(t, s.Close())

			steps := a.steps.Load()
			moved := places[1].opened(t)
			after := a.look(t, moved).seen(made)
			for what, text := range before {
				i := 0
				for i < min(len(text), len(after[what])) && text[i] == after[what][i] {
					i++
				}
				require.True(t, text == after[what], "%s: %.300s, not %.300s", what, after[what][max(0, i-100):], text[max(0, i-100):])
			}
			w = a.serve(t, moved)
			defer w.stop()
			w.goesOn(made)
			require.Equal(t, steps+1, a.steps.Load(), "only the run that waited has a step of its own")
		})
	}
}

// seen is what clients see of the threads: runs, histories, logs.
func (w *world) seen(made ids) map[string]string {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	all := map[string]string{}
	for name, id := range map[string]string{
		"asked": made.asked, "answered": made.answered, "copied": made.copied, "done": made.done, "edited": made.edited, "cut": made.cut, "delayed": made.delayed,
	} {
		th, err := w.svc.GetThread(ctx, id)
		require.NoError(t, err)
		runs, err := w.svc.ListRuns(ctx, id, thread.RunQuery{})
		require.NoError(t, err)
		history, err := w.svc.History(ctx, id, thread.HistoryQuery{Limit: 100})
		require.NoError(t, err)
		log, err := w.store.ReadLog(ctx, id, 0, 0)
		require.NoError(t, err)
		pos, seq, err := w.store.LogEnd(ctx, id)
		require.NoError(t, err)
		for what, v := range map[string]any{"thread": th, "runs": runs, "history": history, "log": log, "end": []int64{pos, seq}} {
			all[name+" "+what] = w.json(v)
		}
	}
	found, n, err := w.svc.SearchThreads(ctx, thread.ThreadQuery{Metadata: thread.Metadata{"owner": json.RawMessage(`"<ann>"`)}, SortBy: "thread_id", Limit: 3}, nil)
	require.NoError(t, err)
	all["search"] = w.json([]any{found, n})
	crons, _, err := w.store.SearchCrons(ctx, thread.CronQuery{})
	require.NoError(t, err)
	assistants, _, err := w.store.SearchAssistants(ctx, thread.AssistantQuery{SortBy: "assistant_id"})
	require.NoError(t, err)
	items, err := w.store.SearchItems(ctx, thread.ItemQuery{})
	require.NoError(t, err)
	all["rest"] = w.json([]any{crons, assistants, items})
	return all
}

// goesOn does what was left to be done.
func (w *world) goesOn(made ids) {
	t, ctx := w.t, w.t.Context()
	require := require.New(t)
	require.Equal(made.question, w.question(made.asked))
	pos, seq, err := w.store.LogEnd(ctx, made.asked)
	require.NoError(err)
	run := w.ends(w.resume(made.asked, made.question, `"yes"`))
	require.Equal(thread.RunSuccess, run.Status)
	require.Equal("yes", w.values(made.asked).Answer)
	log, err := w.store.ReadLog(ctx, made.asked, pos, 0)
	require.NoError(err)
	for _, e := range log {
		if e.Seq != 0 {
			seq++
			require.Equal(seq, e.Seq, "the numbers of events go on")
		}
	}
	require.Equal(pos+1, log[0].Pos)

	_, err = w.svc.StartRun(ctx, thread.StartRun{ThreadID: made.asked, AssistantID: "ask", Command: json.RawMessage(`{"resume":{"` + made.question + `":"no"}}`)})
	decided := (*thread.AlreadyDecidedError)(nil)
	require.True(errors.As(err, &decided), "%v", err)

	again, err := w.svc.StartRun(ctx, thread.StartRun{ThreadID: made.done, AssistantID: "say", IdempotencyKey: "once",
		Input: json.RawMessage(`{"messages":[{"role":"user","content":"<hi>"}]}`), HasInput: true, Webhook: "http://127.0.0.1:1/hook"})
	require.NoError(err)
	require.True(again.Repeat, "an idempotency key still holds")

	runs, err := w.svc.ListRuns(ctx, made.busy, thread.RunQuery{})
	require.NoError(err)
	require.Len(runs, 3)
	close(w.agents.hold)
	require.Equal(thread.RunSuccess, w.ends(runs[0]).Status, "it was given back, and goes on")
	require.Equal(thread.RunSuccess, w.ends(runs[1]).Status, "it waited")
	require.Equal(thread.RunInterrupted, w.ends(runs[2]).Status)
	require.Equal("last", w.note(made.busy))
	ends := map[string]int{}
	log, err = w.store.ReadLog(ctx, made.busy, 0, 0)
	require.NoError(err)
	for _, e := range log {
		if e.Event.Kind == agent.RunFinished && e.Event.NS == "" {
			ends[e.RunID]++
		}
	}
	require.Equal(map[string]int{runs[0].ID: 1, runs[1].ID: 1, runs[2].ID: 1}, ends, "of the one that was dropped, too")
}

// TestTargetMustBeEmpty: nothing is mixed, and the system's own assistants don't count.
func TestTargetMustBeEmpty(t *testing.T) {
	t.Parallel()
	url := sharedRedis(t)
	for _, to := range []place{localPlace(t), redisPlace(t, url)} {
		t.Run(to.name, func(t *testing.T) {
			t.Parallel()
			a := &agents{}
			full := localPlace(t).opened(t)
			w := a.serve(t, full)
			w.thread()
			w.stop()

			s, err := to.open(t, false)
			require.NoError(t, err)
			w = a.serve(t, s)
			w.stop()
			require.NoError(t, s.Close())
			move(t, source(full), to)

			s, err = to.open(t, true)
			require.NoError(t, err)
			_, err = transfer.Copy(t.Context(), source(full), target(s))
			require.ErrorIs(t, err, transfer.ErrNotEmpty)
			require.NoError(t, s.Close())
			require.EqualValues(t, 1, tally(t, source(to.opened(t))).Sums["threads"].Count, "it is as it was, and open to all")
		})
	}
	path := filepath.Join(t.TempDir(), "dump")
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err := transfer.Copy(t.Context(), source(localPlace(t).opened(t)), transfer.NewFile(path))
	require.ErrorIs(t, err, transfer.ErrNotEmpty)
}

// failing breaks off behind some records.
type failing struct {
	transfer.Source
	after int
}

var errBroken = errors.New("broken")

func (f failing) Dump(ctx context.Context, emit func(*transfer.Record) error) error {
	n := 0
	return f.Source.Dump(ctx, func(r *transfer.Record) error {
		if n++; n > f.after {
			return errBroken
		}
		return emit(r)
	})
}

// TestBrokenCopyIsRepeated: wherever a copy breaks off, nobody can open what it has
// left, and its repetition is whole.
func TestBrokenCopyIsRepeated(t *testing.T) {
	t.Parallel()
	a := &agents{hold: make(chan struct{})}
	s := localPlace(t).opened(t)
	w := a.serve(t, s)
	w.fill()
	w.stop()
	whole := tally(t, source(s))
	records := 0
	require.NoError(t, source(s).Dump(t.Context(), func(*transfer.Record) error { records++; return nil }))
	url := sharedRedis(t)
	for _, to := range []place{localPlace(t), redisPlace(t, url)} {
		t.Run(to.name, func(t *testing.T) {
			t.Parallel()
			for part := range 8 {
				half, err := to.open(t, true)
				require.NoError(t, err)
				_, err = transfer.Copy(t.Context(), failing{source(s), records * part / 8}, target(half))
				require.ErrorIs(t, err, errBroken)
				require.NoError(t, half.Close())
				_, err = to.open(t, false)
				require.ErrorIs(t, err, transfer.ErrUnfinished)
			}
			move(t, source(s), to)
			require.Empty(t, whole.Differences(tally(t, source(to.opened(t)))))
		})
	}
}

// TestDamagedDumpIsRefused: one that was cut off or changed isn't taken for whole.
func TestDamagedDumpIsRefused(t *testing.T) {
	t.Parallel()
	a := &agents{}
	s := localPlace(t).opened(t)
	w := a.serve(t, s)
	id := w.thread()
	w.ends(w.start(id, "say"))
	w.stop()
	path := filepath.Join(t.TempDir(), "dump")
	_, err := transfer.Copy(t.Context(), source(s), transfer.NewFile(path))
	require.NoError(t, err)
	dump, err := os.ReadFile(path) //nolint:gosec // the test's own
	require.NoError(t, err)
	for name, bad := range map[string][]byte{
		"cut off": dump[:len(dump)/2], "without its end": dump[:len(dump)-8], "empty": {}, "no dump": []byte("hello"),
		"changed": append(append(append([]byte{}, dump[:len(dump)/2]...), dump[len(dump)/2]^1), dump[len(dump)/2+1:]...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := filepath.Join(t.TempDir(), "dump")
			require.NoError(t, os.WriteFile(broken, bad, 0o600))
			place := localPlace(t)
			to, err := place.open(t, true)
			require.NoError(t, err)
			_, err = transfer.Copy(t.Context(), transfer.NewFile(broken), target(to))
			require.ErrorIs(t, err, transfer.ErrFile)
			require.NoError(t, to.Close())
			_ = place.opened(t) // it was left alone
		})
	}
}

// TestStoresInUseAreLeftAlone: Redis is neither dumped nor loaded while servers are connected.
func TestStoresInUseAreLeftAlone(t *testing.T) {
	t.Parallel()
	p := redisPlace(t, sharedRedis(t))
	s := p.opened(t)
	w := (&agents{}).serve(t, s)
	w.until("it listens", func() bool { return errors.Is(source(s).Dump(t.Context(), (&transfer.Tally{}).Add), transfer.ErrInUse) })
	_, err := transfer.Copy(t.Context(), source(localPlace(t).opened(t)), target(s))
	require.ErrorIs(t, err, transfer.ErrInUse)
	w.stop()
	require.NoError(t, s.Close())
	_ = tally(t, source(p.opened(t)))
}

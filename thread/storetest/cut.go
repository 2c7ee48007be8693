package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// talk commits n numbered events.
func (w *worker) talk(n int) {
	w.e.Helper()
	w.commit(func(c *thread.Commit) {
		for i := range n {
			c.Entries = append(c.Entries, w.note(fmt.Sprint(i)))
		}
	})
}

// turn is a run from its beginning to its end: a checkpoint and n events.
func (e *env) turn(threadID string, n int, change ...func(*thread.Admission)) *worker {
	e.Helper()
	w := e.claim(e.admit(threadID, change...).Run.ID)
	w.save()
	w.talk(n)
	w.finish()
	return w
}

// events are the entries of a log that stand for themselves.
func (e *env) events(threadID string) []thread.Entry {
	e.Helper()
	return slices.DeleteFunc(e.log(threadID), func(en thread.Entry) bool { return en.Snapshot })
}

// snapshot returns the snapshot at the start of a log, which ends with the given
// numbers, as lines.
func (e *env) snapshot(threadID string, pos, seq int64) (lines []string) {
	e.Helper()
	list := e.log(threadID)
	n := 0
	for n < len(list) && list[n].Snapshot {
		n++
	}
	require.NotContains(e, snapshots(list[n:]), true, "one, at the start")
	for i, en := range list[:n] {
		require.Equal(e, []int64{pos - int64(n-1-i), seq - int64(n-1-i)}, []int64{en.Pos, en.Seq}, "on the highest numbers")
		require.NotZero(e, en.Event.At)
		switch v := en.Event.Payload.(type) {
		case agent.CheckpointNote:
			require.Empty(e, en.RunID)
			lines = append(lines, en.Event.NS+" checkpoint "+v.ID)
		case *agent.ValuesNote:
			lines = append(lines, en.Event.NS+" values "+v.CheckpointID)
		case agent.RunStart:
			lines = append(lines, en.RunID+" "+v.GraphID+" starts")
		case agent.RunFinish:
			lines = append(lines, en.RunID+" "+v.Status)
		}
	}
	require.Len(e, lines, n)
	require.Greater(e, list[0].Seq, int64(1), "one number is left for the gap signal")
	start, err := e.LogStart(e.ctx, threadID)
	require.NoError(e, err)
	require.Equal(e, list[0].Pos, start)
	return lines
}

func snapshots(list []thread.Entry) (is []bool) {
	for _, en := range list {
		is = append(is, en.Snapshot)
	}
	return is
}

func (e *env) expire(before time.Time) int {
	e.Helper()
	n, err := e.ExpireLogs(e.ctx, before, 100)
	require.NoError(e, err)
	return n
}

// soon is a time before which all that the suite does lies.
func soon() time.Time { return now().Add(time.Hour) }

var cutCases = []testCase{
	{"a snapshot takes the place of what is dropped, on its highest numbers", func(e *env) {
		for _, trim := range []bool{false, true} {
			w := e.started()
			id := w.run.ThreadID
			w.save()
			nested := w.save(namespace("sub:1"))
			inner := w.save(namespace("sub:1|in:2"), func(c *agent.CheckpointRecord) { c.ParentID, c.Step = "p", 3 })
			root := w.save()
			w.talk(10)
			w.finish()
			if trim {
				require.NoError(e, e.TrimThread(e.ctx, id))
			} else {
				require.Equal(e, 1, e.expire(soon()))
			}
			want := []string{" checkpoint " + root, " values " + root, "sub:1|in:2 checkpoint " + inner, "sub:1|in:2 values " + inner,
				"sub:1 checkpoint " + nested, "sub:1 values " + nested, w.run.ID + " g starts", w.run.ID + " success"}
			require.Equal(e, want, e.snapshot(id, w.pos-1, w.seq-1))
			list := e.log(id)
			require.Equal(e, agent.CheckpointNote{ID: inner, ParentID: "p", Step: 3, Source: agent.SourceLoop}, list[2].Event.Payload)
			require.Equal(e, e.getRun(id, w.run.ID).EndedAt.UnixMilli(), list[7].Event.At)
			pos, seq, err := e.LogEnd(e.ctx, id)
			require.NoError(e, err)
			require.Equal(e, []int64{w.pos - 1, w.seq - 1}, []int64{pos, seq})
			own, err := e.ReadRunLog(e.ctx, id, w.run.ID, 0, 100)
			require.NoError(e, err)
			require.Empty(e, own, "the run's own log is gone")

			require.Zero(e, e.expire(soon()))
			require.NoError(e, e.TrimThread(e.ctx, id))
			require.Equal(e, list, e.log(id), "once more changes nothing")
			rest, err := e.ReadLog(e.ctx, id, list[3].Pos, 100)
			require.NoError(e, err)
			require.Equal(e, list[4:], rest, "it can be read from everywhere")
			next := e.claim(e.admit(id).Run.ID)
			require.Equal(e, []int64{w.pos, w.seq}, []int64{next.lease.NextPos, next.lease.NextSeq})
		}
	}},
	{"it shows the thread as it was at the cut", func(e *env) {
		id := e.newThread().ID
		one := e.turn(id, 10)
		head := e.getThread(id).Head
		kept := e.claim(e.admit(id).Run.ID)
		kept.save()
		kept.save(namespace("later"))
		kept.talk(1)
		require.Equal(e, 1, e.expire(soon()))
		require.Equal(e, []string{" checkpoint " + head, " values " + head, one.run.ID + " g starts", one.run.ID + " success"}, e.snapshot(id, one.pos-1, one.seq-1))
		require.Len(e, e.events(id), 1)
		kept.finish()
		newest := e.getThread(id).Head
		require.Equal(e, 1, e.expire(soon()))
		lines := e.snapshot(id, kept.pos-1, kept.seq-1)
		require.Equal(e, []string{" checkpoint " + newest, " values " + newest}, lines[:2], "another cut, another snapshot")
		require.Equal(e, []string{kept.run.ID + " g starts", kept.run.ID + " success"}, lines[4:])
		require.Empty(e, e.events(id))
	}},
	{"an edit behind the cut is not in it", func(e *env) {
		id := e.newThread().ID
		one := e.turn(id, 10)
		head := e.getThread(id).Head
		edit := e.edit(told(id, head, now().Add(2*time.Hour)))
		require.Equal(e, 1, e.expire(soon()))
		require.Equal(e, []string{" checkpoint " + head, " values " + head}, e.snapshot(id, one.pos-1, one.seq-1)[:2])
		require.Equal(e, edit, e.events(id))
		require.NoError(e, e.TrimThread(e.ctx, id))
		require.Equal(e, " checkpoint "+e.getThread(id).Head, e.snapshot(id, edit[len(edit)-1].Pos, edit[1].Seq)[0])
	}},
	{"fewer events than it takes are not cut", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		w.save()
		w.talk(3)
		w.finish()
		before := e.log(id)
		require.Len(e, before, 4)
		require.Equal(e, 1, e.expire(soon()), "it is not asked about again")
		require.Zero(e, e.expire(soon()))
		require.NoError(e, e.TrimThread(e.ctx, id))
		require.Equal(e, before, e.log(id))
		own, err := e.ReadRunLog(e.ctx, id, w.run.ID, 0, 100)
		require.NoError(e, err)
		require.Equal(e, before, own)
		next := e.turn(id, 1)
		require.Equal(e, 1, e.expire(soon()))
		require.Empty(e, e.events(id), "they go with the next ones")
		e.snapshot(id, next.pos-1, next.seq-1)
	}},
	{"only the start of a log is cut", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		w.save()
		w.talk(10)
		_, ids := w.suspend(1)
		e.drop(e.admit(id).Run, thread.CancelInterrupt)
		before := e.log(id)
		require.Equal(e, 1, e.expire(soon()), "the cancelled one")
		require.NoError(e, e.TrimThread(e.ctx, id))
		require.Equal(e, before, e.log(id), "behind an execution that waits all stays")
		next := e.claim(e.admit(id, resume("f", answer(ids[0], "1")), func(a *thread.Admission) { a.Run.ExecutionID = w.run.ExecutionID }).Run.ID)
		require.NoError(e, e.TrimThread(e.ctx, id))
		require.Equal(e, before, e.log(id), "also while it goes on")
		next.finish()
		require.Equal(e, 2, e.expire(soon()))
		require.Empty(e, e.events(id))
		require.Equal(e, next.run.ID+" success", e.snapshot(id, next.pos-1, next.seq-1)[3])
	}},
	{"the log of a run that is inflight stays", func(e *env) {
		id := e.newThread().ID
		e.turn(id, 10)
		w := e.claim(e.admit(id).Run.ID)
		w.talk(10)
		require.NoError(e, e.TrimThread(e.ctx, id))
		require.Len(e, e.events(id), 10)
		w.talk(1)
		w.finish()
		require.Len(e, e.events(id), 12)
	}},
	{"what it shows of a run that is deleted is shown anew", func(e *env) {
		id := e.newThread().ID
		one := e.turn(id, 10)
		head := e.getThread(id).Head
		two := e.turn(id, 10)
		e.expire(soon())
		e.deleteRun(id, two.run.ID)
		require.Equal(e, []string{" checkpoint " + head, " values " + head, one.run.ID + " g starts", one.run.ID + " success"}, e.snapshot(id, two.pos-1, two.seq-1))
	}},
	{"a run whose end is still owed is not told of before", func(e *env) {
		id := e.newThread().ID
		one := e.turn(id, 10)
		w := e.claim(e.admit(id).Run.ID)
		dropped := e.admit(id, strategy("enqueue")).Run
		e.drop(dropped, thread.CancelInterrupt)
		e.expire(soon())
		require.Equal(e, one.run.ID+" success", e.snapshot(id, one.pos-1, one.seq-1)[3])
		w.finish()
		require.Equal(e, []string{one.run.ID, w.run.ID, dropped.ID}, e.ends(id))
	}},
	{"of very many namespaces the newest are shown", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		root := w.save()
		var newest string
		for i := range thread.MaxSnapshot + 10 {
			newest = fmt.Sprintf("sub:%d", i)
			w.save(namespace(newest))
		}
		w.talk(4 * thread.MaxSnapshot)
		w.finish()
		require.NoError(e, e.TrimThread(e.ctx, id))
		lines := e.snapshot(id, w.pos-1, w.seq-1)
		require.Len(e, lines, 2*thread.MaxSnapshot+2)
		require.Equal(e, " checkpoint "+root, lines[0])
		require.Contains(e, lines[2], newest+" checkpoint ")
	}},
	{"a failed run's end carries its error", func(e *env) {
		w := e.started()
		w.talk(3)
		w.finish(func(f *thread.Finish) { f.Status, f.Error = thread.RunError, raw(`{"error":"E","message":"m"}`) })
		require.NoError(e, e.TrimThread(e.ctx, w.run.ThreadID))
		list := e.log(w.run.ThreadID)
		require.Equal(e, agent.RunFinish{GraphID: "g", Status: "error", Error: &agent.ErrorInfo{Name: "E", Message: "m"}}, list[1].Event.Payload)
	}},
}

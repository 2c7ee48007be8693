package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

// everyKind has an event of every kind, with all that its payload can hold.
func (w *worker) everyKind() []thread.Entry {
	meta := agent.MessageMeta{Node: "n", Step: 1, Triggers: []string{"t"}, Path: raw(`["p"]`), CheckpointNS: "n:1"}
	info := agent.InterruptInfo{ID: newInterruptID(), Value: raw("1")}
	payloads := []agent.Event{
		{Kind: agent.RunStarted, Payload: agent.RunStart{GraphID: "g", AssistantID: "a", Attempt: 2, FrameBase: 7, Input: raw("{}")}},
		{Kind: agent.InputAnswered, Payload: agent.Answered{InterruptIDs: []string{info.ID}}},
		{Kind: agent.CheckpointAnnounced, Payload: agent.CheckpointNote{ID: newID(), Step: 1, Source: "loop"}},
		{Kind: agent.ValuesEmitted, Payload: &agent.ValuesNote{CheckpointID: newID()}},
		{Kind: agent.ValuesEmitted, NS: "n:1", Payload: &agent.ValuesNote{Inline: raw(`{"a":1}`)}},
		{Kind: agent.CheckpointSaved, Payload: &agent.CheckpointDetail{CheckpointID: newID(), Metadata: thread.Metadata{"m": raw("1")}, Next: []string{"n"}, Tasks: []agent.TaskView{}}},
		{Kind: agent.TaskStarted, Payload: agent.TaskStart{ID: newID(), Name: "n", Input: raw("1"), Triggers: []string{"t"}, Interrupts: []agent.InterruptInfo{}}},
		{Kind: agent.TaskFinished, Payload: agent.TaskFinish{ID: newID(), Name: "n", Result: raw("{}"), Interrupts: []agent.InterruptInfo{info}, Error: &agent.ErrorInfo{Name: "E", Message: "m"}}},
		{Kind: agent.UpdatesEmitted, Payload: agent.UpdatesNote{Node: "n", Data: raw(`{"a":1}`), Cached: true}},
		{Kind: agent.NamespaceStarted, NS: "n:1", Payload: agent.NamespaceNote{Name: "n"}},
		{Kind: agent.NamespaceFinished, NS: "n:1", Payload: agent.NamespaceNote{Name: "n", Failed: true}},
		{Kind: agent.InterruptRaised, Payload: info},
		{Kind: agent.InterruptBubbled, Payload: info},
		{Kind: agent.BreakpointHit},
		{Kind: agent.CustomWritten, Payload: agent.Custom{Value: raw(`"<ü>"`)}},
		{Kind: agent.MessageStarted, Payload: agent.MessageStart{ID: "m", CallID: "c", Type: "ai", Streamed: true, Meta: meta}},
		{Kind: agent.BlockStarted, Payload: agent.BlockStart{ID: "m", Block: raw(`{"type":"text"}`)}},
		{Kind: agent.BlockDelta, NS: "n:1", Payload: agent.Delta{ID: "m", Type: "text", Text: "one "}},
		{Kind: agent.BlockDelta, NS: "n:1", Payload: agent.Delta{ID: "m", Type: "text", Text: "two\n\x00"}},
		{Kind: agent.BlockDelta, NS: "n:1", Payload: agent.Delta{ID: "m", Index: 1, Type: "tool_call", Text: "{", CallID: "c", Name: "t", CallIndex: 3}},
		{Kind: agent.BlockDelta, NS: "n:1", Payload: agent.Delta{ID: "m", Index: 1, Type: "tool_call", Text: "}"}},
		{Kind: agent.BlockDelta, NS: "n:2", Payload: agent.Delta{ID: "o", Type: "text"}},
		{Kind: agent.BlockFinished, Payload: agent.BlockFinish{ID: "m", Block: raw(`{"type":"text","text":"x"}`)}},
		{Kind: agent.MessageFinished, Payload: agent.MessageFinish{ID: "m", Reason: "stop", Usage: &message.Usage{InputTokens: 1, TotalTokens: 1}}},
		{Kind: agent.MessageFailed, Payload: agent.MessageError{ID: "m", Message: "no"}},
		{Kind: agent.MessageReset, Payload: agent.MessageRef{ID: "m", Meta: meta}},
		{Kind: agent.MessageWhole, Payload: agent.MessageSnapshot{Message: raw(`{"type":"ai"}`), Meta: meta}},
		{Kind: agent.ToolStarted, Payload: agent.ToolNote{CallID: "c", Name: "t", Input: "{}"}},
		{Kind: agent.ToolOutput, Payload: agent.ToolNote{CallID: "c", Name: "t", Delta: raw("1")}},
		{Kind: agent.ToolFinished, Payload: agent.ToolNote{CallID: "c", Name: "t", Output: raw("{}")}},
		{Kind: agent.ToolFailed, Payload: agent.ToolNote{CallID: "c", Name: "t", Error: "e"}},
		{Kind: agent.RunFinished, Payload: agent.RunFinish{GraphID: "g", Status: "success"}},
	}
	entries := make([]thread.Entry, len(payloads))
	for i, p := range payloads {
		entries[i] = w.entry(p)
	}
	return entries
}

var logCases = []testCase{
	{"every kind of event reads back as it was", func(e *env) {
		w := e.started()
		want := w.everyKind()
		require.NoError(e, e.AppendLog(e.ctx, w.lease, want))
		require.Equal(e, want, e.log(w.run.ThreadID))
	}},
	{"reading goes on behind a position", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		var all []thread.Entry
		for i := range 10 {
			batch := []thread.Entry{w.note("a"), w.entry(agent.Event{Kind: agent.BreakpointHit}), w.note(fmt.Sprint(i))}
			all = append(all, batch...)
			if i%2 == 0 {
				require.NoError(e, e.AppendLog(e.ctx, w.lease, batch))
			} else {
				w.commit(func(c *thread.Commit) { c.Entries = batch })
			}
		}
		for after := range 31 {
			got, err := e.ReadLog(e.ctx, id, int64(after), 1000)
			require.NoError(e, err)
			require.Equal(e, append([]thread.Entry(nil), all[after:]...), got, "after %d", after)
		}
		var got []thread.Entry
		for after := int64(0); ; {
			page, err := e.ReadLog(e.ctx, id, after, 4)
			require.NoError(e, err)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(e, len(page), 8, "about as many as asked for")
			got = append(got, page...)
			after = page[len(page)-1].Pos
		}
		require.Equal(e, all, got)
	}},
	{"a run's own entries", func(e *env) {
		t := e.newThread()
		var runs []*worker
		for i := range 3 {
			w := e.claim(e.admit(t.ID).Run.ID)
			for range i + 1 {
				require.NoError(e, e.AppendLog(e.ctx, w.lease, []thread.Entry{w.note("a"), w.note("b")}))
			}
			w.finish()
			runs = append(runs, w)
		}
		for i, w := range runs {
			got, err := e.ReadRunLog(e.ctx, t.ID, w.run.ID, 0, 1000)
			require.NoError(e, err)
			require.Len(e, got, 2*(i+1)+1)
			for _, en := range got {
				require.Equal(e, w.run.ID, en.RunID)
			}
			rest, err := e.ReadRunLog(e.ctx, t.ID, w.run.ID, got[0].Pos, 1000)
			require.NoError(e, err)
			require.Equal(e, got[1:], rest)
			none, err := e.ReadRunLog(e.ctx, t.ID, w.run.ID, got[len(got)-1].Pos, 1000)
			require.NoError(e, err)
			require.Empty(e, none)
		}
		waiting := e.admit(t.ID).Run
		none, err := e.ReadRunLog(e.ctx, t.ID, waiting.ID, 0, 10)
		require.NoError(e, err)
		require.Empty(e, none)
		_, err = e.ReadRunLog(e.ctx, t.ID, newID(), 0, 10)
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.ReadLog(e.ctx, newID(), 0, 10)
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"a run's entries span its attempts", func(e *env) {
		t := e.newThread()
		e.admit(t.ID)
		dead, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		require.NoError(e, e.AppendLog(e.ctx, dead.lease, []thread.Entry{dead.note("a")}))
		w := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		w.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{w.note("b")} })
		got, err := e.ReadRunLog(e.ctx, t.ID, w.run.ID, 0, 10)
		require.NoError(e, err)
		require.Len(e, got, 2)
		behind, err := e.ReadLog(e.ctx, t.ID, got[0].Pos+5, 10)
		require.NoError(e, err)
		require.Equal(e, got[1:], behind, "a cursor in the hole reads on behind it")
	}},
	{"a batch stored twice is there once", func(e *env) {
		w := e.started()
		batch := []thread.Entry{w.note("a"), w.note("b")}
		require.NoError(e, e.AppendLog(e.ctx, w.lease, batch))
		require.NoError(e, e.AppendLog(e.ctx, w.lease, batch))
		require.Equal(e, batch, e.log(w.run.ThreadID))
		require.NoError(e, e.AppendLog(e.ctx, w.lease, nil))
	}},
	{"where the log starts", func(e *env) {
		t := e.newThread()
		e.admit(t.ID)
		dead, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		w := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		start, err := e.LogStart(e.ctx, t.ID)
		require.NoError(e, err)
		require.Zero(e, start)
		w.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{w.note("a"), w.note("b")} })
		start, err = e.LogStart(e.ctx, t.ID)
		require.NoError(e, err)
		require.Equal(e, w.lease.NextPos, start)
		require.Greater(e, start, dead.lease.PosReserved, "what the dead worker may have said is skipped")
		_, err = e.LogStart(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"where the log ends", func(e *env) {
		ends := func(threadID string, wantPos, wantSeq int64) {
			pos, seq, err := e.LogEnd(e.ctx, threadID)
			require.NoError(e, err)
			require.Equal(e, [2]int64{wantPos, wantSeq}, [2]int64{pos, seq})
		}
		t := e.newThread()
		ends(t.ID, 0, 0)
		w := e.claim(e.admit(t.ID).Run.ID)
		ends(t.ID, 0, 0) // reserved numbers are no entries
		last := []thread.Entry{w.note("a"), w.note("b"), w.entry(agent.Event{Kind: agent.BreakpointHit})}
		w.commit(func(c *thread.Commit) { c.Entries = last })
		ends(t.ID, last[2].Pos, last[1].Seq)
		w.finish()
		end := e.log(t.ID)
		pos, seq := end[len(end)-1].Pos, end[len(end)-1].Seq
		ends(t.ID, pos, seq)
		next := e.claim(e.admit(t.ID).Run.ID)
		ends(t.ID, pos, seq)
		next.finish()
		_, err := e.ExpireLogs(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		require.Empty(e, e.events(t.ID))
		pos, seq, err = e.LogEnd(e.ctx, t.ID)
		require.NoError(e, err)
		require.Equal(e, [2]int64{next.pos - 1, next.seq - 1}, [2]int64{pos, seq}, "of a log that is gone, too")
		_, _, err = e.LogEnd(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"behind a dead worker the log ends with what it may have said", func(e *env) {
		t := e.newThread()
		e.admit(t.ID)
		dead, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		w := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		pos, seq, err := e.LogEnd(e.ctx, t.ID)
		require.NoError(e, err)
		require.GreaterOrEqual(e, pos, dead.lease.PosReserved)
		require.GreaterOrEqual(e, seq, dead.lease.SeqReserved)
		require.Equal(e, [2]int64{w.lease.NextPos - 1, w.lease.NextSeq - 1}, [2]int64{pos, seq})
	}},
	{"the newest run is the newest that doesn't wait for its beginning", func(e *env) {
		t := e.newThread()
		_, err := e.NewestRun(e.ctx, t.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		first := e.admit(t.ID).Run.ID
		_, err = e.NewestRun(e.ctx, t.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		newest := func() string {
			run, err := e.NewestRun(e.ctx, t.ID)
			require.NoError(e, err)
			return run.ID
		}
		w := e.claim(first)
		require.Equal(e, first, newest())
		second := e.admit(t.ID, strategy("enqueue")).Run.ID
		require.Equal(e, first, newest())
		w.finish()
		require.Equal(e, first, newest())
		e.claim(second).finish()
		require.Equal(e, second, newest())
		third := e.admit(t.ID).Run
		require.Equal(e, second, newest())
		e.cancel(third, "interrupt")
		require.Equal(e, third.ID, newest(), "its end is the last thing that the log tells")
		_, err = e.NewestRun(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
}

var retentionCases = []testCase{
	{"the log of a finished execution is dropped after its time", func(e *env) {
		t := e.newThread()
		w := e.claim(e.admit(t.ID).Run.ID)
		w.talk(3)
		w.finish()
		kept := e.claim(e.admit(t.ID).Run.ID)
		kept.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{kept.note("b")} })
		expire := func(before time.Time) int {
			n, err := e.ExpireLogs(e.ctx, before, 100)
			require.NoError(e, err)
			return n
		}
		require.Zero(e, expire(now().Add(-time.Minute)))
		require.Len(e, e.log(t.ID), 5)
		require.Equal(e, 1, expire(now().Add(time.Minute)))
		require.Zero(e, expire(now().Add(time.Minute)))
		require.Equal(e, []bool{true, true, false}, snapshots(e.log(t.ID)))
		start, err := e.LogStart(e.ctx, t.ID)
		require.NoError(e, err)
		require.Equal(e, kept.pos-3, start)
		gone, err := e.ReadRunLog(e.ctx, t.ID, w.run.ID, 0, 10)
		require.NoError(e, err)
		require.Empty(e, gone)
		require.Equal(e, thread.RunSuccess, e.getRun(t.ID, w.run.ID).Status)
		next, err := e.ReadRunLog(e.ctx, t.ID, kept.run.ID, 0, 10)
		require.NoError(e, err)
		require.Len(e, next, 1)
	}},
	{"edits are dropped with the runs beside them, once they are as old", func(e *env) {
		t := e.newThread()
		old := now().Add(-time.Hour)
		e.edit(told(t.ID, "", old))
		w := e.claim(e.admit(t.ID).Run.ID)
		w.talk(2)
		w.finish(func(f *thread.Finish) { f.At = old })
		e.edit(told(t.ID, e.getThread(t.ID).Head, old))
		last := e.edit(told(t.ID, e.getThread(t.ID).Head, now()))
		n, err := e.ExpireLogs(e.ctx, now().Add(-time.Minute), 100)
		require.NoError(e, err)
		require.Equal(e, 1, n)
		require.Equal(e, last, e.events(t.ID))
		next := e.claim(e.admit(t.ID).Run.ID)
		next.finish()
		_, err = e.ExpireLogs(e.ctx, now().Add(time.Minute), 100)
		require.NoError(e, err)
		require.Empty(e, e.events(t.ID))
	}},
	{"at most as many as asked for", func(e *env) {
		for range 3 {
			e.started().finish()
		}
		n, err := e.ExpireLogs(e.ctx, now().Add(time.Minute), 2)
		require.NoError(e, err)
		require.Equal(e, 2, n)
	}},
	{"a suspended execution keeps its log until it ends", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		w.talk(5)
		_, ids := w.suspend(1)
		n, err := e.ExpireLogs(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		require.Zero(e, n)
		next := e.claim(e.admit(id, resume("f", answer(ids[0], "1")), func(a *thread.Admission) {
			a.Run.ExecutionID = w.run.ExecutionID
		}).Run.ID)
		n, err = e.ExpireLogs(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		require.Zero(e, n, "while it goes on")
		next.finish()
		n, err = e.ExpireLogs(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		require.Equal(e, 2, n, "both runs of the execution")
		require.Empty(e, e.events(id))
	}},
	{"an execution that new input drops has ended", func(e *env) {
		w := e.started()
		w.suspend(1)
		next := e.claim(e.admit(w.run.ThreadID, func(a *thread.Admission) { a.DropsPending = true }).Run.ID)
		n, err := e.ExpireLogs(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		require.Equal(e, 1, n)
		next.finish()
	}},
}

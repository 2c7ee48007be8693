package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// ledger is what the parent of the killed processes knows of their store.
type ledger struct {
	threads map[string]*threadBook
	done    map[string]int // transitions by operation
	begun   int            // those that a kill cut off
	audit   thread.AuditVerifier
}

// threadBook is what is known of one thread.
type threadBook struct {
	create, remove, trim *entryOf
	runs                 map[string]*runBook
	// writes are commits and batches by id.
	writes map[string]*entryOf
	// touched tells that something was reported since the last check.
	touched bool
	// pos and seq are the highest numbers that readers have seen; token the highest that was given.
	pos, seq, token int64
}

// runBook is what is known of one run.
type runBook struct {
	admit, cancel, finish *entryOf
	claimed               bool
}

// entryOf is a transition that began, and may be done.
type entryOf struct {
	report
	done bool
}

func newLedger() *ledger { return &ledger{threads: map[string]*threadBook{}, done: map[string]int{}} }

func (l *ledger) thread(id string) *threadBook {
	b := l.threads[id]
	if b == nil {
		b = &threadBook{runs: map[string]*runBook{}, writes: map[string]*entryOf{}}
		l.threads[id] = b
	}
	return b
}

func (b *threadBook) run(id string) *runBook {
	r := b.runs[id]
	if r == nil {
		r = &runBook{}
		b.runs[id] = r
	}
	return r
}

// enter enters a report; an error tells of a number or token that came twice.
func (l *ledger) enter(r report) error {
	b := l.thread(r.Thread)
	b.touched = true
	mark := func(at **entryOf) {
		if *at == nil {
			*at = &entryOf{report: r}
		}
		(*at).done = (*at).done || r.Done
	}
	switch r.Op {
	case opCreate:
		mark(&b.create)
	case opDelete:
		mark(&b.remove)
	case opTrim:
		mark(&b.trim)
	case opAdmit, opResume:
		mark(&b.run(r.Run).admit)
	case opCancel:
		mark(&b.run(r.Run).cancel)
	case opClaim:
		if r.Token <= b.token {
			return fmt.Errorf("thread %s: token %d after %d", r.Thread, r.Token, b.token)
		}
		if r.First <= b.pos || r.Seq <= b.seq {
			return fmt.Errorf("thread %s: an owner starts at pos %d, seq %d; readers have seen pos %d, seq %d", r.Thread, r.First, r.Seq, b.pos, b.seq)
		}
		b.token = r.Token
		b.run(r.Run).claimed = true
	case opDeliver:
		b.pos, b.seq = max(b.pos, r.Last), max(b.seq, r.Seq)
	case opAppend, opCommit:
		w := b.writes[r.ID]
		mark(&w)
		b.writes[r.ID] = w
		if r.Finish {
			mark(&b.run(r.Run).finish)
		}
	}
	if r.Done {
		l.done[r.Op]++
	}
	return nil
}

// check compares the store with the books, and settles what had only begun by
// what is found: from now on it must stay so. Threads on which nothing was
// reported since the last check are left out, unless all is set.
func (l *ledger) check(e *env, all bool) {
	e.Helper()
	for id, b := range l.threads {
		if !b.touched && !all {
			continue
		}
		b.touched = false
		_, err := e.GetThread(e.ctx, id)
		exists := err == nil
		if !exists {
			require.ErrorIs(e, err, thread.ErrNotFound)
		}
		switch {
		case b.remove != nil && b.remove.done:
			require.False(e, exists, "thread %s was deleted", id)
		case b.create != nil && b.create.done && b.remove == nil:
			require.True(e, exists, "thread %s was created", id)
		}
		if exists {
			l.checkThread(e, id, b)
			if b.create != nil {
				b.create.done = true
			}
			b.remove = nil // it did not happen
			continue
		}
		runs, err := e.ListRuns(e.ctx, id, thread.RunQuery{})
		require.ErrorIs(e, err, thread.ErrNotFound)
		require.Empty(e, runs)
		delete(l.threads, id)
	}
	l.checkAudit(e)
}

func (l *ledger) checkThread(e *env, id string, b *threadBook) {
	e.Helper()
	t := e.getThread(id)
	require.Greater(e, t.NextPos, b.pos, "thread %s: the next position has been seen", id)
	require.Greater(e, t.NextSeq, b.seq, "thread %s: the next seq has been seen", id)
	entries := e.log(id)
	at := map[int64]thread.Entry{}
	var pos, seq int64
	ends := map[string]int{} // of runs that never began: the others of the suite say nothing of their end
	for _, en := range entries {
		if en.Event.Kind == agent.RunFinished {
			ends[en.RunID]++
		}
		require.Greater(e, en.Pos, pos)
		require.Greater(e, en.Seq, seq)
		pos, seq = en.Pos, en.Seq
		at[en.Pos] = en
	}
	if b.trim != nil {
		l.checkTrim(e, b, entries)
	}
	for _, w := range b.writes {
		l.settle(e, w, l.parts(e, w, at))
	}
	for runID, r := range b.runs {
		l.checkRun(e, id, runID, r)
	}
	checkReviews(e, id)
	checkEnds(e, id, ends)
}

// checkEnds requires one end of each run that was dropped before it began, at the
// latest once nothing is leased any more.
func checkEnds(e *env, threadID string, ends map[string]int) {
	e.Helper()
	if list := e.log(threadID); len(list) > 0 && list[0].Snapshot {
		return // it tells of the newest run alone
	}
	runs, err := e.ListRuns(e.ctx, threadID, thread.RunQuery{})
	require.NoError(e, err)
	leased := false
	for _, run := range runs {
		leased = leased || run.Status == thread.RunRunning
	}
	for _, run := range runs {
		n := ends[run.ID]
		switch {
		case run.Status != thread.RunInterrupted:
			require.Zero(e, n, "run %s is %s", run.ID, run.Status)
		case leased:
			require.LessOrEqual(e, n, 1, "run %s", run.ID)
		default:
			require.Equal(e, 1, n, "run %s was dropped", run.ID)
		}
	}
}

// checkTrim requires that a log was cut whole or not at all. A trimmed thread's
// earlier writes are gone, and nothing was done to it since.
func (l *ledger) checkTrim(e *env, b *threadBook, entries []thread.Entry) {
	e.Helper()
	cut := len(entries) > 0 && entries[0].Snapshot
	for _, en := range entries {
		require.Equal(e, cut, en.Snapshot)
	}
	switch {
	case cut:
		list, err := e.ListCheckpoints(e.ctx, b.trim.Thread, "", agent.CheckpointQuery{Limit: -1})
		require.NoError(e, err)
		require.Len(e, list, 1)
		require.Equal(e, list[0].Record.ID, entries[0].Event.Payload.(agent.CheckpointNote).ID)
		b.trim.done = true
		clear(b.writes)
	case b.trim.done:
		require.Fail(e, "a trimmed log is whole", "thread %s", b.trim.Thread)
	default:
		l.begun++
		b.trim = nil
	}
}

// parts tells for each part of a commit or batch whether it is there.
func (l *ledger) parts(e *env, w *entryOf, at map[int64]thread.Entry) map[string]bool {
	e.Helper()
	parts := map[string]bool{}
	for p := w.First; p <= w.Last; p++ {
		en, ok := at[p]
		parts[fmt.Sprint("entry ", p)] = ok && en.RunID == w.Run
	}
	if w.Op != opCommit {
		return parts
	}
	tuple, err := e.Checkpoint(e.ctx, w.Thread, "", w.Checkpoint)
	parts["checkpoint"] = err == nil
	parts["task"] = err == nil && len(tuple.Tasks) == 1 && tuple.Tasks[0].TaskID == w.Task
	seg, err := e.Segment(e.ctx, w.Thread, w.Segment, 1)
	parts["list"] = err == nil && len(seg.Entries) == 1
	reviewParts(e, w, parts)
	steps, err := e.Steps(e.ctx, w.Thread, w.Step)
	parts["step"] = err == nil && len(steps) == 1
	if w.Finish && parts["checkpoint"] { // without it another owner may have ended the run
		parts["end of the run"] = e.getRun(w.Thread, w.Run).Status.Ended()
	}
	return parts
}

// settle requires that all parts are there, or, if the transition wasn't done, none.
func (l *ledger) settle(e *env, w *entryOf, parts map[string]bool) {
	e.Helper()
	there := 0
	for _, ok := range parts {
		if ok {
			there++
		}
	}
	if w.done {
		require.Equal(e, len(parts), there, "%s %s was done and is lost: %v", w.Op, w.ID, parts)
		return
	}
	l.begun++
	require.Contains(e, []int{0, len(parts)}, there, "%s %s is half there: %v", w.Op, w.ID, parts)
	w.done = there > 0
	if !w.done {
		delete(l.threads[w.Thread].writes, w.ID)
	}
}

func (l *ledger) checkRun(e *env, threadID, runID string, r *runBook) {
	e.Helper()
	run, err := e.GetRun(e.ctx, threadID, runID)
	exists := err == nil
	if !exists {
		require.True(e, errors.Is(err, thread.ErrNotFound), "%v", err)
	}
	if r.admit != nil && (r.admit.done || r.claimed) {
		require.True(e, exists, "run %s was admitted", runID)
	}
	if a := r.admit; a != nil && a.Op == opResume {
		answers, err := e.Answers(e.ctx, threadID, []string{a.Interrupt})
		require.NoError(e, err)
		got, answered := answers[a.Interrupt]
		require.Equal(e, exists, answered, "run %s and its answer go together", runID)
		if answered {
			require.Equal(e, runID, got.RunID)
			checkDecided(e, threadID, a.Interrupt, runID)
		}
	}
	if !exists {
		delete(l.threads[threadID].runs, runID)
		return
	}
	if r.admit != nil {
		r.admit.done = true
	}
	if r.finish != nil && r.finish.done {
		require.Equal(e, thread.RunSuccess, run.Status)
	}
	if r.cancel != nil && r.cancel.done && !r.claimed {
		require.Equal(e, thread.RunInterrupted, run.Status)
	}
	if r.claimed && (r.finish == nil || !r.finish.done) && run.Status != thread.RunSuccess {
		require.Equal(e, thread.RunRunning, run.Status, "run %s was claimed", runID)
	}
}

func (l *ledger) sayWhatHappened(t *testing.T) {
	t.Logf("done: %v; cut off: %d; threads left: %d", l.done, l.begun, len(l.threads))
}

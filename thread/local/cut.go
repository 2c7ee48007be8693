package local

import (
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// snapshotRows stands for the number of a run in log rows that stand for what was cut.
const snapshotRows = -1

// logCut is the start of a thread's log that is going to be replaced by a snapshot.
type logCut struct {
	events  int   // rows of events; those of an earlier snapshot aren't counted
	lastKey int64 // of its rows; 0 for none
	// lastPos and lastSeq are the highest numbers in it.
	lastPos, lastSeq int64
	runs             map[int64]bool // by number: whose events it holds
	// bound is the key of the first checkpoint that what follows tells of; 0 for none.
	bound int64
}

// cutLog replaces the longest start of the log that may go by a snapshot of the
// thread as it was there (decisions 3): over tells whether the events of a run may
// go, those of edits may if they are older than the given time in milliseconds. A
// start that has fewer numbers than the snapshot takes, with one for the gap
// signal before it, stays. An earlier snapshot alone is only made anew if again is set.
func (h *head) cutLog(c *conn, over func(run int64) (bool, error), before int64, again bool) error {
	cut, err := h.findCut(c, over, before)
	if err != nil || cut.lastKey == 0 || cut.events == 0 && !again {
		return err
	}
	heads, err := cut.heads(c, h.k)
	if err != nil {
		return err
	}
	newest, err := cut.newest(c, h)
	if err != nil {
		return err
	}
	states, ends, ok := thread.Snapshot(cut.lastPos, cut.lastSeq, heads, newest)
	if !ok {
		return nil
	}
	first, _ := span(h.k, logBits)
	if _, err := c.exec(`DELETE FROM log WHERE k BETWEEN ? AND ?`, first, cut.lastKey); err != nil {
		return err
	}
	for _, entries := range [][]thread.Entry{states, ends} {
		if len(entries) == 0 {
			continue
		}
		batch, err := encodeLog(entries)
		if err != nil {
			return err
		}
		if err := batch.putOwned(c, h.k, snapshotRows, entries[0].RunID); err != nil {
			return err
		}
	}
	for run := range cut.runs {
		if _, err := c.exec(`UPDATE runs SET log_from=0, retire=NULL WHERE k=?`, within(h.k, runBits, run)); err != nil {
			return err
		}
	}
	return nil
}

// findCut looks how far the log may be cut, and what lies behind.
func (h *head) findCut(c *conn, over func(run int64) (bool, error), before int64) (cut logCut, err error) {
	cut.runs = map[int64]bool{}
	kept := map[int64]bool{}
	behind := false
	first, last := span(h.k, logBits)
	r := c.query(`SELECT k, last, last_seq, run, CASE WHEN run=0 THEN data END FROM log WHERE k BETWEEN ? AND ? ORDER BY k`, first, last)
	for r.next() {
		run := r.int(3)
		var edit []thread.Entry
		goes := true
		switch {
		case run == outsideRuns:
			if edit, err = thread.DecodeEntries(nil, r.view(4), "", 0); err == nil {
				goes = len(edit) == 0 || edit[0].Event.At < before
			}
		case run > 0 && !cut.runs[run] && !kept[run]:
			goes, err = over(run)
		}
		if err != nil {
			return cut, errorsFirst(err, r.close())
		}
		if behind = behind || !goes; behind {
			if err := cut.boundBy(c, h.k, run, edit, kept); err != nil {
				return cut, errorsFirst(err, r.close())
			}
			continue
		}
		cut.lastKey, cut.lastPos, cut.lastSeq = r.int(0), r.int(1), max(cut.lastSeq, r.int(2))
		if run > 0 {
			cut.runs[run] = true
		}
		if run != snapshotRows {
			cut.events++
		}
	}
	return cut, r.close()
}

// boundBy keeps the checkpoints that a row behind the cut tells of out of the snapshot.
func (cut *logCut) boundBy(c *conn, k, run int64, edit []thread.Entry, kept map[int64]bool) error {
	first, last := span(k, checkpointBits)
	bound := func(r *rows) {
		if at := r.int(0); at != 0 && (cut.bound == 0 || at < cut.bound) {
			cut.bound = at
		}
	}
	if run > 0 && !kept[run] {
		kept[run] = true
		_, err := c.one(bound, `SELECT min(k) FROM checkpoints WHERE k BETWEEN ? AND ? AND run=(SELECT id FROM runs WHERE k=?)`,
			first, last, within(k, runBits, run))
		return err
	}
	for _, e := range edit {
		if note, ok := e.Event.Payload.(agent.CheckpointNote); ok {
			_, err := c.one(bound, `SELECT min(k) FROM checkpoints WHERE id=? AND k BETWEEN ? AND ?`, uuidID(note.ID), first, last)
			return err
		}
	}
	return nil
}

// heads are the newest checkpoints of the namespaces at the cut, the root's first,
// without their states.
func (cut *logCut) heads(c *conn, k int64) (heads []agent.CheckpointRecord, err error) {
	first, last := span(k, checkpointBits)
	if cut.bound != 0 {
		last = cut.bound - 1
	}
	r := c.query(`SELECT id, parent, ns, step, source, at FROM checkpoints
		WHERE k IN (SELECT max(k) FROM checkpoints WHERE k BETWEEN ? AND ? GROUP BY ns) ORDER BY ns<>'', k DESC LIMIT ?`, first, last, thread.MaxSnapshot)
	for r.next() {
		heads = append(heads, agent.CheckpointRecord{ID: r.id(0), ParentID: r.id(1), NS: r.text(2), Step: int(r.int(3)), Source: r.text(4), AtMillis: r.int(5)})
	}
	return heads, r.close()
}

// newest is the newest run that has ended and that the log has nothing of behind
// the cut, nor will have; nil for none.
func (cut *logCut) newest(c *conn, h *head) (*thread.Run, error) {
	var w runRow
	found := false
	first, last := span(h.k, runBits)
	r := c.query(selectRuns+` WHERE r.k BETWEEN ? AND ? ORDER BY r.k DESC`, first, last)
	for !found && r.next() {
		w = readRun(r)
		n := number(w.k, runBits)
		owed := slices.ContainsFunc(h.owed, func(u unbegun) bool { return u.run == n })
		found = w.status > runRunning && !owed && (w.logFrom == 0 || cut.runs[n])
	}
	if err := r.close(); err != nil || !found {
		return nil, err
	}
	run, err := w.run()
	return &run, err
}

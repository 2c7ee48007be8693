package local

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-dev/parley/thread"
)

// logBatch is a batch of log entries on its way into the store.
type logBatch struct {
	first, last       int64
	firstSeq, lastSeq int64
	data              []byte
}

func encodeLog(entries []thread.Entry) (b logBatch, err error) {
	if len(entries) == 0 {
		return b, nil
	}
	b.first, b.last = entries[0].Pos, entries[len(entries)-1].Pos
	for _, e := range entries {
		if e.Seq != 0 {
			if b.firstSeq == 0 {
				b.firstSeq = e.Seq
			}
			b.lastSeq = e.Seq
		}
	}
	b.data, err = thread.AppendEntries(nil, entries)
	return b, err
}

// put stores the batch for run number run. Storing it once more is harmless; its
// positions must not be those of another one.
func (b logBatch) put(c *conn, k, run int64) error { return b.putOwned(c, k, run, "") }

// putOwned is put with the id of a run that has no row.
func (b logBatch) putOwned(c *conn, k, run int64, owner string) error {
	if b.data == nil {
		return nil
	}
	key := within(k, logBits, b.first)
	var name any
	if owner != "" {
		name = uuidID(owner)
	}
	n, err := c.exec(`INSERT OR IGNORE INTO log(k, last, first_seq, last_seq, run, data, owner) VALUES(?,?,?,?,?,?,?)`,
		key, b.last, b.firstSeq, b.lastSeq, run, b.data, name)
	if err != nil || n == 1 {
		return err
	}
	same := false
	if _, err := c.one(func(r *rows) { same = bytes.Equal(r.view(0), b.data) }, `SELECT data FROM log WHERE k=?`, key); err != nil || same {
		return err
	}
	return fmt.Errorf("log position %d is taken: %w", b.first, thread.ErrConflict)
}

// logEnd is the last position and seq of a thread's log that are at least the
// given ones; those otherwise.
func logEnd(c *conn, k, pos, seq int64) (lastPos, lastSeq int64, err error) {
	lastPos, lastSeq = pos, seq
	r := c.query(`SELECT last, last_seq FROM log WHERE k BETWEEN ? AND ? ORDER BY k DESC`, within(k, logBits, pos+1), within(k+1, logBits, 0)-1)
	for r.next() {
		lastPos = max(lastPos, r.int(0))
		if r.int(1) > seq {
			lastSeq = r.int(1)
			break
		}
	}
	return lastPos, lastSeq, r.close()
}

// ReadLog implements thread.Log.
func (s *Store) ReadLog(ctx context.Context, threadID string, after int64, limit int) (list []thread.Entry, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		list, err = readLog(c, k, "", 0, after, limit)
		return err
	})
	return list, err
}

// ReadRunLog implements thread.Log.
func (s *Store) ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) (list []thread.Entry, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		w, err := oneRun(c, threadID, runID)
		if err != nil || w.logFrom == 0 {
			return err
		}
		list, err = readLog(c, w.k>>runBits, runID, number(w.k, runBits), max(after, w.logFrom-1), limit)
		return err
	})
	return list, err
}

// readLog reads about limit entries behind after; with run set those of that
// run alone, which lie behind one another.
func readLog(c *conn, k int64, runID string, run, after int64, limit int) ([]thread.Entry, error) {
	var list []thread.Entry
	from, err := batchOf(c, k, after+1)
	if err != nil {
		return nil, err
	}
	_, last := span(k, logBits)
	names := map[int64]string{run: runID}
	r := c.query(`SELECT run, data, owner FROM log WHERE k BETWEEN ? AND ? ORDER BY k`, from, last)
	for r.next() && (limit <= 0 || len(list) < limit) {
		n := r.int(0)
		if run != 0 && n != run {
			if len(list) > 0 {
				break
			}
			continue
		}
		id, ok := names[n]
		if n <= outsideRuns {
			id, ok = r.id(2), true
		}
		if !ok {
			if id, err = runIDOf(c, k, n); err != nil {
				return nil, errorsFirst(err, r.close())
			}
			names[n] = id
		}
		if list, err = thread.DecodeEntries(list, r.view(1), id, after); err != nil {
			return nil, errorsFirst(err, r.close())
		}
		for i := len(list) - 1; n == snapshotRows && i >= 0 && !list[i].Snapshot; i-- {
			list[i].Snapshot = true
		}
	}
	return list, r.close()
}

// batchOf is the key of the batch that holds pos, or of the first behind it.
func batchOf(c *conn, k, pos int64) (key int64, err error) {
	key = within(k, logBits, pos)
	_, err = c.one(func(r *rows) {
		if r.int(1) >= pos {
			key = r.int(0)
		}
	}, `SELECT k, last FROM log WHERE k BETWEEN ? AND ? ORDER BY k DESC LIMIT 1`, within(k, logBits, 0), key)
	return key, err
}

func runIDOf(c *conn, k, n int64) (id string, err error) {
	_, err = c.one(func(r *rows) { id = r.id(0) }, `SELECT id FROM runs WHERE k=?`, within(k, runBits, n))
	return id, err
}

// LogStart implements thread.Log.
func (s *Store) LogStart(ctx context.Context, threadID string) (pos int64, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		first, last := span(k, logBits)
		_, err = c.one(func(r *rows) { pos = number(r.int(0), logBits) }, `SELECT k FROM log WHERE k BETWEEN ? AND ? ORDER BY k LIMIT 1`, first, last)
		return err
	})
	return pos, err
}

// LogEnd implements thread.Log.
func (s *Store) LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		h, err := loadHead(c, threadID)
		if err != nil {
			return err
		}
		if h.running == 0 {
			pos, seq = h.nextPos-1, h.nextSeq-1
			return nil
		}
		pos, seq, err = logEnd(c, h.k, h.startPos-1, h.startSeq-1) // the counters stand behind what is reserved
		return err
	})
	return pos, seq, err
}

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

const selectSegment = `SELECT k, base, base_len FROM segments WHERE thread=? AND id=?`

// appendSegment stores new entries of a message list. Storing the same entries
// once more is harmless; others in their place are refused.
func appendSegment(c *conn, k int64, a *message.SegmentAppend) error {
	var sk int64
	ok, err := c.one(func(r *rows) { sk = r.int(0) }, selectSegment, k, a.Segment)
	if err != nil {
		return err
	}
	if !ok {
		_, err := c.exec(`INSERT INTO segments(thread, id, base, base_len) VALUES(?,?,?,?)`, k, a.Segment, a.Base.Segment, a.Base.Len)
		if err != nil {
			return err
		}
		sk = c.lastRowID()
	}
	for i, e := range a.Entries {
		key := within(sk, entryBits, int64(a.From+i))
		n, err := c.exec(`INSERT OR IGNORE INTO segment_entries(k, data) VALUES(?,?)`, key, e)
		if err != nil {
			return err
		}
		if n == 1 {
			continue
		}
		same := false
		if _, err := c.one(func(r *rows) { same = bytes.Equal(r.view(0), e) }, `SELECT data FROM segment_entries WHERE k=?`, key); err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("entry %d of list segment %s is another one: %w", a.From+i, a.Segment, thread.ErrConflict)
		}
	}
	return nil
}

// Segment implements thread.Checkpoints.
func (s *Store) Segment(ctx context.Context, threadID, segment string, n int) (seg message.Segment, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		seg = message.Segment{ID: segment}
		var sk int64
		ok, err := c.one(func(r *rows) {
			sk, seg.Base = r.int(0), message.Ref{Segment: r.text(1), Len: int(r.int(2))}
		}, selectSegment, k, segment)
		if err != nil || !ok {
			return errorsFirst(err, &thread.NotFoundError{Kind: notFoundSegment, ID: segment})
		}
		first, last := span(sk, entryBits)
		if n > 0 {
			seg.Entries = make([]json.RawMessage, 0, n)
		}
		r := c.query(`SELECT data FROM segment_entries WHERE k BETWEEN ? AND ? ORDER BY k LIMIT ?`, first, last, n)
		for r.next() {
			seg.Entries = append(seg.Entries, r.blob(0))
		}
		return r.close()
	})
	return seg, err
}

// Blobs implements thread.Checkpoints.
func (s *Store) Blobs(ctx context.Context, threadID string, ids []string) (blobs map[string][]byte, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		blobs = make(map[string][]byte, len(ids))
		for _, id := range ids {
			_, err := c.one(func(r *rows) { blobs[id] = nonNil(r.blob(0)) }, `SELECT data FROM blobs WHERE thread=? AND id=?`, k, id)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return blobs, err
}

// copySegments copies the blobs and message lists of a thread to another.
func copySegments(c *conn, from, to int64) error {
	if _, err := c.exec(`INSERT INTO blobs(thread, id, data) SELECT ?, id, data FROM blobs WHERE thread=?`, to, from); err != nil {
		return err
	}
	if _, err := c.exec(`INSERT INTO segments(thread, id, base, base_len) SELECT ?, id, base, base_len FROM segments WHERE thread=?`, to, from); err != nil {
		return err
	}
	_, err := c.exec(`INSERT INTO segment_entries(k, data)
		SELECT (n.k<<24) | (e.k & 16777215), e.data
		FROM segments o JOIN segments n ON n.thread=? AND n.id=o.id
		JOIN segment_entries e ON e.k BETWEEN o.k<<24 AND ((o.k+1)<<24)-1
		WHERE o.thread=?`, to, from)
	return err
}

// dropSegments removes the message lists of a thread.
func dropSegments(c *conn, k int64) error {
	var keys []int64
	r := c.query(`SELECT k FROM segments WHERE thread=?`, k)
	for r.next() {
		keys = append(keys, r.int(0))
	}
	if err := r.close(); err != nil || len(keys) == 0 {
		return err
	}
	for _, sk := range keys {
		if err := dropSegment(c, sk); err != nil {
			return err
		}
	}
	return nil
}

// dropSegment removes the segment with that key.
func dropSegment(c *conn, sk int64) error {
	first, last := span(sk, entryBits)
	if _, err := c.exec(`DELETE FROM segment_entries WHERE k BETWEEN ? AND ?`, first, last); err != nil {
		return err
	}
	_, err := c.exec(`DELETE FROM segments WHERE k=?`, sk)
	return err
}

package local

import (
	"context"
	"math"

	"github.com/parley-dev/parley/agent"
)

// TrimThread implements thread.Threads.
func (s *Store) TrimThread(ctx context.Context, id string) error {
	return s.write(ctx, true, func(t *tx) error {
		h, err := loadHead(t.conn, id)
		if err != nil {
			return err
		}
		first, last := span(h.k, checkpointBits)
		_, err = dropCheckpoints(t.conn, h, `k NOT IN (SELECT max(k) FROM checkpoints WHERE k BETWEEN ? AND ? GROUP BY ns)`, first, last)
		if err != nil {
			return err
		}
		if err := h.cutLog(t.conn, h.retired(t.conn), math.MaxInt64, true); err != nil || h.inflight() {
			return err
		}
		return dropUnused(t.conn, h.k)
	})
}

// dropUnused removes the blobs and message lists that no checkpoint of the thread refers to.
func dropUnused(c *conn, k int64) error {
	var refs agent.Refs
	first, last := span(k, checkpointBits)
	r := c.query(`SELECT state FROM checkpoints WHERE k BETWEEN ? AND ?`, first, last)
	for r.next() {
		if err := refs.Add(r.view(0)); err != nil {
			return errorsFirst(err, r.close())
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	if err := dropBlobsExcept(c, k, refs.Blobs); err != nil {
		return err
	}
	return dropSegmentsExcept(c, k, refs.Segments)
}

func dropBlobsExcept(c *conn, k int64, used map[string]bool) error {
	var drop []int64
	r := c.query(`SELECT k, id FROM blobs WHERE thread=?`, k)
	for r.next() {
		if !used[r.text(1)] {
			drop = append(drop, r.int(0))
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	for _, key := range drop {
		if _, err := c.exec(`DELETE FROM blobs WHERE k=?`, key); err != nil {
			return err
		}
	}
	return nil
}

// dropSegmentsExcept removes the list segments that are neither used nor below one that is.
func dropSegmentsExcept(c *conn, k int64, used map[string]bool) error {
	keys, bases := map[string]int64{}, map[string]string{}
	r := c.query(`SELECT k, id, base FROM segments WHERE thread=?`, k)
	for r.next() {
		id := r.text(1)
		keys[id], bases[id] = r.int(0), r.text(2)
	}
	if err := r.close(); err != nil {
		return err
	}
	for id := range used {
		for base := id; keys[base] != 0; base = bases[base] {
			delete(keys, base)
		}
	}
	for _, key := range keys {
		if err := dropSegment(c, key); err != nil {
			return err
		}
	}
	return nil
}

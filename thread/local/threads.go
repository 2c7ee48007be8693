package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/parley-dev/parley/thread"
)

// newThread is a thread on its way into the store, with all encoding done
// outside of the writer.
type newThread struct {
	row      threadRow
	metadata thread.Metadata
}

func (s *Store) encodeThread(t thread.Thread) (newThread, error) {
	n := newThread{metadata: t.Metadata, row: threadRow{
		id: t.ID, created: micros(t.CreatedAt), config: t.Config, temporary: t.Temporary,
		expires: micros(t.ExpiresAt), ttl: t.TTLStrategy,
	}}
	if n.row.created == 0 {
		n.row.created = micros(s.now())
	}
	var err error
	n.row.metadata, err = encodeMetadata(t.Metadata)
	return n, err
}

const insertThread = `INSERT INTO threads(id, created, metadata, config, temporary, expires, ttl) VALUES(?,?,?,?,?,?,?)`

// insert stores the thread; its id must be free.
func (s *Store) insertThread(t *tx, n newThread) (threadRow, error) {
	row := n.row
	_, err := t.exec(insertThread, uuidID(row.id), row.created, row.metadata, row.config, row.temporary, orNull(row.expires), row.ttl)
	if err != nil {
		return row, err
	}
	row.k = t.lastRowID()
	return row, s.indexThread(t, row, n.metadata)
}

// CreateThread implements thread.Threads.
func (s *Store) CreateThread(ctx context.Context, t thread.Thread) error {
	n, err := s.encodeThread(t)
	if err != nil {
		return err
	}
	return s.write(ctx, true, func(t *tx) error {
		exists, err := t.one(func(*rows) {}, selectThreadKey, uuidID(n.row.id))
		if err != nil {
			return err
		}
		if exists {
			return fmt.Errorf("thread %s: %w", n.row.id, thread.ErrExists)
		}
		_, err = s.insertThread(t, n)
		return err
	})
}

// GetThread implements thread.Threads.
func (s *Store) GetThread(ctx context.Context, id string) (out thread.Thread, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, h, err := loadThread(c, id)
		if err == nil {
			out, err = row.thread(h)
		}
		return err
	})
	return out, err
}

// PatchThread implements thread.Threads.
func (s *Store) PatchThread(ctx context.Context, id string, p thread.ThreadPatch) (out thread.Thread, err error) {
	err = s.write(ctx, true, func(t *tx) error {
		row, h, err := loadThread(t.conn, id)
		if err != nil {
			return err
		}
		changed := row
		if p.Config != nil {
			changed.config = p.Config
		}
		if p.ExpiresAt != nil {
			changed.expires = micros(*p.ExpiresAt)
		}
		if p.TTLStrategy != nil {
			changed.ttl = *p.TTLStrategy
		}
		if row, err = s.changeThread(t, row, changed, p.Metadata); err != nil {
			return err
		}
		h.updated = micros(s.orNow(p.At))
		if err := h.save(t.conn); err != nil {
			return err
		}
		out, err = row.thread(h)
		return err
	})
	return out, err
}

// orNow is at, or the store's time when at is zero.
func (s *Store) orNow(at time.Time) time.Time {
	if at.IsZero() {
		return s.now()
	}
	return at
}

const updateThread = `UPDATE threads SET metadata=?, config=?, expires=?, ttl=? WHERE k=?`

// changeThread stores what is different in row, with metadata merged into its own.
func (s *Store) changeThread(t *tx, old, row threadRow, metadata thread.Metadata) (threadRow, error) {
	before, err := decodeMetadata(old.metadata)
	if err != nil {
		return row, err
	}
	after := maps.Clone(before)
	maps.Copy(after, metadata)
	if !sameMetadata(before, after) {
		if row.metadata, err = encodeMetadata(after); err != nil {
			return row, err
		}
		if err := s.reindexThread(t, old, before, after); err != nil {
			return row, err
		}
	}
	if bytes.Equal(row.metadata, old.metadata) && bytes.Equal(row.config, old.config) && row.expires == old.expires && row.ttl == old.ttl {
		return row, nil
	}
	_, err = t.exec(updateThread, row.metadata, row.config, orNull(row.expires), row.ttl, row.k)
	return row, err
}

func sameMetadata(a, b thread.Metadata) bool {
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// DeleteThread implements thread.Threads.
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	actor := thread.ActorFrom(ctx)
	return s.write(ctx, true, func(t *tx) error {
		row, h, err := loadThread(t.conn, id)
		if err != nil {
			return err
		}
		h.do(actor, s.now())
		if err := h.endAudit(t.conn); err != nil {
			return err
		}
		return s.dropThread(t, row)
	})
}

// dropThread removes a thread with everything of it.
func (s *Store) dropThread(t *tx, row threadRow) error {
	m, err := decodeMetadata(row.metadata)
	if err != nil {
		return err
	}
	if err := s.unindexThread(t, row, m); err != nil {
		return err
	}
	if err := dropSegments(t.conn, row.k); err != nil {
		return err
	}
	for _, table := range []struct {
		sql  string
		bits uint
	}{
		{`DELETE FROM runs WHERE k BETWEEN ? AND ?`, runBits},
		{`DELETE FROM checkpoints WHERE k BETWEEN ? AND ?`, checkpointBits},
		{`DELETE FROM log WHERE k BETWEEN ? AND ?`, logBits},
	} {
		first, last := span(row.k, table.bits)
		if _, err := t.exec(table.sql, first, last); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`DELETE FROM idempotency WHERE thread=?`,
		`DELETE FROM tasks WHERE thread=?`,
		`DELETE FROM interrupts WHERE thread=?`,
		`DELETE FROM steps WHERE thread=?`,
		`DELETE FROM blobs WHERE thread=?`,
		`DELETE FROM heads WHERE k=?`,
		`DELETE FROM threads WHERE k=?`,
	} {
		if _, err := t.exec(sql, row.k); err != nil {
			return err
		}
	}
	return nil
}

// ExpiredThreads implements thread.Threads. The thread of a stateless run
// stays until its webhooks are delivered: they are made of its run.
func (s *Store) ExpiredThreads(ctx context.Context, now time.Time, limit int) (list []thread.Thread, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		r := c.query(`SELECT `+threadColumns+`, `+headColumns+` FROM threads t LEFT JOIN heads h ON h.k=t.k
			WHERE t.expires IS NOT NULL AND t.expires<=? ORDER BY t.expires`, micros(now))
		for len(list) < limit && r.next() { // no LIMIT: those that wait don't count
			row := readThreadRow(r)
			h, err := readHead(r, threadColumnCount, row.k)
			if err != nil {
				return errorsFirst(err, r.close())
			}
			if row.temporary {
				waits, err := c.one(func(*rows) {}, `SELECT 1 FROM outbox WHERE thread=? AND dead=0 LIMIT 1`, row.id)
				if err != nil {
					return errorsFirst(err, r.close())
				}
				if waits {
					continue
				}
			}
			t, err := row.thread(h)
			if err != nil {
				return errorsFirst(err, r.close())
			}
			list = append(list, t)
		}
		return r.close()
	})
	return list, err
}

// errorsFirst is the first error.
func errorsFirst(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

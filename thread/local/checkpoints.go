package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

const (
	insertCheckpoint  = `INSERT INTO checkpoints(k, id, parent, ns, run, step, source, at, metadata, state) VALUES(?,?,?,?,?,?,?,?,?,?)`
	checkpointColumns = `k, id, parent, ns, run, step, source, at, metadata, state`
	selectCheckpoint  = `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE id=? AND k BETWEEN ? AND ?`
	newestNested      = `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE ns=? AND ns<>'' AND k BETWEEN ? AND ? ORDER BY k DESC LIMIT 1`
)

// putCheckpoint stores a checkpoint as the newest of the thread. Its id must be
// above floor, the thread's head (decisions 15). cause is why questions of the one that it replaces end.
func putCheckpoint(c *conn, h *head, rec *agent.CheckpointRecord, floor string, now int64, cause string) error {
	if rec.ID <= floor {
		return fmt.Errorf("checkpoint %s is not above the head %s: %w", rec.ID, floor, thread.ErrConflict)
	}
	h.checkpoints++
	_, err := c.exec(insertCheckpoint, within(h.k, checkpointBits, h.checkpoints), uuidID(rec.ID), uuidID(rec.ParentID), rec.NS,
		uuidID(rec.RunID), rec.Step, rec.Source, rec.AtMillis, json.RawMessage(rec.Metadata), nonNil(rec.State))
	if err != nil {
		return err
	}
	for _, b := range rec.Blobs {
		if _, err := c.exec(`INSERT OR IGNORE INTO blobs(thread, id, data) VALUES(?,?,?)`, h.k, b.ID, nonNil(b.Data)); err != nil {
			return err
		}
	}
	for i := range rec.Lists {
		if err := appendSegment(c, h.k, &rec.Lists[i]); err != nil {
			return err
		}
	}
	if rec.NS == "" {
		h.head, h.stateUpdated = rec.ID, now
	}
	return supersede(c, h, rec.NS, rec.ID, cause)
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func readCheckpoint(r *rows) thread.StoredTuple {
	return thread.StoredTuple{Seq: number(r.int(0), checkpointBits), Record: agent.CheckpointRecord{
		ID: r.id(1), ParentID: r.id(2), NS: r.text(3), RunID: r.id(4), Step: int(r.int(5)), Source: r.text(6),
		AtMillis: r.int(7), Metadata: r.blob(8), State: r.blob(9)}}
}

// Checkpoint implements thread.Checkpoints.
func (s *Store) Checkpoint(ctx context.Context, threadID, ns, id string) (t thread.StoredTuple, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		h, err := loadHead(c, threadID)
		if err != nil {
			return err
		}
		if t, err = findCheckpoint(c, h, ns, id); err != nil {
			return err
		}
		return complete(c, h.k, &t)
	})
	return t, err
}

// Namespaces implements thread.Checkpoints.
func (s *Store) Namespaces(ctx context.Context, threadID string, limit int) (list []string, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		first, last := span(k, checkpointBits)
		r := c.query(`SELECT ns FROM checkpoints WHERE k BETWEEN ? AND ? GROUP BY ns ORDER BY ns<>'', max(k) DESC LIMIT ?`, first, last, limit)
		for r.next() {
			list = append(list, r.text(0))
		}
		return r.close()
	})
	return list, err
}

func findCheckpoint(c *conn, h *head, ns, id string) (t thread.StoredTuple, err error) {
	first, last := span(h.k, checkpointBits)
	var found bool
	if id == "" && ns == "" {
		if id = h.head; id == "" {
			return t, &thread.NotFoundError{Kind: notFoundCheckpoint}
		}
	}
	if id == "" {
		found, err = c.one(func(r *rows) { t = readCheckpoint(r) }, newestNested, ns, first, last)
	} else {
		r := c.query(selectCheckpoint, uuidID(id), first, last)
		for !found && r.next() {
			t = readCheckpoint(r)
			found = t.Record.NS == ns
		}
		err = r.close()
	}
	if err == nil && !found {
		err = &thread.NotFoundError{Kind: notFoundCheckpoint, ID: id}
	}
	return t, err
}

// complete adds the records of the checkpoint's tasks and the answers to their questions.
func complete(c *conn, k int64, t *thread.StoredTuple) (err error) {
	if t.Tasks, err = tasksOf(c, k, t.Record.NS, t.Record.ID); err != nil {
		return err
	}
	var ids []string
	for _, task := range t.Tasks {
		for _, i := range task.Interrupts {
			ids = append(ids, i.ID)
		}
	}
	t.Answers, err = answersOf(c, k, ids)
	return err
}

// ListCheckpoints implements thread.Checkpoints.
func (s *Store) ListCheckpoints(ctx context.Context, threadID, ns string, q agent.CheckpointQuery) (list []thread.StoredTuple, err error) {
	if q.Limit == 0 {
		return nil, nil
	}
	err = s.readAll(ctx, func(c *conn) error {
		h, err := loadHead(c, threadID)
		if err != nil {
			return err
		}
		first, last := span(h.k, checkpointBits)
		if q.Before != "" {
			t, err := findCheckpoint(c, h, ns, q.Before)
			if isNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			last = within(h.k, checkpointBits, t.Seq) - 1
		}
		if list, err = listCheckpoints(c, ns, first, last, q); err != nil {
			return err
		}
		for i := range list {
			if err := complete(c, h.k, &list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

func listCheckpoints(c *conn, ns string, first, last int64, q agent.CheckpointQuery) (list []thread.StoredTuple, err error) {
	sql := `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE ns=? AND ns<>'' AND k BETWEEN ? AND ? ORDER BY k DESC`
	if ns == "" {
		sql = `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE ns=? AND k BETWEEN ? AND ? ORDER BY k DESC`
	}
	r := c.query(sql, ns, first, last)
	for r.next() && (q.Limit < 0 || len(list) < q.Limit) {
		if len(q.Metadata) > 0 {
			m := thread.Metadata{}
			if err := json.Unmarshal(r.view(8), &m); err != nil {
				return nil, errorsFirst(err, r.close())
			}
			if !m.Contains(q.Metadata) {
				continue
			}
		}
		list = append(list, readCheckpoint(r))
	}
	return list, r.close()
}

// dropCheckpoints removes the given checkpoints with their task records.
func dropCheckpoints(c *conn, h *head, where string, args ...any) (dropped []string, err error) {
	first, last := span(h.k, checkpointBits)
	r := c.query(`SELECT id FROM checkpoints WHERE k BETWEEN ? AND ? AND `+where, append([]any{first, last}, args...)...)
	for r.next() {
		dropped = append(dropped, r.id(0))
	}
	if err := r.close(); err != nil || len(dropped) == 0 {
		return nil, err
	}
	for _, id := range dropped {
		if err := dropTasks(c, h.k, id); err != nil {
			return nil, err
		}
	}
	_, err = c.exec(`DELETE FROM checkpoints WHERE k BETWEEN ? AND ? AND `+where, append([]any{first, last}, args...)...)
	return dropped, err
}

// newestRoot is the id of the newest root checkpoint; "" for none.
func newestRoot(c *conn, k int64) (id string, err error) {
	first, last := span(k, checkpointBits)
	_, err = c.one(func(r *rows) { id = r.id(0) },
		`SELECT id FROM checkpoints WHERE k BETWEEN ? AND ? AND ns='' ORDER BY k DESC LIMIT 1`, first, last)
	return id, err
}

// copyCheckpoints copies all checkpoints and task records of a thread to another. Where
// metadata names the thread, it names the copy.
func copyCheckpoints(c *conn, from, to int64, fromID, toID string) error {
	old, new := quoted(fromID), quoted(toID)
	first, last := span(from, checkpointBits)
	r := c.query(`SELECT `+checkpointColumns+` FROM checkpoints WHERE k BETWEEN ? AND ?`, first, last)
	for r.next() {
		t := readCheckpoint(r)
		rec := &t.Record
		rec.Metadata = bytes.ReplaceAll(rec.Metadata, old, new)
		_, err := c.exec(insertCheckpoint, within(to, checkpointBits, t.Seq), uuidID(rec.ID), uuidID(rec.ParentID), rec.NS,
			uuidID(rec.RunID), rec.Step, rec.Source, rec.AtMillis, json.RawMessage(rec.Metadata), nonNil(rec.State))
		if err != nil {
			return errorsFirst(err, r.close())
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	_, err := c.exec(`INSERT INTO tasks(thread, checkpoint, task, ns, doc) SELECT ?, checkpoint, task, ns, doc FROM tasks WHERE thread=?`, to, from)
	return err
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always can be
		panic(err)
	}
	return b
}

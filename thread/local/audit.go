package local

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
)

// Entries are sealed in the transition that writes them: here a project's chain
// lies in the same database.

const (
	auditColumns = `project, seq, seal, thread, thread_seq, at, prev, hash, body`
	selectAudit  = `SELECT ` + auditColumns + ` FROM audit`
	insertAudit  = `INSERT INTO audit(project, seq, seal, thread, thread_seq, at, prev, hash, body, chain) VALUES(?,?,?,?,?,?,?,?,?,?)`
)

func readAudit(r *rows) thread.AuditEntry {
	return thread.AuditEntry{Project: r.text(0), Seq: r.int(1), Seal: hex.EncodeToString(r.view(2)), ThreadID: r.id(3), ThreadSeq: r.int(4),
		At: timeOf(r.int(5)), Prev: hex.EncodeToString(r.view(6)), Hash: hex.EncodeToString(r.view(7)), Body: r.blob(8)}
}

// listAudit reads the entries that a condition selects.
func listAudit(c *conn, where string, args ...any) (list []thread.AuditEntry, err error) {
	r := c.query(selectAudit+` WHERE `+where, args...)
	for r.next() {
		list = append(list, readAudit(r))
	}
	return list, r.close()
}

// auditTail is the newest entry of a thread's chain; ThreadSeq 0 for none.
func auditTail(c *conn, chain int64) (e thread.AuditEntry, err error) {
	_, err = c.one(func(r *rows) { e = readAudit(r) }, selectAudit+` WHERE chain=? ORDER BY thread_seq DESC LIMIT 1`, chain)
	return e, err
}

// appendAudit writes an entry, of the thread with key chain unless that is 0, and seals it.
func appendAudit(c *conn, project string, chain int64, threadID string, b thread.AuditBody, at time.Time) (e thread.AuditEntry, err error) {
	if project == "" {
		project = thread.DefaultProject
	}
	e = thread.AuditEntry{Project: project, ThreadID: threadID, At: storeTime(at)}
	if e.Body, err = b.Canonical(); err != nil {
		return e, err
	}
	if chain != 0 {
		tail, err := auditTail(c, chain)
		if err != nil {
			return e, err
		}
		e.ThreadSeq, e.Prev = tail.ThreadSeq+1, tail.Hash
		if tail.ThreadSeq != 0 {
			e.Project = tail.Project
		}
	}
	var seal string
	_, err = c.one(func(r *rows) { e.Seq, seal = r.int(0), hex.EncodeToString(r.view(1)) },
		`SELECT seq, seal FROM audit WHERE project=? ORDER BY seq DESC LIMIT 1`, e.Project)
	if err != nil {
		return e, err
	}
	e.Seq++
	e.Hash = thread.AuditHash(e.Prev, e.ThreadSeq, e.At, e.Body)
	e.Seal = thread.AuditSeal(seal, e.Seq, e.ThreadID, e.Hash)
	return e, putAudit(c, e, chain)
}

// putAudit stores an entry as it is.
func putAudit(c *conn, e thread.AuditEntry, chain int64) error {
	var sums [3][]byte
	for i, s := range []string{e.Seal, e.Prev, e.Hash} {
		b, err := hex.DecodeString(s)
		if err != nil {
			return fmt.Errorf("local: audit entry %d of %s: %w", e.Seq, e.Project, err)
		}
		sums[i] = nonNil(b)
	}
	_, err := c.exec(insertAudit, e.Project, e.Seq, sums[0], uuidID(e.ThreadID), e.ThreadSeq, micros(e.At), sums[1], sums[2], e.Body, orNull(chain))
	return err
}

// AppendAudit implements thread.Audit.
func (s *Store) AppendAudit(ctx context.Context, project, threadID string, body thread.AuditBody) error {
	body = body.By(thread.ActorFrom(ctx))
	if _, err := body.Canonical(); err != nil {
		return err
	}
	return s.write(ctx, true, func(t *tx) (err error) {
		var k int64
		if threadID != "" {
			if k, err = threadKey(t.conn, threadID); err != nil {
				return err
			}
		}
		_, err = appendAudit(t.conn, project, k, threadID, body, s.now())
		return err
	})
}

// ThreadAudit implements thread.Audit.
func (s *Store) ThreadAudit(ctx context.Context, threadID string) (list []thread.AuditEntry, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err == nil {
			list, err = listAudit(c, `chain=? ORDER BY thread_seq`, k)
		}
		return err
	})
	return list, err
}

// ProjectAudit implements thread.Audit.
func (s *Store) ProjectAudit(ctx context.Context, project string, after int64, limit int) (list []thread.AuditEntry, err error) {
	if project == "" {
		project = thread.DefaultProject
	}
	err = s.read(ctx, func(c *conn) (err error) {
		list, err = listAudit(c, `project=? AND seq>? ORDER BY seq LIMIT ?`, project, after, limit)
		return err
	})
	return list, err
}

// AuditEnd implements thread.Audit.
func (s *Store) AuditEnd(ctx context.Context, project string) (seq int64, err error) {
	if project == "" {
		project = thread.DefaultProject
	}
	err = s.read(ctx, func(c *conn) error {
		_, err := c.one(func(r *rows) { seq = r.int(0) }, `SELECT max(seq) FROM audit WHERE project=?`, project)
		return err
	})
	return seq, err
}

// Unsealed implements thread.Audit: there never are any.
func (s *Store) Unsealed(ctx context.Context, _ time.Time, _ int) ([]thread.AuditEntry, error) {
	return nil, ctx.Err()
}

// SealAudit implements thread.Audit: nothing ever waits.
func (s *Store) SealAudit(ctx context.Context) (int, error) { return 0, ctx.Err() }

// endAudit ends the chain of a thread that is removed: open reviews are superseded,
// which nobody is told of, since there is nothing left to show.
func (h *head) endAudit(c *conn) error {
	tail, err := auditTail(c, h.k)
	if err != nil || tail.ThreadSeq == 0 {
		return err // no review without an entry
	}
	list, err := pendingQuestions(c, h.k)
	if err != nil {
		return err
	}
	h.doing.quiet = true
	for _, q := range list {
		if err := h.endReview(c, q.review, thread.CauseDelete); err != nil {
			return err
		}
	}
	if _, err := h.audit(c, tail.Project, thread.AuditBody{Action: thread.AuditDeleted}); err != nil {
		return err
	}
	if _, err := c.exec(`UPDATE audit SET chain=NULL WHERE chain=?`, h.k); err != nil {
		return err
	}
	return dropReviews(c, h.k)
}

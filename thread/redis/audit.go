package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// AppendAudit implements thread.Audit.
func (s *Store) AppendAudit(ctx context.Context, project, threadID string, body thread.AuditBody) error {
	e, err := newEntry(ctx, body)
	if err != nil {
		return err
	}
	project = orDefault(project)
	if threadID != "" {
		_, err := s.change(ctx, threadID, "note", append([]any{newOp(), project}, e.args()...), derived{})
		return err
	}
	r := s.confirmed(ctx, "seal", s.keys.sealing(project, newOp()), project, "", "", 1, 0, 0, "", e.sum, []byte(e.body))
	return errorsFirst(r.err, r.unconfirmed)
}

// chainPart are entries of a thread's chain.
type chainPart struct {
	project string
	first   string // hash of the first entry of all, which names the chain
	sealed  int64  // how many are, as the thread has it
	entries []thread.AuditEntry
}

// takeChain reads entries of a chain; *NotFoundError without one.
func takeChain(threadID string, r *reply) (c chainPart, err error) {
	if r.status() == "GONE" {
		return c, noThread(threadID)
	}
	c.project, c.first, c.sealed = r.text(), r.text(), r.int()
	for r.more() {
		in := r.inner()
		c.entries = append(c.entries, thread.AuditEntry{Project: c.project, ThreadID: threadID, ThreadSeq: in.int(), At: timeOf(in.int()),
			Prev: in.text(), Hash: in.text(), Body: in.blob(), Seq: in.int(), Seal: in.text()})
		r.err = errorsFirst(r.err, in.err)
	}
	return c, r.err
}

// ThreadAudit implements thread.Audit.
func (s *Store) ThreadAudit(ctx context.Context, threadID string) ([]thread.AuditEntry, error) {
	r := s.eval(ctx, "chain", s.keys.thread(threadID), "all")
	if r.err != nil {
		return nil, r.err
	}
	c, err := takeChain(threadID, &r)
	return c.entries, err
}

// ProjectAudit implements thread.Audit.
func (s *Store) ProjectAudit(ctx context.Context, project string, after int64, limit int) (list []thread.AuditEntry, err error) {
	project = orDefault(project)
	if limit <= 0 {
		return nil, nil
	}
	r := s.eval(ctx, "projectchain", s.keys.sealing(project, "")[:3], max(after, 0), limit)
	for r.more() {
		in := r.inner()
		list = append(list, thread.AuditEntry{Project: project, Seq: in.int(), Seal: in.text(), ThreadID: in.text(), ThreadSeq: in.int(), At: timeOf(in.int()),
			Prev: in.text(), Hash: in.text(), Body: in.blob()})
		r.err = errorsFirst(r.err, in.err)
	}
	return list, r.err
}

// AuditEnd implements thread.Audit.
func (s *Store) AuditEnd(ctx context.Context, project string) (int64, error) {
	end, err := s.client.HGet(ctx, s.keys.projects()[0], orDefault(project)).Result()
	if errors.Is(err, rds.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, unavailable(err)
	}
	n, _, _ := strings.Cut(end, " ")
	return strconv.ParseInt(n, 10, 64)
}

// sealing lists the keys with which entries are added to a project's chain.
func (k keys) sealing(project, op string) []string {
	all := k.projects()
	return []string{all[0], all[1], k.projectAudit(project), k.projectsOp(op)}
}

// micro is a time as the bound of a range.
func micro(t time.Time) string { return strconv.FormatInt(micros(t), 10) }

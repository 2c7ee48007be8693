package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// loadKey stores an API key.
func (l *Target) loadKey(ctx context.Context, a *transfer.APIKey) error {
	k, err := a.Key()
	if err != nil {
		return err
	}
	doc, err := encodeJSON(k)
	if err != nil {
		return err
	}
	return l.client.HSet(ctx, l.keys.projects()[2], k.ID, storedKey(doc, !k.RevokedAt.IsZero())).Err()
}

// loadAudit stores an audit entry in its project's chain, and in that of the thread that is being loaded.
func (l *Target) loadAudit(ctx context.Context, a *transfer.Audit) error {
	keys := l.keys.sealing(a.Project, "")[:3]
	r := l.eval(ctx, "loadaudit", keys, a.Project, a.Seq, a.Seal, a.Thread, a.ThreadSeq, a.At, a.Prev, a.Hash, []byte(a.Body))
	if r.err != nil || l.t == nil {
		return r.err
	}
	if a.ThreadSeq == 1 {
		l.t.chain = a.Hash
	}
	if err := l.client.HSet(ctx, keys[1], l.t.chain, a.ThreadSeq).Err(); err != nil {
		return err
	}
	args := []any{"audit", a.ThreadSeq, a.At, a.Prev, a.Hash, []byte(a.Body), a.Seq, a.Seal, a.Project}
	return l.t.put(ctx, args, len(a.Body))
}

// reviewArgs are the arguments of a review; its question was loaded before.
func (l *loading) reviewArgs(v *transfer.Review) ([]any, error) {
	q, ok := l.questions[v.Interrupt]
	if !ok {
		return nil, fmt.Errorf("redis: review of %s, which nobody asked", v.Interrupt)
	}
	r := thread.Review{ThreadID: l.d.ID, RunID: q.Run, Generation: q.Generation, ID: thread.ReviewID(l.d.ID, v.Interrupt, q.Generation)}
	if err := v.Take(&r); err != nil {
		return nil, err
	}
	status := ""
	for stored, s := range reviewStatuses {
		if s == r.Status {
			status = stored
		}
	}
	if status == "" {
		return nil, fmt.Errorf("redis: no status %q of a review", v.Status)
	}
	ids := append(slices.DeleteFunc(slices.Clone(v.IDs), func(id string) bool { return id == r.ID }), r.ID)
	doc, err := encodeJSON(r.ReviewDraft)
	if err != nil {
		return nil, err
	}
	comments, err := commentPieces(r.Comments)
	if err != nil {
		return nil, err
	}
	var o thread.Outcome
	if r.Decided != nil {
		o = *r.Decided
	}
	decidedBy, err := piece(thread.AuditBody{RunID: o.RunID})
	if err != nil {
		return nil, err
	}
	args := appendList([]any{"review", v.Interrupt}, ids)
	args = append(args, []byte(doc), status, r.Project, r.Digest, r.Assignee, r.Role, join(comments), o.By, o.Decision, o.Notes, o.RunID, decidedBy,
		r.Version, micros(r.CreatedAt), micros(r.UpdatedAt), micros(r.ClaimedUntil), micros(r.ExpiresAt), micros(r.WarnAt), r.Escalations, micros(o.At))
	args = appendList(args, r.Notify)
	pieces, err := reviewPieces(r)
	return append(args, pieces...), err
}

// join is a text that nothing is left out of.
func join(pieces []string) string {
	if len(pieces) == 0 {
		return ""
	}
	return pieces[0]
}

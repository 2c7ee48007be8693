package local

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
)

// CopyThread implements thread.Threads.
func (s *Store) CopyThread(ctx context.Context, from, to string, at time.Time) (out thread.Thread, err error) {
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, true, func(t *tx) error {
		row, h, err := loadThread(t.conn, from)
		if err != nil {
			return err
		}
		if taken, err := t.one(func(*rows) {}, selectThreadKey, uuidID(to)); err != nil || taken {
			return errorsFirst(err, fmt.Errorf("thread %s: %w", to, thread.ErrExists))
		}
		m, err := decodeMetadata(row.metadata)
		if err != nil {
			return err
		}
		m["thread_id"] = quoted(to)
		n, err := s.encodeThread(thread.Thread{ID: to, CreatedAt: s.orNow(at), Metadata: m, Config: json.RawMessage("{}")})
		if err != nil {
			return err
		}
		copied, err := s.insertThread(t, n)
		if err != nil {
			return err
		}
		if err := copyCheckpoints(t.conn, row.k, copied.k, from, to); err != nil {
			return err
		}
		if err := copySegments(t.conn, row.k, copied.k); err != nil {
			return err
		}
		ch := &head{k: copied.k, nextSeq: 1, nextPos: 1, updated: n.row.created, head: h.head, stateUpdated: h.stateUpdated, checkpoints: h.checkpoints}
		ch.do(actor, s.now())
		if err := ch.copyReviews(t.conn, row.k, to); err != nil {
			return err
		}
		if err := ch.save(t.conn); err != nil {
			return err
		}
		out, err = copied.thread(ch)
		return err
	})
	return out, err
}

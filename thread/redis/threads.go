package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// CreateThread implements thread.Threads.
func (s *Store) CreateThread(ctx context.Context, t thread.Thread) error {
	metadata, err := encodeMetadata(t.Metadata)
	if err != nil {
		return err
	}
	args := []any{newOp(), micros(t.CreatedAt), t.Temporary, micros(t.ExpiresAt), t.TTLStrategy, []byte(metadata), []byte(t.Config)}
	_, err = s.change(ctx, t.ID, "create", args, derived{metadata: true})
	if errors.Is(err, thread.ErrExists) {
		return fmt.Errorf("thread %s: %w", t.ID, thread.ErrExists)
	}
	return err
}

// change runs a transition of a thread at rest: marked before, with its derived
// entries written behind it. The script's result is {'OK', row, …} or a refusal.
func (s *Store) change(ctx context.Context, id, script string, args []any, d derived) (row, error) {
	w, _, err := s.changeReply(ctx, id, script, args, d)
	return w, err
}

// marked runs a transition behind the mark of its thread: in one round trip where one server has
// both and carries them out in that order.
func (s *Store) marked(ctx context.Context, id, mark, script string, args []any) reply {
	_, many := s.client.(*rds.ClusterClient)
	if many || s.confirm.needed {
		if err := s.evalAll(ctx, s.marking(id, mark)); err != nil {
			return reply{err: err}
		}
		return s.confirmed(ctx, script, s.keys.thread(id), args...)
	}
	c := &call{script: script, keys: s.keys.thread(id), args: args}
	if err := s.evalAll(ctx, s.marking(id, mark), c); err != nil {
		return reply{err: err}
	}
	return c.reply
}

// errStale: the script found another version of what was read before.
var errStale = errors.New("redis: the thread has moved on")

func (s *Store) changeReply(ctx context.Context, id, script string, args []any, d derived) (w row, r reply, err error) {
	d.mark = newMark(id, "")
	status := "LEAVING"
	for first := true; status == "LEAVING"; first = false {
		if first {
			r = s.marked(ctx, id, d.mark, script, args)
		} else {
			r = s.confirmed(ctx, script, s.keys.thread(id), args...)
		}
		if r.err != nil {
			return w, r, r.err // the outcome is unknown: the mark stays
		}
		if status = r.status(); status == "LEAVING" {
			r.err = s.bury(ctx, id)
		}
		if r.err != nil {
			break
		}
	}
	switch status {
	case "OK":
		w = readRow(id, &r)
	case "GONE", "NONE":
		r.err = noThread(id)
	case "STALE":
		r.err = errStale
	case "MISFIT":
		r.err = &misfitError{generation: r.int()}
	case "EXPIRED":
		r.err = refusal(status, &r)
	default:
		if r.err == nil {
			r.fail()
		}
	}
	if r.err != nil {
		s.unmark(ctx, id, d.mark)
		return w, r, r.err
	}
	if w.stale && d.anew {
		if err := s.showAnew(ctx, id); err != nil {
			return w, r, err // the mark stays
		}
	}
	return w, r, errorsFirst(s.derive(ctx, w, d), r.unconfirmed)
}

// GetThread implements thread.Threads.
func (s *Store) GetThread(ctx context.Context, id string) (thread.Thread, error) {
	w, _, err := s.readRow(ctx, id)
	if err != nil {
		return thread.Thread{}, err
	}
	return w.thread()
}

// PatchThread implements thread.Threads.
func (s *Store) PatchThread(ctx context.Context, id string, p thread.ThreadPatch) (thread.Thread, error) {
	for {
		w, err := s.patch(ctx, id, p)
		if errors.Is(err, errStale) {
			continue
		}
		if err != nil {
			return thread.Thread{}, err
		}
		return w.thread()
	}
}

func (s *Store) patch(ctx context.Context, id string, p thread.ThreadPatch) (w row, err error) {
	if w, _, err = s.readRow(ctx, id); err != nil {
		return w, err
	}
	metadata, err := mergeMetadata(w.metadata, p.Metadata)
	if err != nil {
		return w, err
	}
	config := w.config
	if p.Config != nil {
		config = p.Config
	}
	mv := w.mv
	if bytes.Equal(metadata, w.metadata) && bytes.Equal(config, w.config) {
		mv = 0
	}
	args := []any{newOp(), mv, []byte(metadata), []byte(config)}
	if p.ExpiresAt != nil {
		args = append(args, 1, micros(*p.ExpiresAt))
	} else {
		args = append(args, 0, 0)
	}
	if p.TTLStrategy != nil {
		args = append(args, 1, *p.TTLStrategy)
	} else {
		args = append(args, 0, "")
	}
	return s.change(ctx, id, "patch", append(args, micros(p.At)), derived{metadata: mv != 0})
}

// DeleteThread implements thread.Threads. That the thread is gone although it was
// there a moment ago means that it is deleted: perhaps by this call, whose reply was lost.
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	mark := newMark(id, "")
	prior := &call{script: "prior", keys: s.keys.thread(id)}
	if err := s.evalAll(ctx, s.marking(id, mark), prior); err != nil {
		return err
	}
	if prior.reply.status() == "GONE" {
		s.unmark(ctx, id, mark)
		return noThread(id)
	}
	runs := prior.reply.inner()
	actor, err := actorArg(ctx)
	if err != nil {
		return err
	}
	audit, err := newEntry(ctx, thread.AuditBody{Action: thread.AuditDeleted})
	if err != nil {
		return err
	}
	r := s.confirmed(ctx, "delete", prior.keys, append(append(s.channelArgs(id), actor), audit.args()...)...)
	if r.err != nil {
		return r.err
	}
	status, version := r.status(), r.int()
	if status == "OK" {
		runs = r.inner()
	}
	leaving := r.bool()
	if r.err != nil {
		return r.err
	}
	if leaving {
		if err := s.bury(ctx, id); err != nil {
			return err // the mark stays
		}
	}
	if err := s.disown(ctx, runs.texts()...); err != nil {
		return err
	}
	return errorsFirst(s.underive(ctx, id, version, mark), r.unconfirmed)
}

// ExpiredThreads implements thread.Threads. The thread of a stateless run stays
// until its webhooks are delivered: they are made of its run.
func (s *Store) ExpiredThreads(ctx context.Context, now time.Time, limit int) (list []thread.Thread, err error) {
	for skip := 0; len(list) < limit; {
		ids, more, err := s.earliest(ctx, s.keys.expiring, now, skip, limit)
		if err != nil {
			return nil, err
		}
		rows, err := s.readRows(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, w := range rows {
			switch {
			case w == nil || w.expires == 0 || w.expires > micros(now):
				s.repair(ctx, ids[i])
				continue
			case len(list) == limit, w.temporary && len(w.deliveries) > 0:
				continue
			}
			t, err := w.thread()
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
		if skip += limit; !more {
			break
		}
	}
	return list, nil
}

// readRows reads threads; nil for those that don't exist.
func (s *Store) readRows(ctx context.Context, ids []string) ([]*row, error) {
	const batch = 500
	rows := make([]*row, 0, len(ids))
	for from := 0; from < len(ids); from += batch {
		part := ids[from:min(from+batch, len(ids))]
		calls := make([]*call, len(part))
		for i, id := range part {
			calls[i] = &call{script: "row", keys: s.keys.thread(id)}
		}
		if err := s.evalAll(ctx, calls...); err != nil {
			return nil, err
		}
		for i, id := range part {
			w, _, err := takeRow(id, &calls[i].reply)
			switch {
			case isNotFound(err):
				rows = append(rows, nil)
			case err != nil:
				return nil, err
			default:
				rows = append(rows, &w)
			}
		}
	}
	return rows, nil
}

func quoted(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a string always can be
		panic(err)
	}
	return b
}

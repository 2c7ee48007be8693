package redis

import (
	"context"
	"strconv"

	"github.com/parley-dev/parley/thread"
)

// glances reads what a search shows of threads; nil for those that don't exist.
func (s *Store) glances(ctx context.Context, ids []string) ([]*thread.Thread, error) {
	const batch = 500
	threads := make([]*thread.Thread, 0, len(ids))
	for from := 0; from < len(ids); from += batch {
		part := ids[from:min(from+batch, len(ids))]
		calls := make([]*call, len(part))
		for i, id := range part {
			calls[i] = &call{script: "glance", keys: s.keys.threadFirst(id, glanceKeys)}
		}
		if err := s.evalAll(ctx, calls...); err != nil {
			return nil, err
		}
		for i, id := range part {
			t, err := takeGlance(id, &calls[i].reply)
			if err != nil {
				return nil, err
			}
			threads = append(threads, t)
		}
	}
	return threads, nil
}

// glanceKeys is how many of a thread's keys are read: head, log and details.
const glanceKeys = 3

func takeGlance(id string, r *reply) (*thread.Thread, error) {
	if r.err != nil || !r.more() {
		return nil, r.err
	}
	in := r.inner()
	w := row{id: id, created: in.stored(), updated: in.stored(), stateUpdated: in.stored(), temporary: in.stored() != 0, expires: in.stored(), ttl: in.text(),
		status: in.stored(), head: in.text(), generation: in.stored(), nextSeq: in.stored(), nextPos: in.stored(), ended: in.stored() != 0}
	if in.err == nil && (w.status < 0 || int(w.status) >= len(statuses)) {
		in.fail()
	}
	details := r.inner()
	w.metadata, w.config, w.err = details.blob(), details.blob(), details.blob()
	if err := errorsFirst(in.err, details.err, r.err); err != nil {
		return nil, err
	}
	t, err := w.thread()
	return &t, err
}

// stored is a number as a head has it: one that is 0 isn't there.
func (r *reply) stored() int64 {
	v := r.value()
	if v == nil {
		return 0
	}
	text, ok := v.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		r.fail()
	}
	return n
}

package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/thread"
)

// open finds the reader's place. The thread may not exist yet.
func (r *EventReader) open(ctx context.Context) error {
	t := r.track
	t.mu.Lock()
	err := t.start(ctx)
	r.epoch = t.epoch
	t.mu.Unlock()
	if err != nil {
		return err
	}
	log := threadLog{source: r.hub.source, threadID: t.feed.threadID}
	end, _, err := log.end(ctx)
	if err != nil {
		return err
	}
	r.replay.end = end
	if end == 0 {
		r.opened = true
		return nil
	}
	if r.replay.runs, err = r.latest(ctx, log, end); err != nil {
		return err
	}
	if r.seq >= 0 {
		e, ok, err := log.upTo(ctx, r.seq)
		if err != nil {
			return err
		}
		if ok {
			r.pos = e.Pos
		}
	}
	r.opened = true
	return nil
}

// latest are the runs whose beginning and end a new reader is told of: those
// that have not ended, else the last one.
func (r *EventReader) latest(ctx context.Context, log threadLog, end int64) ([]string, error) {
	inflight, err := r.hub.source.Inflight(ctx, log.threadID)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return nil, fmt.Errorf("stream: runs of thread %s: %w", log.threadID, err)
	}
	if len(inflight) > 0 {
		ids := make([]string, len(inflight))
		for i := range inflight {
			ids[i] = inflight[i].ID
		}
		return ids, nil
	}
	entries, err := log.read(ctx, end-1, 1)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return []string{entries[0].RunID}, nil
}

package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/thread"
)

// open finds the reader's place. The thread may not exist yet.
func (r *eventReader) open(ctx context.Context) error {
	t := r.track
	t.mu.Lock()
	err := t.start(ctx)
	r.epoch = t.epoch
	live := t.pos
	t.mu.Unlock()
	if err != nil {
		return err
	}
	end, endSeq, err := t.log.end(ctx)
	if err != nil {
		return err
	}
	r.replay.end = end
	switch {
	case r.fromEnd:
		r.pos = max(end, live)
	case end > 0:
		if r.replay.runs, err = r.current(ctx); err == nil {
			err = r.place(ctx, endSeq)
		}
	}
	r.opened = err == nil
	return err
}

// current are the runs whose beginning and end a new reader is told of: those
// that have not ended, else the newest.
func (r *eventReader) current(ctx context.Context) ([]string, error) {
	inflight, err := r.hub.source.Inflight(ctx, r.track.log.threadID)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return nil, fmt.Errorf("stream: runs of thread %s: %w", r.track.log.threadID, err)
	}
	r.replay.active = len(inflight) > 0
	ids := make([]string, 0, len(inflight)+1)
	for i := range inflight {
		ids = append(ids, inflight[i].ID)
	}
	if len(ids) == 0 {
		run, err := r.newestRun(ctx)
		if err != nil {
			return nil, err
		}
		if run != nil {
			ids = append(ids, run.ID)
		}
	}
	return ids, nil
}

// place finds the entry behind which the reader starts, and whether events
// between its cursor and there are lost.
func (r *eventReader) place(ctx context.Context, endSeq int64) error {
	log := r.track.log
	known := true // the cursor is one that the log has, or the start
	if r.seq > 0 {
		e, ok, err := log.upTo(ctx, r.seq)
		if err != nil {
			return err
		}
		if ok {
			r.pos = e.Pos
		}
		known = ok && e.Seq == r.seq
	}
	next, more, err := log.numbered(ctx, r.pos)
	if err != nil {
		return err
	}
	if more && next.Snapshot { // the cursor lies before its end: the replay begins with all of it, and says so
		r.pos = 0
		return nil
	}
	from := max(r.seq, 0) + 1
	switch {
	case more && next.Seq > from && (!known || r.seq <= 0):
		err = r.leadOver(ctx, from, next.Seq-1)
	case more || known && r.seq > 0:
	case from <= endSeq: // all is gone
		err = r.leadOver(ctx, from, endSeq)
	case from > endSeq+1 && !r.replay.active:
		// Nobody can have got that far: the cursor is another thread's.
		r.seq = endSeq
		r.lead, err = r.gapFrames(ctx, endSeq+1, from-1, endSeq)
	}
	return err
}

// leadOver begins with the signal that the events from..to are lost. Those of them that
// the ring still has, as of a run that was rolled back, don't follow: their numbers are used.
func (r *eventReader) leadOver(ctx context.Context, from, to int64) (err error) {
	r.seq, r.last = to, to
	r.lead, err = r.gapFrames(ctx, from, to, to)
	return err
}

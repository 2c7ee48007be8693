package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/thread"
)

// threadLog reads the log of one thread. A thread that doesn't exist has an empty one.
type threadLog struct {
	source   Source
	threadID string
}

// read returns entries behind a Pos.
func (l threadLog) read(ctx context.Context, after int64, limit int) ([]thread.Entry, error) {
	entries, err := l.source.ReadLog(ctx, l.threadID, after, limit)
	return entries, l.wrap(err)
}

// end is the Pos and the Seq of the newest entry that was stored; 0 for none.
func (l threadLog) end(ctx context.Context) (pos, seq int64, err error) {
	pos, seq, err = l.source.LogEnd(ctx, l.threadID)
	return pos, seq, l.wrap(err)
}

func (l threadLog) wrap(err error) error {
	if err == nil || errors.Is(err, thread.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("stream: log of thread %s: %w", l.threadID, err)
}

// runStart is the Pos of the first entry of a run that the log has; 0 for none.
func (l threadLog) runStart(ctx context.Context, runID string) (int64, error) {
	entries, err := l.source.ReadRunLog(ctx, l.threadID, runID, 0, 1)
	if err != nil || len(entries) == 0 {
		return 0, l.wrap(err)
	}
	return entries[0].Pos, nil
}

// active is the run that has begun and not ended, with the Pos of its first entry; nil for none. The
// last entry may be another run's, which was dropped, or lie far before the end: the numbers
// of an owner who died are not given again.
func (l threadLog) active(ctx context.Context) (run *thread.Run, first int64, err error) {
	inflight, err := l.source.Inflight(ctx, l.threadID)
	if err != nil {
		return nil, 0, l.wrap(err)
	}
	for i := range inflight {
		if inflight[i].StartedAt.IsZero() {
			continue
		}
		pos, err := l.runStart(ctx, inflight[i].ID)
		if err != nil {
			return nil, 0, err
		}
		if pos > 0 && (run == nil || pos < first) {
			run, first = &inflight[i], pos
		}
	}
	return run, first, nil
}

// numbered returns the first entry behind pos that has a seq.
func (l threadLog) numbered(ctx context.Context, pos int64) (thread.Entry, bool, error) {
	for {
		entries, err := l.read(ctx, pos, 16)
		if err != nil || len(entries) == 0 {
			return thread.Entry{}, false, err
		}
		for _, e := range entries {
			if e.Seq > 0 {
				return e, true, nil
			}
		}
		pos = entries[len(entries)-1].Pos
	}
}

// upTo returns the newest entry that the log has with a Seq of at most seq; ok is
// false when there is none.
func (l threadLog) upTo(ctx context.Context, seq int64) (e thread.Entry, ok bool, err error) {
	first, err := l.source.LogStart(ctx, l.threadID)
	if err = l.wrap(err); err != nil || first == 0 {
		return e, false, err
	}
	last, _, err := l.end(ctx)
	if err != nil {
		return e, false, err
	}
	// Seq grows with Pos: the last place whose next numbered entry isn't behind seq.
	low, high := first-1, last
	for low+1 < high {
		middle := low + (high-low)/2
		e, ok, err := l.numbered(ctx, middle)
		if err != nil {
			return e, false, err
		}
		if ok && e.Seq <= seq {
			low = middle
		} else {
			high = middle
		}
	}
	e, ok, err = l.numbered(ctx, low)
	return e, ok && e.Seq <= seq, err
}

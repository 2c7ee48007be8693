package redis

import (
	"context"

	"github.com/parley-dev/parley/thread"
)

// ReadLog implements thread.Log.
func (s *Store) ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]thread.Entry, error) {
	return s.readLog(ctx, threadID, "", after, limit)
}

// ReadRunLog implements thread.Log.
func (s *Store) ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]thread.Entry, error) {
	if runID == "" {
		return nil, noRun(runID)
	}
	return s.readLog(ctx, threadID, runID, after, limit)
}

func (s *Store) readLog(ctx context.Context, threadID, runID string, after int64, limit int) (list []thread.Entry, err error) {
	r := s.eval(ctx, "readlog", s.keys.thread(threadID), after, max(limit, 0), runID)
	if r.err != nil {
		return nil, r.err
	}
	switch status := r.status(); {
	case status == "NONE", status == "GONE" && runID != "":
		return nil, noRun(runID)
	case status == "GONE":
		return nil, noThread(threadID)
	}
	for r.more() {
		run, data, snapshot := r.text(), r.blob(), r.bool()
		before := len(list)
		if list, err = thread.DecodeEntries(list, data, run, after); err != nil {
			return nil, err
		}
		for i := range list[before:] {
			list[before+i].Snapshot = snapshot
		}
	}
	return list, r.err
}

// ends reads where a log starts and ends.
func (s *Store) ends(ctx context.Context, threadID string) (start, pos, seq int64, err error) {
	r := s.eval(ctx, "logends", s.keys.thread(threadID)[:logEndKeys])
	if r.err == nil && r.status() == "GONE" {
		return 0, 0, 0, noThread(threadID)
	}
	start, pos, seq = r.int(), r.int(), r.int()
	return start, pos, seq, r.err
}

// LogStart implements thread.Log.
func (s *Store) LogStart(ctx context.Context, threadID string) (int64, error) {
	start, _, _, err := s.ends(ctx, threadID)
	return start, err
}

// LogEnd implements thread.Log.
func (s *Store) LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error) {
	_, pos, seq, err = s.ends(ctx, threadID)
	return pos, seq, err
}

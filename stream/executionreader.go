package stream

import (
	"context"

	"github.com/parley-dev/parley/stream/execution"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// NextRun finds the run with which an execution goes on behind one of its runs; nil while there is none. over says
// that none will come.
type NextRun func(ctx context.Context, after *thread.Run) (next *thread.Run, over bool, err error)

// OpenExecution prepares the stream of an execution in chunks (package execution), from one of its runs on: behind the
// chunk that Options.LastEventID names, if that is one of this run's. It ends behind the chunk that says that the
// execution is suspended or has ended. A client that has had that one of a suspended run gets the runs
// that follow, as soon as somebody decides. The stream must be served.
func (h *Hub) OpenExecution(run *thread.Run, o Options, next NextRun) *Stream {
	s := h.open(o, frame.Frame.AppendTo)
	after := int64(-1)
	if id, n, ok := execution.ParseID(o.LastEventID); ok && id == run.ID {
		after = n
	}
	r := &executionReader{hub: h, run: run, follow: next, feed: h.watch(run.ThreadID)}
	r.in = h.openRun(run, executionChunks, after, o.FromStart)
	s.in = r
	return s
}

// executionReader is one reader's place in an execution: in one of its runs, or behind it.
type executionReader struct {
	hub    *Hub
	feed   *feed // of the thread: it tells that something goes on
	run    *thread.Run
	in     *runReader // nil while the next run is awaited
	follow NextRun
	sent   bool   // something of run
	seen   uint64 // version of the feed when there was no next run
}

func (r *executionReader) next(ctx context.Context) ([]frame.Frame, status, error) {
	if r.in == nil {
		return r.await(ctx)
	}
	frames, state, err := r.in.next(ctx)
	r.sent = r.sent || len(frames) > 0
	if err != nil || state != ended || r.sent {
		return frames, state, err
	}
	// The client has all of this run.
	if !r.run.Suspended {
		return frames, ended, nil
	}
	r.in.close()
	r.in = nil
	return nil, more, nil
}

// await goes on with the next run, if it is there.
func (r *executionReader) await(ctx context.Context) ([]frame.Frame, status, error) {
	r.seen = r.feed.version.Load()
	run, over, err := r.follow(ctx, r.run)
	switch {
	case err != nil:
		return nil, waiting, err
	case run != nil:
		r.run, r.in = run, r.hub.openRun(run, executionChunks, -1, false)
		return nil, more, nil
	case over:
		return nil, ended, nil
	}
	return nil, waiting, nil
}

func (r *executionReader) lost() bool { return r.in != nil && r.in.lost() }

func (r *executionReader) changed() <-chan struct{} {
	if r.in != nil {
		return r.in.changed()
	}
	return r.feed.after(r.seen)
}

func (r *executionReader) idle(ctx context.Context) {
	if r.in != nil {
		r.in.idle(ctx)
		return
	}
	r.feed.nudge() // look again: another process may have gone on unheard
}

func (r *executionReader) close() {
	if r.in != nil {
		r.in.close()
	}
	r.hub.unwatch(r.feed)
}

package stream

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// Options configure one classic stream.
type Options struct {
	// LastEventID is where the client left off; "" and what can't be read are the start.
	LastEventID string
	// Modes narrows a run's stream to some of its stream modes; empty for all. It
	// never renumbers, and metadata and error always pass (spec/rest-api.md 4.9).
	// For a thread's stream: run_modes (default), lifecycle, state_update.
	Modes []string
	// ThreadState reads a state of the thread in the form of the state endpoints,
	// for mode state_update; nil for one that is gone. Without it the mode shows nothing.
	ThreadState func(ctx context.Context, ns, checkpointID string) (json.RawMessage, error)
	// NoIDs leaves out the id lines.
	NoIDs bool
	// Stop aborts the stream when it is closed (shutdown).
	Stop <-chan struct{}
	// FromStart says that the run was created while its thread was watched (see
	// Hub.Watch): all its events go through the hub, and none has to be looked
	// for in the log.
	FromStart bool
	// OnDisconnect is called when the client went away before the end.
	OnDisconnect func()
	// Heartbeat is the time between heartbeat comments. Default: DefaultHeartbeat.
	Heartbeat time.Duration
	// WriteTimeout bounds each write. Default: DefaultWriteTimeout.
	WriteTimeout time.Duration
}

// reader is what a stream is served from.
type reader interface {
	// next returns what is new; valid until the next call.
	next(ctx context.Context) ([]frame.Frame, status, error)
	// lost reports, once, that the client misses frames before those just taken.
	lost() bool
	// changed is closed once next has more to say.
	changed() <-chan struct{}
	// idle is called with every heartbeat.
	idle(ctx context.Context)
	close()
}

// ServeRun answers with the stream of a run: every frame behind the client's
// last one, then live, until the run's last frame. It works for a pending run
// (the connection waits), a running and a finished one. Read the request's body
// before, and set Content-Location and Location.
//
// It returns nil after the clean end, which comes only behind the last frame and
// with the run's row final, and an error when the client went away. When the
// server stops or the log can't be read, it aborts the connection by panicking
// with http.ErrAbortHandler, so that the client comes again (decisions 11); only
// an error before the first byte is returned.
func ServeRun(w http.ResponseWriter, r *http.Request, hub *Hub, run thread.Run, o Options) error {
	return hub.OpenRun(&run, o).Serve(w, r)
}

// OpenRun prepares what ServeRun does and takes the reader's place; the stream
// must be served. A caller that keeps runs off its own stack while Serve waits
// spares memory: a thousand waiting streams are a thousand stacks.
func (h *Hub) OpenRun(run *thread.Run, o Options) *Stream {
	s := h.open(o, frame.Frame.AppendTo)
	if len(o.Modes) > 0 {
		s.sender.modes = uint32(classic.ParseModes(o.Modes))
		s.sender.rewrite = true
	}
	s.in = h.openRun(run, classicFrames, runCursor(o.LastEventID), o.FromStart)
	return s
}

func (h *Hub) open(o Options, write frameWriter) *Stream {
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	s := &Stream{hub: h, o: o}
	s.sender = sender{write: write, modes: uint32(classic.All)}
	if o.NoIDs {
		s.sender.write, s.sender.rewrite = frame.Frame.WithoutID, true
	}
	return s
}

// ServeError answers with a stream of a single error event, for a run or thread
// that can't be followed (spec/rest-api.md 4.7).
func ServeError(w http.ResponseWriter, r *http.Request, name, message string) error {
	out := NewWriter(w, 0)
	if err := out.Open(r); err != nil {
		return err
	}
	return out.Event(&sse.Event{Event: []byte("error"), Data: classic.AppendError(nil, name, message)})
}

// ServeEmpty answers with a stream that ends at once.
func ServeEmpty(w http.ResponseWriter, r *http.Request) error { return NewWriter(w, 0).Open(r) }

// Stream is a stream that is ready to be served, once.
type Stream struct {
	hub    *Hub
	o      Options
	begin  func(ctx context.Context) (reader, error) // nil once there is a reader
	in     reader
	eager  bool // the headers go before anything is read
	sender sender

	frames []frame.Frame // taken and not sent yet
	gap    bool          // the client misses frames before them
	state  status
	pause  time.Duration // before the next look for missing entries

	wheel *wheel
	slot  int
	beat  <-chan struct{} // closed when the next heartbeat is due
}

// Serve answers the request; see ServeRun. What it needs lies in the Stream, to
// keep the stack of a waiting goroutine small.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if s.begin != nil {
		in, err := s.begin(ctx)
		if err != nil {
			return err
		}
		s.in, s.begin = in, nil
	}
	defer s.in.close()
	if !s.eager {
		if err := s.prefetch(ctx); err != nil {
			return err
		}
	}
	if s.gap {
		w.Header().Set(GapHeader, "truncated")
	}
	s.sender.out = NewWriter(w, s.o.WriteTimeout)
	defer s.sender.out.hurriedBy(s.hub.life)() //nolint:contextcheck // the server's life, not the request's
	if err := s.sender.out.Open(r); err != nil {
		return s.gone(err)
	}
	s.wheel = s.hub.wheelOf(s.o.Heartbeat)
	s.slot = s.wheel.join()
	defer s.wheel.leave()
	for {
		if err := s.sender.send(s.frames, s.gap); err != nil {
			return s.gone(err)
		}
		s.frames, s.gap = nil, false
		if s.state == ended {
			return nil
		}
		if err := s.wait(ctx); err != nil {
			return err
		}
	}
}

// prefetch takes the first frames before the headers are sent.
func (s *Stream) prefetch(ctx context.Context) error {
	for range prefetchBatches {
		if err := s.take(ctx); err != nil {
			return err
		}
		if s.state != more || len(s.frames) > 0 {
			break
		}
	}
	return nil
}

func (s *Stream) take(ctx context.Context) (err error) {
	s.frames, s.state, err = s.in.next(ctx)
	s.gap = s.in.lost() || s.gap
	return err
}

// wait waits until there is something to send and takes it.
func (s *Stream) wait(ctx context.Context) error {
	var wake <-chan struct{}
	var retry <-chan time.Time
	switch s.state {
	case missing:
		s.pause = min(max(2*s.pause, minPause), maxPause)
		retry = time.After(s.pause)
	case waiting:
		wake, s.pause = s.in.changed(), 0
	default:
		wake, s.pause = closedChannel, 0
	}
	if s.beat == nil {
		s.beat = s.wheel.beat(s.slot)
	}
	select {
	case <-ctx.Done():
		return s.gone(context.Cause(ctx))
	case <-s.o.Stop:
		panic(http.ErrAbortHandler)
	case <-s.hub.life.Done():
		panic(http.ErrAbortHandler)
	case <-s.beat:
		s.beat = nil
		if err := s.sender.out.Heartbeat(); err != nil {
			return s.gone(err)
		}
		s.in.idle(ctx)
		if s.state != missing { // else a heartbeat that comes first must not put off the look for ever
			return nil
		}
	case <-wake:
	case <-retry:
	}
	if err := s.take(ctx); err != nil {
		if ctx.Err() != nil {
			return s.gone(context.Cause(ctx))
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (s *Stream) gone(err error) error {
	if s.o.OnDisconnect != nil {
		s.o.OnDisconnect()
	}
	return err
}

// prefetchBatches bounds what is read before the headers, in search of the
// client's place, to tell whether events before it are lost.
const prefetchBatches = 16

// Pauses before a reader looks again for entries that are about to be stored.
const (
	minPause = 2 * time.Millisecond
	maxPause = 250 * time.Millisecond
)

// frameWriter appends a frame as a reader gets it.
type frameWriter func(f frame.Frame, dst []byte) []byte

// sender sends batches of frames: all of a batch is written and then flushed once.
type sender struct {
	out   *Writer
	write frameWriter
	// rewrite is set when frames are left out or changed; else their bytes go out as they are.
	rewrite bool
	modes   uint32
	wrote   bool // since the last flush
}

// buffers are lent to streams for the time of one write, so that idle ones hold none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

// maxBuffer is the largest buffer that is kept for the next stream.
const maxBuffer = 1 << 20

func (s *sender) send(frames []frame.Frame, gap bool) error {
	if len(frames) == 0 && !gap {
		return nil
	}
	buf := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxBuffer {
			*buf = (*buf)[:0]
			buffers.Put(buf)
		}
	}()
	if gap {
		*buf = append(*buf, gapComment...)
	}
	for i, f := range frames {
		if f.Gap && !(gap && i == 0) {
			*buf = append(*buf, gapComment...)
		}
		if !s.rewrite && len(f.Wire) >= writePiece { // as it is, without a copy
			if err := s.flushTo(buf, f.Wire); err != nil {
				return err
			}
		} else if f.Mode == 0 || f.Mode&s.modes != 0 {
			*buf = s.write(f, *buf)
		}
		if len(*buf) >= writePiece {
			if err := s.flushTo(buf, nil); err != nil {
				return err
			}
		}
	}
	if err := s.flushTo(buf, nil); err != nil || !s.wrote {
		return err
	}
	s.wrote = false
	return s.out.Flush()
}

// flushTo writes the buffer and then, if there is one, a frame.
func (s *sender) flushTo(buf *[]byte, wire []byte) error {
	for _, b := range [...][]byte{*buf, wire} {
		if len(b) == 0 {
			continue
		}
		s.wrote = true
		if err := s.out.Write(b); err != nil {
			return err
		}
	}
	*buf = (*buf)[:0]
	return nil
}

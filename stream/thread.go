package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// ServeThread answers with the stream of all runs of a thread, one after the
// other. Its ids are those of the thread protocol's form. Without a
// Last-Event-ID it starts with the run that is active, from that one's first
// event; with -1 with the oldest that the log has. It never ends cleanly: the
// client goes away, or the connection is aborted as by ServeRun.
func ServeThread(w http.ResponseWriter, r *http.Request, hub *Hub, threadID string, o Options) error {
	return hub.OpenThread(threadID, o).Serve(w, r)
}

// OpenThread prepares what ServeThread does; see OpenRun.
func (h *Hub) OpenThread(threadID string, o Options) *Stream {
	s := h.open(o, frame.Frame.WithCursor)
	s.sender.rewrite = true
	s.begin = func(ctx context.Context) (reader, error) {
		in := &threadReader{
			hub: h, source: h.source, threadID: threadID, feed: h.watch(threadID),
			log:       threadLog{source: h.source, threadID: threadID},
			lifecycle: slices.Contains(o.Modes, "lifecycle"),
			runModes:  len(o.Modes) == 0 || slices.Contains(o.Modes, "run_modes"),
		}
		if slices.Contains(o.Modes, "state_update") {
			in.state = o.ThreadState
		}
		if err := in.start(ctx, o.LastEventID); err != nil {
			in.close()
			return nil, err
		}
		return in, nil
	}
	return s
}

// threadReader follows a thread's runs one after the other.
type threadReader struct {
	hub       *Hub
	source    Source
	threadID  string
	log       threadLog
	feed      *feed
	runModes  bool
	lifecycle bool
	state     func(ctx context.Context, ns, checkpointID string) (json.RawMessage, error) // nil: edits aren't shown

	pos   int64        // the next run is looked for behind it
	from  threadCursor // frames up to here are left out
	run   *runReader   // the run that is followed; nil between runs
	left  *runReader   // the run before, while its frames are being sent
	runID string
	at    int64 // time of the last frame
	seen  uint64
	gap   bool
	doubt doubt
	out   []frame.Frame

	checked time.Time // when the log was looked at between runs
}

func (t *threadReader) close() {
	t.leave()
	if t.run != nil {
		t.run.close()
	}
	t.hub.unwatch(t.feed)
}

// leave closes the run before the one that is followed.
func (t *threadReader) leave() {
	if t.left != nil {
		t.left.close()
		t.left = nil
	}
}

// start finds the first run to be shown.
func (t *threadReader) start(ctx context.Context, lastEventID string) error {
	t.from = threadCursor{seq: -1}
	if c, ok := parseThreadCursor(lastEventID); ok {
		t.from = c
		return t.startBehind(ctx, c)
	}
	if strings.TrimSpace(lastEventID) == "-1" {
		return nil
	}
	last, _, err := t.log.end(ctx)
	if err != nil || last == 0 {
		return err
	}
	run, _, err := t.log.active(ctx)
	switch {
	case err != nil:
		return err
	case run == nil:
		t.pos = last
	default:
		t.follow(*run)
	}
	return nil
}

// startBehind finds the run of the frame that the client had last.
func (t *threadReader) startBehind(ctx context.Context, c threadCursor) error {
	e, ok, err := t.log.upTo(ctx, c.seq)
	if err != nil {
		return err
	}
	if !ok { // all that is there lies behind the cursor
		first, some, err := t.log.numbered(ctx, 0)
		t.gap = !some && c.seq > 0 || some && (first.Snapshot || first.Seq > c.seq+1)
		return err
	}
	if e.Snapshot { // nothing is lost if the client had the last event that it stands for
		next, more, err := t.log.numbered(ctx, e.Pos)
		t.pos, t.gap = e.Pos, more && next.Snapshot
		return err
	}
	if isEdit(e) {
		t.pos = e.Pos
		return nil
	}
	run, err := t.source.GetRun(ctx, t.threadID, e.RunID)
	if errors.Is(err, thread.ErrNotFound) {
		t.pos, t.gap = e.Pos, true
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream: run %s: %w", e.RunID, err)
	}
	t.follow(run)
	return nil
}

func (t *threadReader) follow(run thread.Run) {
	t.run, t.runID = t.hub.newRunReader(&run, -1), run.ID
}

func (t *threadReader) next(ctx context.Context) ([]frame.Frame, status, error) {
	t.leave()
	if t.run == nil {
		t.out = t.out[:0]
		state, err := t.nextRun(ctx)
		return t.out, state, err
	}
	frames, state, err := t.run.next(ctx)
	if err != nil {
		return nil, state, err
	}
	t.gap = t.run.lost() || t.gap
	t.out = t.out[:0]
	for _, f := range frames {
		if at := (threadCursor{f.Seq, f.Sub}); t.from.before(at) {
			t.from, t.at = at, f.At
			if t.runModes || t.lifecycle && f.Name() == "metadata" {
				t.out = append(t.out, f)
			}
		}
	}
	if state == ended {
		t.pos = max(t.pos, t.run.position())
		t.left, t.run = t.run, nil
		if t.lifecycle && t.from.seq >= 0 {
			t.from.sub++
			t.out = append(t.out, t.done())
		}
		state = more
	}
	return t.out, state, nil
}

// nextRun looks for the next run behind the last one, or an edit.
func (t *threadReader) nextRun(ctx context.Context) (status, error) {
	version := t.feed.version.Load()
	entries, err := t.log.read(ctx, t.pos, 1) // a run's first event is stored before it is published
	if err != nil {
		return waiting, err
	}
	if len(entries) == 0 {
		return t.none(ctx, version)
	}
	t.doubt.ends()
	if entries[0].Snapshot { // what this protocol shows of a state is told with runs
		for _, e := range entries {
			if e.Snapshot {
				t.pos = e.Pos
			}
		}
		t.gap = t.gap || t.from.seq >= 0
		return more, nil
	}
	if isEdit(entries[0]) {
		return more, t.edited(ctx, entries[0])
	}
	run, err := t.source.GetRun(ctx, t.threadID, entries[0].RunID)
	switch {
	case errors.Is(err, thread.ErrNotFound):
		t.pos = entries[0].Pos
	case err != nil:
		return waiting, fmt.Errorf("stream: run %s: %w", entries[0].RunID, err)
	case run.Status.Ended() && run.StartedAt.IsZero(): // dropped before it began
		t.pos = entries[0].Pos
	default:
		t.follow(run)
	}
	return more, nil
}

// none looks why the log has nothing behind pos.
func (t *threadReader) none(ctx context.Context, version uint64) (status, error) {
	if must := t.feed.newest(); must > t.pos {
		again, lost, err := t.doubt.lacks(ctx, t.log, must, func() ([]thread.Entry, error) { return t.log.read(ctx, t.pos, 1) })
		switch {
		case errors.Is(err, errUnwritten):
			return missing, nil
		case err != nil:
			return waiting, err
		case again:
			return more, nil
		}
		t.gap = t.gap || lost
	}
	t.seen = version
	return waiting, nil
}

// done is the event that ends a run in mode "lifecycle".
func (t *threadReader) done() frame.Frame {
	data, err := json.Marshal(map[string]string{"status": "run_done", "run_id": t.runID})
	if err != nil { // strings always marshal
		panic(err)
	}
	b := append(frame.Open(nil, "metadata"), data...)
	_, f := frame.Close(b, 0, 0)
	f.Seq, f.Sub, f.At = t.from.seq, t.from.sub, t.at
	return f
}

func (t *threadReader) lost() bool {
	gap := t.gap
	t.gap = false
	return gap
}

func (t *threadReader) changed() <-chan struct{} {
	if t.run != nil {
		return t.run.changed()
	}
	return t.feed.after(t.seen)
}

func (t *threadReader) idle(ctx context.Context) {
	if t.run != nil {
		t.run.idle(ctx)
		return
	}
	if time.Since(t.checked) < checkInterval {
		return
	}
	t.checked = time.Now()
	if end, _, err := t.log.end(ctx); err == nil && end > t.pos {
		t.feed.nudge() // not announced
	}
}

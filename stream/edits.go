package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// isEdit reports whether the entry tells of an edit from outside, which belongs to no run.
func isEdit(e thread.Entry) bool { return e.RunID == "" }

// edited takes the next entry of an edit. In mode state_update its state is shown.
func (t *threadReader) edited(ctx context.Context, e thread.Entry) error {
	note, ok := e.Event.Payload.(*agent.ValuesNote)
	at := threadCursor{seq: e.Seq}
	if !ok || t.state == nil || !t.from.before(at) {
		t.pos = e.Pos
		return nil
	}
	state, err := t.state(ctx, e.Event.NS, note.CheckpointID)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return fmt.Errorf("stream: state of thread %s: %w", t.threadID, err)
	}
	t.pos, t.from, t.at = e.Pos, at, e.Event.At
	if len(state) > 0 {
		t.out = append(t.out, stateUpdate(t.threadID, state, e))
	}
	return nil
}

// stateUpdate is the event that shows the state an edit left.
func stateUpdate(threadID string, state json.RawMessage, e thread.Entry) frame.Frame {
	b := append(frame.Open(nil, "state_update"), `{"state":`...)
	b = frame.AppendRaw(b, state, "null")
	b = append(b, `,"thread_id":`...)
	b = append(frame.AppendString(b, threadID), '}')
	_, f := frame.Close(b, 0, 0)
	f.Seq, f.At = e.Seq, e.Event.At
	return f
}

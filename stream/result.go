package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/thread"
)

// Result is the body of a wait or join of a run that has ended (spec/rest-api.md
// 2.4): the data of the run's last root values event, which of an interrupted
// one is usually the notice, or {"__error__":{…}} of a failed one. Where the log
// has none it is the thread's values; never null.
func (h *Hub) Result(ctx context.Context, run thread.Run) (json.RawMessage, error) {
	last := lastValues{}
	for after := int64(0); ; {
		entries, err := h.source.ReadRunLog(ctx, run.ThreadID, run.ID, after, logBatch)
		if err != nil {
			return nil, fmt.Errorf("stream: log of run %s: %w", run.ID, err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			last.see(e.Event)
		}
		after = entries[len(entries)-1].Pos
	}
	if last.failure == nil && run.Status == thread.RunError {
		last.failure = run.Failure()
	}
	return h.result(ctx, run, last)
}

// lastValues is what decides a run's result.
type lastValues struct {
	note    *agent.ValuesNote
	notice  json.RawMessage
	failure *agent.ErrorInfo
}

func (l *lastValues) see(e agent.Event) {
	if e.NS != "" {
		return
	}
	switch v := e.Payload.(type) {
	case *agent.ValuesNote:
		l.note, l.notice = v, nil
	case agent.InterruptInfo:
		l.notice = classic.AppendInterrupt(nil, &v)
	case agent.RunFinish:
		l.failure = nil
		if v.Status == "error" {
			l.failure = v.Error
		}
	case nil:
		if e.Kind == agent.BreakpointHit {
			l.notice = classic.AppendInterrupt(nil, nil)
		}
	}
}

func (h *Hub) result(ctx context.Context, run thread.Run, last lastValues) (json.RawMessage, error) {
	switch {
	case last.failure != nil:
		b := append([]byte(`{"__error__":`), classic.AppendError(nil, last.failure.Name, last.failure.Message)...)
		return append(b, '}'), nil
	case last.notice != nil:
		return last.notice, nil
	case last.note != nil && last.note.State != nil:
		return last.note.State.JSON(), nil
	case last.note != nil && last.note.Inline != nil:
		return last.note.Inline, nil
	case last.note == nil && run.Kwargs.Temporary:
		return json.RawMessage(`{}`), nil // a stateless run has no thread to look at
	}
	checkpointID := ""
	if last.note != nil {
		checkpointID = last.note.CheckpointID
	}
	state, err := h.source.Materialize(ctx, run.ThreadID, "", checkpointID)
	if errors.Is(err, thread.ErrNotFound) {
		return json.RawMessage(`{}`), nil
	}
	if err != nil {
		return nil, fmt.Errorf("stream: result of run %s: %w", run.ID, err)
	}
	return state.JSON(), nil
}

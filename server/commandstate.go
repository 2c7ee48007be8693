package server

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// shown reads a thread that the user may see.
func (s *Server) shown(c echo.Context, threadID string) (thread.Thread, error) {
	if err := s.allowThread(c, "read", threadID); err != nil {
		return thread.Thread{}, err
	}
	return s.svc.GetThread(c.Request().Context(), threadID)
}

// namespaceOf reads a namespace: a list of segments.
func namespaceOf(p *fields) string { return strings.Join(p.strings("namespace"), "|") }

// stateGet is state.get: the state, or some keys of it, of a namespace.
func (s *Server) stateGet(c echo.Context, threadID string, cmd commandRequest) (any, error) {
	ns, keys := namespaceOf(cmd.Params), cmd.Params.strings("keys")
	if err := cmd.Params.err(); err != nil {
		return nil, err
	}
	if _, err := s.shown(c, threadID); err != nil {
		return nil, err
	}
	snapshot, err := s.svc.State(c.Request().Context(), threadID, thread.StateQuery{CheckpointNS: ns})
	if err != nil {
		return nil, err
	}
	if ns != "" && snapshot.CheckpointID == "" {
		return nil, refuse(codeNoNamespace, "The thread has no state in namespace "+ns)
	}
	return map[string]any{
		"values":     pick(snapshot.State.JSON(), keys),
		"checkpoint": map[string]string{"id": snapshot.CheckpointID, "ns": ns},
	}, nil
}

// checkpointItem is one entry of state.listCheckpoints.
type checkpointItem struct {
	ID        string                     `json:"id"`
	Timestamp string                     `json:"timestamp"`
	Step      int                        `json:"step"`
	NodeName  string                     `json:"node_name,omitempty"` // that runs next, where it is one
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
}

// stateListCheckpoints is state.listCheckpoints: newest first, all branches.
func (s *Server) stateListCheckpoints(c echo.Context, threadID string, cmd commandRequest) (any, error) {
	p := cmd.Params
	q := thread.HistoryQuery{CheckpointNS: namespaceOf(p), Limit: p.integer("limit", 10, 0, s.limits.Page), Before: p.uuid("before")}
	if err := p.err(); err != nil {
		return nil, err
	}
	if _, err := s.shown(c, threadID); err != nil {
		return nil, err
	}
	history, err := s.svc.History(c.Request().Context(), threadID, q)
	if err != nil {
		return nil, err
	}
	items := make([]checkpointItem, len(history))
	for i, snapshot := range history {
		items[i] = checkpointItem{ID: snapshot.CheckpointID, Timestamp: timestamp(snapshot.CreatedAt), Metadata: snapshot.Metadata}
		_ = json.Unmarshal(snapshot.Metadata["step"], &items[i].Step)
		if len(snapshot.Next) == 1 {
			items[i].NodeName = snapshot.Next[0]
		}
	}
	return map[string]any{"checkpoints": items}, nil
}

// treeBatch is how many entries of a run's log are read at once for its tree.
const treeBatch = 512

// agentGetTree is agent.getTree: the namespaces of the thread's newest run and how far they came.
func (s *Server) agentGetTree(c echo.Context, threadID string, _ commandRequest) (any, error) {
	none := refuse(codeNoRun, "No active run is bound to this thread.")
	if _, err := s.shown(c, threadID); err != nil {
		if errors.Is(err, thread.ErrNotFound) {
			return nil, none
		}
		return nil, err
	}
	ctx, store := c.Request().Context(), s.svc.Store()
	run, err := s.newestRun(c, threadID)
	if err != nil {
		return nil, err
	}
	if run.ID == "" {
		return nil, none
	}
	tree := protocol.NewTree(run.GraphID)
	for after := int64(0); ; {
		entries, err := store.ReadRunLog(ctx, threadID, run.ID, after, treeBatch)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			break
		}
		events := make([]agent.Event, len(entries))
		for i, e := range entries {
			events[i] = e.Event
		}
		tree.Add(events...)
		after = entries[len(entries)-1].Pos
	}
	return map[string]any{"tree": tree.Root()}, nil
}

// newestRun is the thread's run that started last; a zero one when none has.
func (s *Server) newestRun(c echo.Context, threadID string) (thread.Run, error) {
	var newest thread.Run
	for offset := 0; ; offset += s.limits.Page {
		runs, err := s.svc.ListRuns(c.Request().Context(), threadID, thread.RunQuery{Limit: s.limits.Page, Offset: offset})
		if err != nil {
			return newest, err
		}
		for _, r := range runs {
			if !r.StartedAt.IsZero() && !r.StartedAt.Before(newest.StartedAt) {
				newest = r
			}
		}
		if len(runs) < s.limits.Page {
			return newest, nil
		}
	}
}

// appliedSeq is the seq of the thread's newest stored event; 0 for a thread without any.
func (s *Server) appliedSeq(c echo.Context, threadID string) (int64, error) {
	_, seq, err := s.svc.Store().LogEnd(c.Request().Context(), threadID)
	if errors.Is(err, thread.ErrNotFound) {
		return 0, nil
	}
	return seq, err
}

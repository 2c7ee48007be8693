package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
)

// StateUpdate edits a state.
type StateUpdate struct {
	Values json.RawMessage
	AsNode string
	// Command replaces Values when set.
	Command      *agent.Command
	CheckpointID string
	CheckpointNS string
	// Headers and AuthUser: as in StartRun, for configurable graphs.
	Headers  map[string]string
	AuthUser json.RawMessage
	Metadata Metadata
}

// UpdateState stores a new checkpoint and returns its address (m is nil at the
// root). Errors: *NotFoundError, *NoGraphError, ErrBusy, *agent.InvalidUpdateError.
func (s *Service) UpdateState(ctx context.Context, threadID string, u StateUpdate) (ns, id string, m map[string]string, err error) {
	for range admissionTries {
		ns, id, m, err = s.updateOnce(ctx, threadID, u)
		if !errors.Is(err, ErrConflict) {
			break
		}
	}
	return ns, id, m, err
}

func (s *Service) updateOnce(ctx context.Context, threadID string, u StateUpdate) (ns, id string, m map[string]string, err error) {
	t, err := s.GetThread(ctx, threadID)
	if err != nil {
		return "", "", nil, err
	}
	if t.Status == Busy {
		return "", "", nil, ErrBusy
	}
	root, cfg, err := s.threadGraph(ctx, t)
	if err != nil {
		return "", "", nil, err
	}
	if root == nil {
		return "", "", nil, &NoGraphError{ThreadID: threadID}
	}
	cfg.Configurable = merged(cfg.Configurable, headers(u.Headers), authUser(u.AuthUser))
	g := root.SubgraphAt(u.CheckpointNS)
	if g == nil {
		return "", "", nil, &InvalidInputError{Path: []string{"checkpoint", "checkpoint_ns"}, Message: fmt.Sprintf("no subgraph runs in %q", u.CheckpointNS)}
	}
	r := s.reader(threadID)
	base, head, err := s.base(ctx, r, u)
	if err != nil {
		return "", "", nil, err
	}
	result, err := g.EditState(ctx, agent.EditRequest{
		ThreadID: threadID, NS: u.CheckpointNS, Base: base, BaseAddressed: u.CheckpointID != "",
		Supersteps: [][]agent.Edit{{{Values: u.Values, Command: u.Command, AsNode: u.AsNode}}},
		Metadata:   editMetadata(t, cfg, u.Metadata), Config: cfg,
		Reader: r, Clock: s.clock, IDs: newThreadIDs(s.clock, max(t.Head, head)),
	})
	if err != nil {
		return "", "", nil, err
	}
	if err := s.storeEdit(ctx, t, u.CheckpointNS, head, result); err != nil {
		return "", "", nil, err
	}
	last := result.Checkpoints[len(result.Checkpoints)-1]
	return last.NS, last.ID, mapOf(last), nil
}

// base is the checkpoint that an update starts from (nil for none) and the id of the namespace's head.
func (s *Service) base(ctx context.Context, r *reader, u StateUpdate) (base *agent.Tuple, head string, err error) {
	newest, err := r.Checkpoint(ctx, u.CheckpointNS, "")
	if err != nil {
		return nil, "", err
	}
	if newest != nil {
		head = newest.Checkpoint.ID
	}
	if u.CheckpointID == "" || u.CheckpointID == head {
		return newest, head, nil
	}
	base, err = r.Checkpoint(ctx, u.CheckpointNS, u.CheckpointID)
	if err == nil && base == nil {
		err = &NotFoundError{Kind: "checkpoint", ID: u.CheckpointID}
	}
	return base, head, err
}

// storeEdit stores the checkpoints of an edit on the head that it was computed for,
// and tells the thread's readers.
func (s *Service) storeEdit(ctx context.Context, t Thread, ns, head string, result *agent.EditResult) error {
	edit := StateEdit{ThreadID: t.ID, NS: ns, ExpectHead: head, Tasks: result.Tasks, At: s.clock.Now()}
	var encoder agent.CheckpointEncoder
	var prev *agent.Checkpoint
	if head != "" {
		prev = s.cache.of(t.ID).checkpoint(ns, head)
	}
	for _, cp := range result.Checkpoints {
		record, err := encoder.Encode(cp, prev)
		if err != nil {
			return err
		}
		edit.Checkpoints = append(edit.Checkpoints, record)
		prev = cp
	}
	edit.Events = announcement(result.Checkpoints, edit.At)
	entries, err := s.store.EditState(ctx, edit)
	if err != nil {
		return notFound(err, "thread", t.ID)
	}
	for _, cp := range result.Checkpoints {
		s.remember(t.ID, cp)
	}
	if len(entries) > 0 {
		s.publish.Publish(t.ID, entries)
	}
	if t.Status == Interrupted {
		s.dropped(ctx, t.ID)
	}
	return nil
}

// announcement tells of the state that an edit leaves, as a superstep would.
func announcement(made []*agent.Checkpoint, at time.Time) []agent.Event {
	if len(made) == 0 {
		return nil
	}
	cp := made[len(made)-1]
	return []agent.Event{
		{Kind: agent.CheckpointAnnounced, At: at.UnixMilli(), NS: cp.NS, Payload: agent.CheckpointNote{
			ID: cp.ID, ParentID: cp.ParentID, Step: cp.Step, Source: cp.Source,
		}},
		{Kind: agent.ValuesEmitted, At: at.UnixMilli(), NS: cp.NS, Payload: &agent.ValuesNote{CheckpointID: cp.ID}},
	}
}

// editMetadata is the metadata of checkpoints that an edit makes.
func editMetadata(t Thread, cfg agent.Config, given Metadata) map[string]json.RawMessage {
	return merged(publicConfigurable(cfg.Configurable), object(t.Metadata), object(given), object{"thread_id": quoted(t.ID)})
}

// mapOf is the checkpoint_map of a nested checkpoint: the ids of all namespaces
// above it and its own; nil at the root.
func mapOf(cp *agent.Checkpoint) map[string]string {
	if cp.NS == "" {
		return nil
	}
	m := map[string]string{cp.NS: cp.ID}
	for ns, id := range cp.Parents {
		m[ns] = id
	}
	return m
}

package thread

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Response is what an execution has said so far: the text of the last AI message since the last human one; ""
// for an agent that keeps no messages.
func (s *Service) Response(ctx context.Context, e Execution) (string, error) {
	cp, err := s.newestOf(ctx, e)
	if err != nil || cp == nil {
		return "", err
	}
	g, err := s.checkpointGraph(ctx, e.ThreadID, cp)
	if err != nil {
		return "", err
	}
	snap, err := g.SnapshotOf(ctx, s.reader(e.ThreadID), &agent.Tuple{Checkpoint: cp}, false, false)
	if err != nil {
		return "", err
	}
	return LastText(snap.State), nil
}

// newestOf is the newest root checkpoint that runs of the execution made; nil for none.
func (s *Service) newestOf(ctx context.Context, e Execution) (*agent.Checkpoint, error) {
	r := s.reader(e.ThreadID)
	head, err := r.Checkpoint(ctx, "", "")
	if err != nil || head == nil {
		return nil, err
	}
	if e.made(head.Checkpoint) {
		return head.Checkpoint, nil
	}
	for _, run := range slices.Backward(e.Runs) {
		found, err := r.Checkpoints(ctx, "", agent.CheckpointQuery{Limit: 1, Metadata: Metadata{"run_id": quoted(run.ID)}})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found[0].Checkpoint, nil
		}
	}
	return nil, nil
}

// made reports whether a checkpoint is one of the execution's.
func (e *Execution) made(cp *agent.Checkpoint) bool {
	var id string
	if json.Unmarshal(cp.Metadata["run_id"], &id) != nil {
		return false
	}
	return slices.ContainsFunc(e.Runs, func(r Run) bool { return r.ID == id })
}

// messagesKey is the state key of a conversation.
const messagesKey = "messages"

// LastText is the text of a state's last AI message since its last human one; "" where there is none.
func LastText(state *agent.State) string {
	if state == nil {
		return ""
	}
	return TextOf(state.Messages()[messagesKey])
}

// TextOf is the text of the last AI message since the last human one; "" where there is none.
func TextOf(list message.List) string {
	for _, m := range list.Backward() {
		switch m.Type {
		case message.Human:
			return ""
		case message.AI:
			return m.Text()
		}
	}
	return ""
}

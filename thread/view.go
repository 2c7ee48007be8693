package thread

import (
	"context"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

// ThreadView is a thread with what is read from its head checkpoint.
type ThreadView struct {
	Thread
	// Values and Interrupts are nil until a run ended or a state update was stored (spec/rest-api.md 5.4).
	Values     json.RawMessage
	Interrupts map[string][]agent.InterruptInfo // by task id
	// TaskOrder is the order of the keys of Interrupts.
	TaskOrder []string
}

// ViewThread adds values and interrupts, both of the newest root checkpoint. A
// thread whose graph isn't registered any more is shown as far as its checkpoint speaks for itself.
func (s *Service) ViewThread(ctx context.Context, t Thread) (ThreadView, error) {
	v := ThreadView{Thread: t}
	if !t.Ended || t.Head == "" {
		return v, nil
	}
	g, _, err := s.threadGraph(ctx, t)
	if err == nil && g == nil {
		return v, nil
	}
	if err != nil && !unregistered(err) {
		return v, err
	}
	r := s.reader(t.ID)
	head, err := r.Checkpoint(ctx, "", "")
	if err != nil || head == nil {
		return v, err
	}
	snap, err := g.SnapshotOf(ctx, r, head, false, false)
	if err != nil {
		return v, err
	}
	v.Values, v.Interrupts = snap.State.JSON(), map[string][]agent.InterruptInfo{}
	for _, task := range snap.Tasks {
		open := make([]agent.InterruptInfo, 0, len(task.Interrupts))
		v.Interrupts[task.ID] = append(open, task.Interrupts...)
		v.TaskOrder = append(v.TaskOrder, task.ID)
	}
	return v, nil
}

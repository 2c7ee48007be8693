package agent

// heldBack is what a run that stores only at its exit (durability "exit",
// spec/runtime.md 1.12) keeps in memory: of each namespace the newest checkpoint
// and the records of its tasks.
type heldBack struct {
	order []string // namespaces in the order of their first entry
	state map[string]*heldState
}

type heldState struct {
	// parent is the id of the checkpoint that is stored.
	parent     string
	checkpoint *Checkpoint
	tasks      []TaskRecord
}

func (h *heldBack) at(ns string) *heldState {
	if h.state == nil {
		h.state = map[string]*heldState{}
	}
	s := h.state[ns]
	if s == nil {
		s = &heldState{}
		h.state[ns] = s
		h.order = append(h.order, ns)
	}
	return s
}

// holdBack keeps the checkpoints and records of c; the last commit of the run gets them all.
func (r *run) holdBack(c *Commit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cp := range c.Checkpoints {
		s := r.held.at(cp.NS)
		if s.checkpoint == nil {
			s.parent = cp.ParentID
		}
		s.checkpoint, s.tasks = cp, nil
	}
	for _, t := range c.Tasks {
		s := r.held.at(t.NS)
		if s.checkpoint != nil && s.checkpoint.ID != t.CheckpointID {
			continue // of a superstep that is over
		}
		for i := range s.tasks {
			if s.tasks[i].TaskID == t.TaskID {
				s.tasks = append(s.tasks[:i], s.tasks[i+1:]...)
				break
			}
		}
		s.tasks = append(s.tasks, t)
	}
	c.Checkpoints, c.Tasks = nil, nil
	if c.Outcome == nil {
		return
	}
	for _, ns := range r.held.order {
		s := r.held.state[ns]
		if s == nil {
			continue
		}
		if s.checkpoint != nil {
			cp := *s.checkpoint
			cp.ParentID = s.parent
			c.Checkpoints = append(c.Checkpoints, &cp)
		}
		c.Tasks = append(c.Tasks, s.tasks...)
	}
	r.held = heldBack{}
}

// letGo forgets what is held of a nested graph that has ended and keeps no state.
func (r *run) letGo(ns string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for held := range r.held.state {
		if held == ns || len(held) > len(ns) && held[:len(ns)] == ns && held[len(ns)] == '|' {
			delete(r.held.state, held)
		}
	}
}

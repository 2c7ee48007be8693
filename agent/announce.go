package agent

import (
	"encoding/json"
	"maps"
	"strconv"
)

// announce reports the checkpoint that was just made. values says whether its
// state is shown: only if a state key was written, or at a start (spec/runtime.md 1.16).
func (l *loop) announce(values bool) {
	state := l.state()
	if values {
		l.values(state, false)
	}
	l.saved(state)
}

// announceAgain reports the stored checkpoint that the graph continues from,
// with command writes applied (spec/streaming-protocol.md 3.5).
func (l *loop) announceAgain() {
	state := l.state()
	l.values(state, l.pending)
	d := l.detail(state)
	d.Metadata = maps.Clone(l.cp.Metadata)
	if d.Metadata == nil {
		d.Metadata = map[string]json.RawMessage{}
	}
	maps.Copy(d.Metadata, l.coreMetadata())
	if l.pending || l.unstored() {
		d.Inline = state.JSON()
	}
	l.event(CheckpointSaved, d)
}

// values shows the state: by reference to the checkpoint, or inline where no
// stored checkpoint has exactly this state.
func (l *loop) values(state *State, inline bool) {
	l.event(CheckpointAnnounced, CheckpointNote{ID: l.cp.ID, ParentID: l.cp.ParentID, Step: l.cp.Step, Source: l.cp.Source})
	note := &ValuesNote{State: state}
	if inline || l.unstored() {
		note.Inline = state.JSON()
	} else {
		note.CheckpointID = l.cp.ID
	}
	l.event(ValuesEmitted, note)
}

// unstored tells whether the checkpoint isn't stored as it is.
func (l *loop) unstored() bool {
	return l.r.exec.Ephemeral || l.r.exec.ExitOnly || l.ch.untracked()
}

// saved reports the new checkpoint with all detail; state may be nil.
func (l *loop) saved(state *State) {
	if state == nil {
		state = l.state()
	}
	d := l.detail(state)
	d.Metadata = l.coreMetadata()
	if l.unstored() {
		d.Inline = state.JSON()
	}
	l.event(CheckpointSaved, d)
}

func (l *loop) coreMetadata() map[string]json.RawMessage {
	parents, err := json.Marshal(l.cp.Parents)
	if err != nil || l.cp.Parents == nil {
		parents = []byte("{}")
	}
	return map[string]json.RawMessage{
		"source": appendString(nil, l.cp.Source), "step": json.RawMessage(strconv.Itoa(l.cp.Step)), "parents": parents,
	}
}

func (l *loop) detail(state *State) *CheckpointDetail {
	d := &CheckpointDetail{
		CheckpointID: l.cp.ID, ParentID: l.cp.ParentID, Step: l.cp.Step, State: state,
		Next: make([]string, 0, len(l.tasks)), Tasks: make([]TaskView, 0, len(l.tasks)),
	}
	if l.ns != "" {
		d.Map = l.cp.Parents
		if l.cp.ParentID != "" && !l.loaded {
			d.ParentMap = l.cp.Parents
		}
	}
	for i := range l.tasks {
		t := &l.tasks[i]
		v := TaskView{ID: t.id, Name: t.node.name, Path: t.pathJSON, Interrupts: []InterruptInfo{}}
		if t.node.child != nil {
			v.SubgraphNS = t.childNS(l.ns)
		}
		if rec, ok := l.records[t.id]; ok {
			v.Interrupts = append(v.Interrupts, rec.Interrupts...)
			v.Error = rec.Error
		}
		d.Next = append(d.Next, t.node.name)
		d.Tasks = append(d.Tasks, v)
	}
	return d
}

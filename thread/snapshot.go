package thread

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
)

// MaxSnapshot bounds the namespaces of a Snapshot: each takes two of the numbers
// that were cut.
const MaxSnapshot = 64

// Snapshot returns what takes the place of the start of a log, for stores that
// cut there (see Log): pos and seq are the highest numbers that are cut, heads the
// newest checkpoints of the namespaces there, of which the state isn't looked at,
// newest the newest run that the log then has no other events of; nil for none.
// The entries in ends are newest's. ok is false when the cut has too few numbers.
func Snapshot(pos, seq int64, heads []agent.CheckpointRecord, newest *Run) (states, ends []Entry, ok bool) {
	n := int64(2 * len(heads))
	if newest != nil {
		n += 2
	}
	if seq <= n { // one stays free for the gap signal
		return nil, nil, false
	}
	pos, seq = pos-n, seq-n
	add := func(list []Entry, runID, ns string, kind agent.Kind, at int64, payload any) []Entry {
		pos, seq = pos+1, seq+1
		return append(list, Entry{Pos: pos, Seq: seq, RunID: runID, Snapshot: true, Event: agent.Event{Kind: kind, At: at, NS: ns, Payload: payload}})
	}
	for _, h := range heads {
		note := agent.CheckpointNote{ID: h.ID, ParentID: h.ParentID, Step: h.Step, Source: h.Source}
		states = add(states, "", h.NS, agent.CheckpointAnnounced, h.AtMillis, note)
		states = add(states, "", h.NS, agent.ValuesEmitted, h.AtMillis, &agent.ValuesNote{CheckpointID: h.ID})
	}
	if newest != nil {
		start := agent.RunStart{GraphID: newest.GraphID, AssistantID: newest.AssistantID, Attempt: max(newest.Attempt, 1)}
		ends = add(ends, newest.ID, "", agent.RunStarted, newest.Began().UnixMilli(), start)
		ends = add(ends, newest.ID, "", agent.RunFinished, newest.EndedAt.UnixMilli(), newest.End())
	}
	return states, ends, true
}

// Began is when the events of a run that isn't pending begin: those of one that
// was dropped before it began lie at its end.
func (r *Run) Began() time.Time {
	if r.StartedAt.IsZero() {
		return r.EndedAt
	}
	return r.StartedAt
}

// End is the last event of a run that has ended, as far as its row tells.
func (r *Run) End() agent.RunFinish {
	f := agent.RunFinish{GraphID: r.GraphID, Status: string(r.Status), Suspended: r.Suspended}
	switch r.Status {
	case RunError, RunTimeout:
		f.Status, f.Error = string(RunError), r.Failure()
	case RunInterrupted:
		f.Cancel = r.Cancel
	}
	return f
}

// Failure is the error of a failed run.
func (r *Run) Failure() *agent.ErrorInfo {
	var row struct{ Error, Message string }
	if json.Unmarshal(r.Error, &row) != nil || row.Error == "" {
		return &agent.ErrorInfo{Name: "Error", Message: "The run failed."}
	}
	return &agent.ErrorInfo{Name: row.Error, Message: row.Message}
}

// Unbegun returns the events that tell of a run which was dropped, with a cancel
// action, before it began (see Runs).
func Unbegun(graphID, assistantID, action string, at time.Time) []agent.Event {
	return []agent.Event{
		{Kind: agent.RunStarted, At: at.UnixMilli(), Payload: agent.RunStart{GraphID: graphID, AssistantID: assistantID, Attempt: 1, Unbegun: true}},
		{Kind: agent.RunFinished, At: at.UnixMilli(), Payload: agent.RunFinish{GraphID: graphID, Status: string(RunInterrupted), Cancel: action}},
	}
}

package redis

import (
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// floating are the arguments of a batch whose numbers its script gives.
func floating(b thread.FloatingBatch) []any {
	return []any{b.Head, b.Middle, b.Tail, b.Entries, b.Numbered, b.Millis}
}

// unbegun tells of a run that was dropped before it began (M-19).
func unbegun(run thread.Run, action string, at time.Time) (thread.FloatingBatch, error) {
	return thread.FloatEvents(thread.Unbegun(run.GraphID, run.AssistantID, action, at))
}

// ended tells of a run's end.
func ended(finish agent.RunFinish, millis int64) (thread.FloatingBatch, error) {
	return thread.FloatEvents([]agent.Event{{Kind: agent.RunFinished, At: millis, Payload: finish}})
}

// takeTold reads what a transition told the log.
func takeTold(r *reply) (told []thread.Entry, err error) {
	in := r.inner()
	for in.more() {
		run, data := in.text(), in.blob()
		if told, err = thread.DecodeEntries(told, data, run, 0); err != nil {
			return nil, err
		}
	}
	if r.err == nil {
		r.err = in.err
	}
	return told, r.err
}

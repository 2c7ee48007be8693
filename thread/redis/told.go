package redis

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// floating are the arguments of a batch whose numbers its script gives.
func floating(b thread.FloatingBatch) []any {
	return []any{b.Head, b.Middle, b.Tail, b.Entries, b.Numbered, b.Millis}
}

// unbegun tells of a run that was dropped before it began (M-19).
func unbegun(run thread.Run, action string, millis int64) (thread.FloatingBatch, error) {
	start := agent.RunStart{GraphID: run.GraphID, AssistantID: run.AssistantID, Attempt: 1, Unbegun: true}
	finish := agent.RunFinish{GraphID: run.GraphID, Status: string(thread.RunInterrupted), Cancel: action}
	return thread.FloatEvents([]agent.Event{
		{Kind: agent.RunStarted, At: millis, Payload: start},
		{Kind: agent.RunFinished, At: millis, Payload: finish},
	})
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

package feeds

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// WatchRuns returns a publisher that passes everything on to next and calls
// changed whenever a run of a thread started or ended. Changed must not block.
func WatchRuns(next thread.Publisher, changed func(threadID string)) thread.Publisher {
	return &runs{next: next, changed: changed}
}

type runs struct {
	next    thread.Publisher
	changed func(threadID string)
}

// Publish implements thread.Publisher.
func (p *runs) Publish(threadID string, entries []thread.Entry) {
	p.next.Publish(threadID, entries)
	for i := range entries {
		if k := entries[i].Event.Kind; k == agent.RunStarted || k == agent.RunFinished {
			p.changed(threadID)
			return
		}
	}
}

// Stored implements thread.Publisher.
func (p *runs) Stored(threadID string, pos int64) { p.next.Stored(threadID, pos) }

// RunEnded implements thread.Publisher; it also covers runs that never started.
func (p *runs) RunEnded(threadID, runID string) {
	p.next.RunEnded(threadID, runID)
	p.changed(threadID)
}

// Missed passes on that events may have come that nobody told of.
func (p *runs) Missed(threadID string, pos int64) {
	if next, ok := p.next.(interface{ Missed(string, int64) }); ok {
		next.Missed(threadID, pos)
	}
}

// RunChanged tells of a run that began or ended in another process.
func (p *runs) RunChanged(threadID string) { p.changed(threadID) }

package feeds

import "github.com/parley-dev/parley/thread"

// WatchReviews returns a publisher that passes everything on to next and calls changed
// with the project whose reviews changed, here or in another process. Changed must not block.
func WatchReviews(next thread.Publisher, changed func(project string)) thread.Publisher {
	return &reviews{Publisher: next, changed: changed}
}

type reviews struct {
	thread.Publisher
	changed func(project string)
}

var _ thread.ReviewFollower = (*reviews)(nil)

// ReviewsChanged implements thread.ReviewFollower.
func (p *reviews) ReviewsChanged(project string) {
	if next, ok := p.Publisher.(thread.ReviewFollower); ok {
		next.ReviewsChanged(project)
	}
	p.changed(project)
}

// Missed passes on that events may have come that nobody told of.
func (p *reviews) Missed(threadID string, pos int64) {
	if next, ok := p.Publisher.(interface{ Missed(string, int64) }); ok {
		next.Missed(threadID, pos)
	}
}

// RunChanged passes on that a run began or ended in another process.
func (p *reviews) RunChanged(threadID string) {
	if next, ok := p.Publisher.(interface{ RunChanged(string) }); ok {
		next.RunChanged(threadID)
	}
}

package thread

import "errors"

// Errors of stores that are servers of their own.
var (
	// ErrUnavailable: the store can't be reached, or takes nothing at present. Nothing is known of a transition under way.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrUnconfirmed: the transition stands, but the durability that was asked for is not confirmed yet (decisions
	// 18). Its repetition waits again and gets the first result.
	ErrUnconfirmed = errors.New("stored, but not confirmed")
)

// Shared is implemented by stores that several processes work on at once.
type Shared interface {
	// Subscribe tells sub, from now on until the store is closed, what other
	// processes do. It may be called once.
	Subscribe(sub Subscriber) Subscription
}

// Subscriber is told what other processes do. Its methods must not block.
type Subscriber interface {
	// Publish hands on entries that are stored, of a thread that is watched, in the order of Pos.
	Publish(threadID string, entries []Entry)
	// Missed tells that entries of a watched thread up to pos may have come that
	// were not handed on: they are in the log.
	Missed(threadID string, pos int64)
	// RunEnded tells of a watched thread that a run's row is final; it follows the run's last entry.
	RunEnded(threadID, runID string)
	// RunChanged tells of any thread that a run began or ended.
	RunChanged(threadID, runID string)
	// WorkWaits tells that there may be a run to be claimed.
	WorkWaits()
	// ReviewsChanged tells that reviews of a project were requested, changed or ended: a hint to read the list.
	ReviewsChanged(project string)
	// CancelRequested tells that a running run is to be cancelled.
	CancelRequested(runID, action string)
}

// Subscription says of which threads the subscriber wants the events. A thread
// that is watched n times has to be left n times.
type Subscription interface {
	Watch(threadID string)
	Unwatch(threadID string)
}

// Watch asks for the events of a thread that other processes cause: they come to
// the Publisher like those of this one, until Unwatch. It never blocks.
func (s *Service) Watch(threadID string) {
	if s.shared != nil {
		s.shared.Watch(threadID)
	}
}

// Unwatch ends a Watch.
func (s *Service) Unwatch(threadID string) {
	if s.shared != nil {
		s.shared.Unwatch(threadID)
	}
}

// subscribe has a store that others work on, too, tell the service of them.
func (s *Service) subscribe() {
	if shared, ok := s.store.(Shared); ok {
		s.shared = shared.Subscribe(subscriber{s})
	}
}

// subscriber passes on what other processes do.
type subscriber struct{ s *Service }

var _ Subscriber = subscriber{}

// Publish implements Subscriber.
func (u subscriber) Publish(threadID string, entries []Entry) {
	u.s.publish.Publish(threadID, entries)
}

// Missed implements Subscriber.
func (u subscriber) Missed(threadID string, pos int64) {
	if p, ok := u.s.publish.(interface{ Missed(string, int64) }); ok {
		p.Missed(threadID, pos)
	}
}

// RunEnded implements Subscriber.
func (u subscriber) RunEnded(threadID, runID string) { u.s.ended(threadID, runID) }

// RunChanged implements Subscriber.
func (u subscriber) RunChanged(threadID, runID string) {
	u.s.waiters.end(runID) // who waits looks at the row
	u.s.pool.headers(runID)
	if p, ok := u.s.publish.(interface{ RunChanged(string) }); ok {
		p.RunChanged(threadID)
	}
}

// WorkWaits implements Subscriber.
func (u subscriber) WorkWaits() { u.s.pool.wake() }

// CancelRequested implements Subscriber.
func (u subscriber) CancelRequested(runID, action string) { u.s.pool.cancel(runID, action) }

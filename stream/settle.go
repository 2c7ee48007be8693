package stream

import "time"

// After a watch began, events may still come to the log that were published
// before it: they are stored within 20 ms (decisions 2), on a busy disk later.
// Until something is published nobody would say so; so the log is looked at
// again, with growing pauses.
const (
	firstLook = 25 * time.Millisecond
	lastLook  = 3200 * time.Millisecond
)

// settle plans the looks at the log of a watch that begins.
func (f *feed) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = time.AfterFunc(firstLook, func() { f.lookAgain(firstLook) })
}

// lookAgain has the readers look at the log, unless they have heard of newer
// events: what comes before those is fetched on their account.
func (f *feed) lookAgain(pause time.Duration) {
	f.mu.Lock()
	if f.heard {
		f.mu.Unlock()
		return
	}
	f.looks++
	wake := f.change(true)
	if next := 2 * pause; next <= lastLook {
		f.timer = time.AfterFunc(next, func() { f.lookAgain(next) })
	}
	f.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}

// planned is how many looks were asked for so far.
func (f *feed) planned() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks
}

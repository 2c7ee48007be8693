package limit

import (
	"context"
	"time"
)

// Run names a run.
type Run struct{ ThreadID, RunID string }

// lookEvery is the shortest time between two looks at which of a principal's runs have ended.
const lookEvery = time.Second

// Start asks for room for a run. started is called once, with the run that was made, or
// with the zero value if none was. ended tells which runs are over; it is asked only when there
// seems to be no room, so that counting costs nothing until then.
func (l *Limiter) Start(ctx context.Context, who string, ended func(context.Context, Run) bool) (started func(Run), err error) {
	if l == nil || l.o.Runs <= 0 {
		return func(Run) {}, nil
	}
	now := l.now()
	l.mu.Lock()
	u := l.user(who, now)
	if !l.room(u) && now.Sub(u.checked) >= lookEvery {
		u.checked = now
		under := make([]Run, 0, len(u.runs))
		for r := range u.runs {
			under = append(under, r)
		}
		l.mu.Unlock()
		var over []Run
		for _, r := range under {
			if ended(ctx, r) {
				over = append(over, r)
			}
		}
		l.mu.Lock()
		for _, r := range over {
			delete(u.runs, r)
		}
	}
	defer l.mu.Unlock()
	if !l.room(u) {
		return nil, tooMany("Too many runs under way", lookEvery)
	}
	u.starting++
	return func(r Run) {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.starting--
		if r != (Run{}) {
			u.runs[r] = struct{}{}
		}
	}, nil
}

// room reports whether one more run fits. l.mu is held.
func (l *Limiter) room(u *user) bool { return len(u.runs)+u.starting < l.o.Runs }

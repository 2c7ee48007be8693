// Package limit bounds what one caller can ask of a server at once.
package limit

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate" // token buckets

	"github.com/parley-dev/parley/server/auth"
)

// Options are the limits of each principal, in each process. Zero is none.
type Options struct {
	// Requests is how many requests a second may be made in the long run, Burst how many at
	// once. Default of Burst: twice Requests, at least 1.
	Requests float64
	Burst    int
	// Streams is how many streams, sockets and waits may be open at once.
	Streams int
	// Runs is how many runs that the principal started may be under way or queued at once.
	// Answers to reviews are never refused for it.
	Runs int
}

// Enabled reports whether there is any limit.
func (o Options) Enabled() bool { return o.Requests > 0 || o.Streams > 0 || o.Runs > 0 }

// Limiter counts. A nil one lets everything pass.
type Limiter struct {
	o   Options
	now func() time.Time

	mu    sync.Mutex
	users map[string]*user
	swept time.Time
}

// user is what one principal does.
type user struct {
	bucket  *rate.Limiter // nil without a limit of requests
	streams int
	runs    map[Run]struct{}
	// starting runs have no id yet.
	starting int
	seen     time.Time
	checked  time.Time // when runs were looked up
}

// idle is how long a principal is remembered who does nothing.
const idle = 10 * time.Minute

// New returns a limiter; nil without limits. now default: time.Now.
func New(o Options, now func() time.Time) *Limiter {
	if !o.Enabled() {
		return nil
	}
	if o.Burst <= 0 {
		o.Burst = max(1, int(math.Ceil(2*o.Requests)))
	}
	if now == nil {
		now = time.Now
	}
	return &Limiter{o: o, now: now, users: map[string]*user{}, swept: now()}
}

// Request counts a request; an *auth.Error with status 429 says when to come again.
func (l *Limiter) Request(who string) error {
	if l == nil || l.o.Requests <= 0 {
		return nil
	}
	now := l.now()
	l.mu.Lock()
	u := l.user(who, now)
	l.mu.Unlock()
	r := u.bucket.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return tooMany("Too many requests", wait)
}

// Stream counts a stream that is opened; release is called at its end.
func (l *Limiter) Stream(who string) (release func(), err error) {
	if l == nil || l.o.Streams <= 0 {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.user(who, l.now())
	if u.streams >= l.o.Streams {
		return nil, tooMany("Too many open streams", 5*time.Second)
	}
	u.streams++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.streams--
	}), nil
}

// user finds a principal, and now and then forgets those who do nothing. l.mu is held.
func (l *Limiter) user(who string, now time.Time) *user {
	if now.Sub(l.swept) >= idle {
		l.swept = now
		for name, u := range l.users {
			if u.streams == 0 && u.starting == 0 && len(u.runs) == 0 && now.Sub(u.seen) >= idle {
				delete(l.users, name)
			}
		}
	}
	u := l.users[who]
	if u == nil {
		u = &user{runs: map[Run]struct{}{}}
		if l.o.Requests > 0 {
			u.bucket = rate.NewLimiter(rate.Limit(l.o.Requests), l.o.Burst)
		}
		l.users[who] = u
	}
	u.seen = now
	return u
}

func tooMany(message string, after time.Duration) *auth.Error {
	seconds := max(1, int(math.Ceil(after.Seconds())))
	return &auth.Error{
		Status: http.StatusTooManyRequests, Code: "too_many", Message: message,
		Header: http.Header{"Retry-After": {strconv.Itoa(seconds)}},
	}
}

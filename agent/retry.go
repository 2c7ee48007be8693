package agent

import (
	"context"
	"errors"
	"time"
)

// RetryPolicy says how often and when a failing node is run again (spec/runtime.md 1.14).
type RetryPolicy struct {
	InitialInterval time.Duration // default 500 ms
	BackoffFactor   float64       // default 2
	MaxInterval     time.Duration // default 128 s
	MaxAttempts     int           // in total; default 3
	Jitter          bool          // adds up to 1 s
	// RetryOn tells which errors are worth another attempt. Default: all but those
	// of cancelled calls, of wrong updates, of a missing store and of HTTP requests that
	// were refused (400–407, 409; from a StatusCode method).
	RetryOn func(error) bool
}

// attempts is the greatest number of attempts.
func (p *RetryPolicy) attempts() int {
	if p.MaxAttempts > 0 {
		return p.MaxAttempts
	}
	return 3
}

// pause is the wait after the n-th attempt; random returns a number below 1.
func (p *RetryPolicy) pause(n int, random func() float64) time.Duration {
	initial, factor, most := p.InitialInterval, p.BackoffFactor, p.MaxInterval
	if initial <= 0 {
		initial = 500 * time.Millisecond
	}
	if factor <= 0 {
		factor = 2
	}
	if most <= 0 {
		most = 128 * time.Second
	}
	d := float64(initial)
	for range n - 1 {
		d *= factor
	}
	pause := most
	if d < float64(most) {
		pause = time.Duration(d)
	}
	if p.Jitter {
		pause += time.Duration(random() * float64(time.Second))
	}
	return pause
}

// retries tells whether an error is worth another attempt.
func (p *RetryPolicy) retries(err error) bool {
	if p.RetryOn != nil {
		return p.RetryOn(err)
	}
	var named *NamedError
	var update *InvalidUpdateError
	var recursion *RecursionError
	var status interface{ StatusCode() int }
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &update), errors.As(err, &recursion):
		return false
	case errors.As(err, &named) && named.Name == "GraphValueError":
		return false
	case errors.As(err, &status):
		code := status.StatusCode()
		return (code < 400 || code > 407) && code != 409
	}
	return true
}

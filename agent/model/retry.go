package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/parley-dev/parley/agent"
)

// retryable reports whether a failed attempt is worth another one. The policy's
// word goes first, then the error's own, a method Retryable() bool. Else all is,
// but for cancelled calls and HTTP requests that were refused: 400–407 and 409,
// from a StatusCode method (spec/runtime.md 1.14).
func retryable(ctx context.Context, p agent.RetryPolicy, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if p.RetryOn != nil {
		return p.RetryOn(err)
	}
	var own interface{ Retryable() bool }
	if errors.As(err, &own) {
		return own.Retryable()
	}
	var status interface{ StatusCode() int }
	if errors.As(err, &status) {
		code := status.StatusCode()
		return (code < 400 || code > 407) && code != 409
	}
	return !errors.Is(err, context.Canceled)
}

// delay is the pause behind the n-th attempt, n from 1. An error that knows better,
// by a method RetryAfter() time.Duration, makes it longer, up to the policy's limit.
func delay(p agent.RetryPolicy, n int, err error) time.Duration {
	interval, factor, limit := p.InitialInterval, p.BackoffFactor, p.MaxInterval
	if interval == 0 {
		interval = 500 * time.Millisecond
	}
	if factor == 0 {
		factor = 2
	}
	if limit == 0 {
		limit = 128 * time.Second
	}
	d := float64(interval)
	for range n - 1 {
		if d *= factor; d >= float64(limit) {
			break
		}
	}
	pause := min(time.Duration(d), limit)
	var asked interface{ RetryAfter() time.Duration }
	if errors.As(err, &asked) {
		pause = min(max(pause, asked.RetryAfter()), limit)
	}
	if p.Jitter {
		pause += rand.N(time.Second)
	}
	return pause
}

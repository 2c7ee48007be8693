package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/parley-dev/parley/agent"
)

// retryable reports whether a failed attempt is worth another one. An error
// can say so itself with a method Retryable() bool; without the policy's or the
// error's word all is, but for the end of the caller's context.
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
	return !errors.Is(err, context.Canceled)
}

// delay is the pause behind the n-th attempt, n from 1.
func delay(p agent.RetryPolicy, n int) time.Duration {
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
	if p.Jitter {
		pause += rand.N(time.Second)
	}
	return pause
}

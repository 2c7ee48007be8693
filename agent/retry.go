package agent

import "time"

// RetryPolicy says how often and when a failing node is run again (spec/runtime.md 1.14).
type RetryPolicy struct {
	InitialInterval time.Duration // default 500 ms
	BackoffFactor   float64       // default 2
	MaxInterval     time.Duration // default 128 s
	MaxAttempts     int           // in total; default 3
	Jitter          bool          // adds up to 1 s
	RetryOn         func(error) bool
}

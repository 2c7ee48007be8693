package thread

import (
	"math"
	"time"
)

// Span is n units of time. What a duration can't hold (about 292 years) is the
// longest one: a far future must not turn into the past.
func Span(n float64, unit time.Duration) time.Duration {
	if ns := n * float64(unit); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

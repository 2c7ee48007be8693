//go:build !race

package stream_test

// racing says that the race detector is on, which makes everything larger.
const racing = false

//go:build race

package stream_test

const racing = true

//go:build !race

package server_test

// raceEnabled tells that the race detector is on, which makes everything slow.
const raceEnabled = false

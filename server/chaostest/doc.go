// Package chaostest runs several servers on one Redis, as processes that are killed,
// paused and cut off while clients work, and checks afterwards what must be so
// whatever happened.
package chaostest

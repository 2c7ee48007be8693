// Package scripted holds chat models that play a script: for demos, tests and
// the conformance agents (spec/conformance-agents.md 2). They need no network
// and their answers depend on nothing but the script, a counter and the prompt.
package scripted

import "sync"

// Cursors count calls by key, usually a thread's id. One Cursors belongs to one
// script. It lives as long as the process and is safe for concurrent use.
type Cursors struct {
	mu    sync.Mutex
	calls map[string]int
}

// NewCursors returns Cursors at the start.
func NewCursors() *Cursors { return &Cursors{calls: map[string]int{}} }

// noKey is counted under when no key is given, as the peers do.
const noKey = "$"

// Calls is the number of calls counted for a key.
func (c *Cursors) Calls(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[orNoKey(key)]
}

// next counts a call and returns the number of those before it.
func (c *Cursors) next(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.calls[orNoKey(key)]
	c.calls[orNoKey(key)] = n + 1
	return n
}

func orNoKey(key string) string {
	if key == "" {
		return noKey
	}
	return key
}

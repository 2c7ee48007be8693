package agent

import (
	"encoding/json"
	"sync"
	"time"
)

// nodeCache keeps the writes of cached nodes in memory (spec/runtime.md 1.14).
type nodeCache struct {
	mu      sync.Mutex
	entries map[string]cachedWrites
}

type cachedWrites struct {
	writes  []Write
	expires time.Time
}

func newNodeCache() *nodeCache { return &nodeCache{entries: map[string]cachedWrites{}} }

func (c *nodeCache) get(key string, now time.Time) ([]Write, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if ok && now.After(e.expires) {
		delete(c.entries, key)
		return nil, false
	}
	return e.writes, ok
}

// put stores an entry and drops those that have expired.
func (c *nodeCache) put(key string, writes []Write, now time.Time, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.entries {
		if now.After(e.expires) {
			delete(c.entries, k)
		}
	}
	c.entries[key] = cachedWrites{writes: writes, expires: now.Add(ttl)}
}

// cached returns the key of the task's result in the node cache, "" if the node
// isn't cached, and the result if it is there.
func (t *taskRun) cached() (string, *taskResult) {
	n := t.planned.node
	if n.cacheTTL <= 0 {
		return "", nil
	}
	input := json.RawMessage(t.loop.inputFor(t.planned).json())
	key := n.name + "\x00"
	if n.cacheKey != nil {
		key += n.cacheKey(input)
	} else {
		key += string(input)
	}
	writes, ok := t.loop.g.cache.get(key, t.loop.r.exec.Clock.Now())
	if !ok {
		return key, nil
	}
	return key, &taskResult{run: t, writes: writes, returned: true, cached: true}
}

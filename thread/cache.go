package thread

import (
	"container/list"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
)

// cache keeps decoded values of threads (large values, message lists) and the
// newest checkpoint of each namespace, least recently used out first. All of it
// is immutable and can be read from the store again.
type cache struct {
	limit int

	mu      sync.Mutex
	bytes   int
	order   *list.List // of *cached, most recently used first
	threads map[string]map[string]*list.Element
}

type cached struct {
	thread, key string
	value       any // agent.Value or *agent.Checkpoint
	size        int
	used        time.Time
}

// entryOverhead is about what an entry takes beside its value.
const entryOverhead = 256

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), threads: map[string]map[string]*list.Element{}}
}

func (c *cache) get(thread, key string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.threads[thread][key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	entry := e.Value.(*cached)
	entry.used = time.Now()
	return entry.value
}

func (c *cache) put(thread, key string, value any, size int) {
	size += entryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.threads[thread][key]; ok {
		c.remove(e)
	}
	if size > c.limit/2 {
		return
	}
	if c.threads[thread] == nil {
		c.threads[thread] = map[string]*list.Element{}
	}
	c.threads[thread][key] = c.order.PushFront(&cached{thread: thread, key: key, value: value, size: size, used: time.Now()})
	c.bytes += size
	for c.bytes > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(e *list.Element) {
	entry := c.order.Remove(e).(*cached)
	c.bytes -= entry.size
	keys := c.threads[entry.thread]
	if delete(keys, entry.key); len(keys) == 0 {
		delete(c.threads, entry.thread)
	}
}

// forget drops what is kept of a thread.
func (c *cache) forget(thread string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.threads[thread] {
		c.remove(e)
	}
}

// sweep drops what wasn't used since the given time.
func (c *cache) sweep(before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Back(); e != nil && e.Value.(*cached).used.Before(before); e = c.order.Back() {
		c.remove(e)
	}
}

// of is the part of the cache that belongs to a thread.
func (c *cache) of(thread string) threadCache { return threadCache{c: c, thread: thread} }

type threadCache struct {
	c      *cache
	thread string
}

var _ agent.ValueCache = threadCache{}

// Get implements agent.ValueCache.
func (t threadCache) Get(key string) (agent.Value, bool) {
	v, ok := t.c.get(t.thread, key).(agent.Value)
	return v, ok
}

// Put implements agent.ValueCache.
func (t threadCache) Put(key string, v agent.Value, size int) { t.c.put(t.thread, key, v, size) }

func headKey(ns string) string { return "head:" + ns }

// checkpoint returns the checkpoint if it is the one that was kept last of its namespace.
func (t threadCache) checkpoint(ns, id string) *agent.Checkpoint {
	cp, ok := t.c.get(t.thread, headKey(ns)).(*agent.Checkpoint)
	if !ok || cp.ID != id {
		return nil
	}
	return cp
}

// keep keeps the checkpoint as the newest of its namespace. An older one doesn't push a newer out.
func (t threadCache) keep(cp *agent.Checkpoint) {
	if kept, ok := t.c.get(t.thread, headKey(cp.NS)).(*agent.Checkpoint); ok && kept.ID >= cp.ID {
		return
	}
	size := 0
	for name, ch := range cp.Channels {
		size += len(name) + 64
		switch {
		case ch.Value == nil:
		case ch.Value.List != nil:
			size += 24 * ch.Value.List.Len() // the messages count where the list is kept
		default:
			size += len(ch.Value.JSON)
		}
	}
	for k, v := range cp.Metadata {
		size += len(k) + len(v) + 48
	}
	t.c.put(t.thread, headKey(cp.NS), cp, size)
}

package agent

import (
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

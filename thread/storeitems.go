package thread

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
)

// ItemStore is the long-term key-value store.
type ItemStore interface {
	// PutItem stores an item; the TTL, counted by the store's clock, takes the place of an earlier one. 0 is forever.
	PutItem(ctx context.Context, it agent.Item, ttl time.Duration) error
	// GetItem returns the item and its TTL, 0 for none; ErrNotFound when there is none, or it has expired.
	GetItem(ctx context.Context, namespace []string, key string) (agent.Item, time.Duration, error)
	DeleteItem(ctx context.Context, namespace []string, key string) error
	SearchItems(ctx context.Context, q ItemQuery) ([]agent.Item, error)
	ItemNamespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
	// RefreshItem starts the item's TTL anew. It does nothing to an item without one, or that is gone.
	RefreshItem(ctx context.Context, namespace []string, key string) error
}

// ItemQuery finds items.
type ItemQuery struct {
	Prefix []string
	Filter map[string]json.RawMessage // equality or $eq,$ne,$gt,$gte,$lt,$lte,$in,$nin
	// Auth is an auth filter on value plus namespace and key.
	Auth Filter
	// Refresh starts the TTLs of the items found anew.
	Refresh bool
	Limit   int
	Offset  int
}

// NamespaceQuery finds namespaces; "*" in prefix and suffix matches one label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int
	Auth           Filter
	Limit, Offset  int
}

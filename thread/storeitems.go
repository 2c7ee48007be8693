package thread

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
)

// ItemStore is the long-term key-value store.
type ItemStore interface {
	PutItem(ctx context.Context, it agent.Item, expires time.Time) error
	// GetItem returns ErrNotFound when there is none, or it has expired.
	GetItem(ctx context.Context, namespace []string, key string) (agent.Item, error)
	DeleteItem(ctx context.Context, namespace []string, key string) error
	SearchItems(ctx context.Context, q ItemQuery) ([]agent.Item, error)
	ItemNamespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
	// RefreshItem sets a new expiry of an item that has one.
	RefreshItem(ctx context.Context, namespace []string, key string, expires time.Time) error
}

// ItemQuery finds items.
type ItemQuery struct {
	Prefix []string
	Filter map[string]json.RawMessage // equality or $eq,$ne,$gt,$gte,$lt,$lte,$in,$nin
	// Auth is an auth filter on value plus namespace and key.
	Auth   Filter
	Limit  int
	Offset int
}

// NamespaceQuery finds namespaces; "*" in prefix and suffix matches one label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int
	Auth           Filter
	Limit, Offset  int
}

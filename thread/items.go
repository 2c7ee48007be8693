package thread

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/parley-dev/parley/agent"
)

// items is the long-term store as nodes see it.
type items struct{ s *Service }

var _ agent.Items = items{}

func (s *Service) items() agent.Items { return items{s: s} }

// Get implements agent.Items. Reading starts an item's TTL anew.
func (i items) Get(ctx context.Context, namespace []string, key string) (*agent.Item, error) {
	it, ttl, err := i.s.store.GetItem(ctx, namespace, key)
	if err == nil && ttl > 0 {
		err = i.s.store.RefreshItem(ctx, namespace, key)
	}
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &it, nil
}

// Put implements agent.Items.
func (i items) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	now := i.s.clock.Now()
	return i.s.store.PutItem(ctx, agent.Item{Namespace: namespace, Key: key, Value: value, CreatedAt: now, UpdatedAt: now}, 0)
}

// Delete implements agent.Items.
func (i items) Delete(ctx context.Context, namespace []string, key string) error {
	if err := i.s.store.DeleteItem(ctx, namespace, key); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// Search implements agent.Items. It starts the TTLs of what it finds anew.
func (i items) Search(ctx context.Context, prefix []string, filter map[string]json.RawMessage, limit, offset int) ([]agent.Item, error) {
	return i.s.store.SearchItems(ctx, ItemQuery{Prefix: prefix, Filter: filter, Limit: limit, Offset: offset, Refresh: true})
}

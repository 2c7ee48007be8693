package local

import (
	"context"
	"time"

	"github.com/parley-dev/parley/agent"
)

// itemTTL is the TTL in a row of itemColumns.
func itemTTL(r *rows) time.Duration { return time.Duration(r.int(5)) * time.Microsecond }

// expiry is when an item with that TTL is gone; 0 for never.
func expiry(now int64, ttl time.Duration) int64 {
	if ttl <= 0 {
		return 0
	}
	return now + ttl.Microseconds()
}

// RefreshItem implements thread.ItemStore.
func (s *Store) RefreshItem(ctx context.Context, namespace []string, key string) error {
	return s.refreshItems(ctx, []agent.Item{{Namespace: namespace, Key: key}})
}

// refreshItems starts TTLs anew. What expired in the meantime stays gone.
func (s *Store) refreshItems(ctx context.Context, items []agent.Item) error {
	return s.write(ctx, false, func(t *tx) error {
		now := micros(s.now())
		for _, it := range items {
			ns, err := joinLabels(it.Namespace)
			if err != nil {
				return err
			}
			if _, err := t.exec(`UPDATE items SET expires=?1+ttl WHERE namespace=?2 AND key=?3 AND ttl<>0 AND expires>?1`, now, ns, it.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropExpiredItems removes items that nobody can see any more.
func dropExpiredItems(c *conn, now int64) error {
	_, err := c.exec(`DELETE FROM items WHERE expires<>0 AND expires<=?`, now)
	return err
}

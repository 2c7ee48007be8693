package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// labelSeparator joins the labels of a namespace; it sorts below what labels are made of.
const labelSeparator = "\x1f"

func joinLabels(namespace []string) (string, error) {
	for _, l := range namespace {
		if strings.Contains(l, labelSeparator) {
			return "", fmt.Errorf("local: label %q holds a separator", l)
		}
	}
	return strings.Join(namespace, labelSeparator), nil
}

func splitLabels(s string) []string {
	if s == "" {
		return []string{}
	}
	return strings.Split(s, labelSeparator)
}

// PutItem implements thread.ItemStore. The time of creation of an item that exists stays.
func (s *Store) PutItem(ctx context.Context, it agent.Item, ttl time.Duration) error {
	ns, err := joinLabels(it.Namespace)
	if err != nil {
		return err
	}
	updated := micros(s.orNow(it.UpdatedAt))
	created := micros(it.CreatedAt)
	if created == 0 {
		created = updated
	}
	return s.write(ctx, true, func(t *tx) error {
		now := micros(s.now())
		_, err := t.exec(`INSERT INTO items(namespace, key, value, created, updated, ttl, expires) VALUES(?1,?2,?3,?4,?5,?6,?7)
			ON CONFLICT(namespace, key) DO UPDATE SET value=?3, ttl=?6, expires=?7, updated=max(?5, updated+1),
				created=CASE WHEN expires<>0 AND expires<=?8 THEN ?4 ELSE created END`,
			ns, it.Key, it.Value, created, updated, ttl.Microseconds(), expiry(now, ttl), now)
		return err
	})
}

const itemColumns = `namespace, key, value, created, updated, ttl`

func readItem(r *rows) agent.Item {
	return agent.Item{Namespace: splitLabels(r.text(0)), Key: r.text(1), Value: r.blob(2), CreatedAt: timeOf(r.int(3)), UpdatedAt: timeOf(r.int(4))}
}

// GetItem implements thread.ItemStore.
func (s *Store) GetItem(ctx context.Context, namespace []string, key string) (it agent.Item, ttl time.Duration, err error) {
	ns, err := joinLabels(namespace)
	if err != nil {
		return it, 0, err
	}
	err = s.read(ctx, func(c *conn) error {
		ok, err := c.one(func(r *rows) { it, ttl = readItem(r), itemTTL(r) },
			`SELECT `+itemColumns+` FROM items WHERE namespace=? AND key=? AND (expires=0 OR expires>?)`, ns, key, micros(s.now()))
		if err == nil && !ok {
			err = &thread.NotFoundError{Kind: notFoundItem, ID: key}
		}
		return err
	})
	return it, ttl, err
}

// DeleteItem implements thread.ItemStore. An item that isn't there is deleted.
func (s *Store) DeleteItem(ctx context.Context, namespace []string, key string) error {
	ns, err := joinLabels(namespace)
	if err != nil {
		return err
	}
	return s.write(ctx, true, func(t *tx) error {
		_, err := t.exec(`DELETE FROM items WHERE namespace=? AND key=?`, ns, key)
		return err
	})
}

// SearchItems implements thread.ItemStore: newest first.
func (s *Store) SearchItems(ctx context.Context, q thread.ItemQuery) (list []agent.Item, err error) {
	prefix, err := joinLabels(q.Prefix)
	if err != nil {
		return nil, err
	}
	var aging []agent.Item
	err = s.read(ctx, func(c *conn) error {
		list, aging = nil, nil
		sql := `SELECT ` + itemColumns + ` FROM items WHERE (expires=0 OR expires>?)`
		args := []any{micros(s.now())}
		if prefix != "" {
			sql += ` AND (namespace=? OR namespace>? AND namespace<?)`
			args = append(args, prefix, prefix+labelSeparator, prefix+"\x20")
		}
		r := c.query(sql+` ORDER BY updated DESC, namespace, key`, args...)
		skip := q.Offset
		for r.next() && (q.Limit <= 0 || len(list) < q.Limit) {
			it := readItem(r)
			if !query.ItemMatches(it, q.Filter, q.Auth) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			list = append(list, it)
			if q.Refresh && itemTTL(r) > 0 {
				aging = append(aging, it)
			}
		}
		return r.close()
	})
	if err == nil && len(aging) > 0 {
		err = s.refreshItems(ctx, aging)
	}
	return list, err
}

// ItemNamespaces implements thread.ItemStore: sorted, cut to MaxDepth, each once.
func (s *Store) ItemNamespaces(ctx context.Context, q thread.NamespaceQuery) (list [][]string, err error) {
	seen := map[string]bool{}
	err = s.read(ctx, func(c *conn) error {
		list = nil
		clear(seen)
		sql := `SELECT DISTINCT namespace FROM items WHERE (expires=0 OR expires>?) ORDER BY namespace`
		if len(q.Auth) > 0 {
			sql = `SELECT ` + itemColumns + ` FROM items WHERE (expires=0 OR expires>?) ORDER BY namespace`
		}
		r := c.query(sql, micros(s.now()))
		for r.next() {
			labels := splitLabels(r.text(0))
			if len(q.Auth) > 0 && !query.ItemMatches(readItem(r), nil, q.Auth) {
				continue
			}
			if !query.NamespaceMatches(labels, q.Prefix, q.Suffix) {
				continue
			}
			if q.MaxDepth > 0 && len(labels) > q.MaxDepth {
				labels = labels[:q.MaxDepth]
			}
			key := strings.Join(labels, labelSeparator)
			if !seen[key] {
				seen[key] = true
				list = append(list, labels)
			}
		}
		return r.close()
	})
	slices.SortFunc(list, func(a, b []string) int { return slices.Compare(a, b) })
	return query.Page(list, q.Limit, q.Offset), err
}

package redis

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// labelSeparator joins the labels of a namespace; it sorts below what labels are made of.
const labelSeparator = "\x1f"

// itemsBatch is how many items a search reads at once.
const itemsBatch = 500

func joinLabels(namespace []string) (string, error) {
	for _, l := range namespace {
		if strings.Contains(l, labelSeparator) {
			return "", fmt.Errorf("redis: label %q holds a separator", l)
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

// item runs one script on an item, which lives in the shard of its first label.
func (s *Store) item(ctx context.Context, what string, namespace []string, key string, args ...any) reply {
	ns, err := joinLabels(namespace)
	if err != nil {
		return reply{err: err}
	}
	return s.eval(ctx, "item", s.keys.items(s.itemShard(namespace)), append([]any{what, ns, key}, args...)...)
}

func (s *Store) itemShard(namespace []string) int {
	if len(namespace) == 0 {
		return s.keys.shardOf("")
	}
	return s.keys.shardOf(namespace[0])
}

// itemShards are the shards that may have items below a prefix.
func (s *Store) itemShards(prefix []string) []int {
	if len(prefix) > 0 {
		return []int{s.itemShard(prefix)}
	}
	all := make([]int, s.keys.shards)
	for n := range all {
		all[n] = n
	}
	return all
}

// PutItem implements thread.ItemStore. The time of creation of an item that exists stays.
func (s *Store) PutItem(ctx context.Context, it agent.Item, ttl time.Duration) error {
	r := s.item(ctx, "put", it.Namespace, it.Key, []byte(it.Value), micros(it.CreatedAt), micros(it.UpdatedAt), max(ttl, 0).Microseconds())
	return r.err
}

// GetItem implements thread.ItemStore.
func (s *Store) GetItem(ctx context.Context, namespace []string, key string) (agent.Item, time.Duration, error) {
	r := s.item(ctx, "get", namespace, key)
	if r.err == nil && !r.more() {
		return agent.Item{}, 0, &thread.NotFoundError{Kind: notFoundItem, ID: key}
	}
	it, ttl := takeItem(&r)
	return it, ttl, r.err
}

func takeItem(r *reply) (agent.Item, time.Duration) {
	in := r.inner()
	it := agent.Item{Namespace: splitLabels(in.text()), Key: in.text(), Value: in.blob(), CreatedAt: timeOf(in.int()), UpdatedAt: timeOf(in.int())}
	ttl := time.Duration(in.int()) * time.Microsecond
	if r.err == nil {
		r.err = in.err
	}
	return it, ttl
}

// DeleteItem implements thread.ItemStore. An item that isn't there is deleted.
func (s *Store) DeleteItem(ctx context.Context, namespace []string, key string) error {
	r := s.item(ctx, "delete", namespace, key)
	return r.err
}

// RefreshItem implements thread.ItemStore.
func (s *Store) RefreshItem(ctx context.Context, namespace []string, key string) error {
	r := s.item(ctx, "refresh", namespace, key)
	return r.err
}

// itemFound is an item that a search found.
type itemFound struct {
	agent.Item
	ttl time.Duration
}

// SearchItems implements thread.ItemStore: newest first.
func (s *Store) SearchItems(ctx context.Context, q thread.ItemQuery) ([]agent.Item, error) {
	var all []itemFound
	for _, n := range s.itemShards(q.Prefix) {
		err := s.eachItem(ctx, n, q.Prefix, func(it itemFound) {
			if query.ItemMatches(it.Item, q.Filter, q.Auth) {
				all = append(all, it)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c < 0
		}
		if c := slices.Compare(a.Namespace, b.Namespace); c != 0 {
			return c < 0
		}
		return a.Key < b.Key
	})
	var list []agent.Item
	var calls []*call
	for _, it := range query.Page(all, q.Limit, q.Offset) {
		list = append(list, it.Item)
		if q.Refresh && it.ttl > 0 {
			ns, err := joinLabels(it.Namespace)
			if err != nil {
				return nil, err
			}
			calls = append(calls, &call{script: "item", keys: s.keys.items(s.itemShard(it.Namespace)), args: []any{"refresh", ns, it.Key}})
		}
	}
	return list, s.evalAll(ctx, calls...)
}

// eachItem goes through the items of a shard below a prefix.
func (s *Store) eachItem(ctx context.Context, shard int, prefix []string, f func(itemFound)) error {
	ns, err := joinLabels(prefix)
	if err != nil {
		return err
	}
	for behind := ""; ; {
		r := s.eval(ctx, "items", s.keys.items(shard), ns, behind, itemsBatch)
		behind = r.text()
		for r.more() {
			it, ttl := takeItem(&r)
			if r.err == nil {
				f(itemFound{Item: it, ttl: ttl})
			}
		}
		if r.err != nil || behind == "" {
			return r.err
		}
	}
}

// ItemNamespaces implements thread.ItemStore: sorted, cut to MaxDepth, each once.
func (s *Store) ItemNamespaces(ctx context.Context, q thread.NamespaceQuery) ([][]string, error) {
	var names [][]string
	for n := range s.keys.shards {
		if len(q.Auth) > 0 {
			err := s.eachItem(ctx, n, nil, func(it itemFound) {
				if query.ItemMatches(it.Item, nil, q.Auth) {
					names = append(names, it.Namespace)
				}
			})
			if err != nil {
				return nil, err
			}
			continue
		}
		r := s.eval(ctx, "itemspaces", s.keys.items(n))
		for r.more() {
			names = append(names, splitLabels(r.text()))
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	seen := map[string]bool{}
	var list [][]string
	for _, labels := range names {
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
	slices.SortFunc(list, func(a, b []string) int { return slices.Compare(a, b) })
	return query.Page(list, q.Limit, q.Offset), nil
}

// purgeItems removes items whose life is over.
func (s *Store) purgeItems(ctx context.Context) error {
	calls := make([]*call, s.keys.shards)
	for n := range calls {
		calls[n] = &call{script: "purge", keys: s.keys.items(n)}
	}
	return s.evalAll(ctx, calls...)
}

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
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
			if !itemMatches(it, q.Filter, q.Auth) {
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

// itemMatches compares the item's value with a filter, and value, namespace and key with an auth filter.
func itemMatches(it agent.Item, filter map[string]json.RawMessage, auth thread.Filter) bool {
	if len(filter) == 0 && len(auth) == 0 {
		return true
	}
	value := thread.Metadata{}
	if json.Unmarshal(it.Value, &value) != nil {
		return false
	}
	for k, want := range filter {
		have, ok := value[k]
		if !compareItem(have, ok, want) {
			return false
		}
	}
	if len(auth) == 0 {
		return true
	}
	ns, err := json.Marshal(it.Namespace)
	if err != nil {
		return false
	}
	value["namespace"], value["key"] = ns, quoted(it.Key)
	return auth.Matches(value)
}

// compareItem applies one key of a filter: a value to be equal to, or an object of operators.
func compareItem(have json.RawMessage, ok bool, want json.RawMessage) bool {
	var ops map[string]json.RawMessage
	if json.Unmarshal(want, &ops) != nil || !isOperators(ops) {
		return ok && sameJSON(have, want)
	}
	for op, v := range ops {
		if !compareOp(op, have, ok, v) {
			return false
		}
	}
	return true
}

func isOperators(ops map[string]json.RawMessage) bool {
	for op := range ops {
		if !strings.HasPrefix(op, "$") {
			return false
		}
	}
	return len(ops) > 0
}

func compareOp(op string, have json.RawMessage, ok bool, v json.RawMessage) bool {
	switch op {
	case "$eq":
		return ok && sameJSON(have, v)
	case "$ne":
		return !ok || !sameJSON(have, v)
	case "$in", "$nin":
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil {
			return false
		}
		in := ok && slices.ContainsFunc(list, func(e json.RawMessage) bool { return sameJSON(have, e) })
		return in == (op == "$in")
	}
	var a, b float64
	if !ok || json.Unmarshal(have, &a) != nil || json.Unmarshal(v, &b) != nil {
		return false
	}
	switch op {
	case "$gt":
		return a > b
	case "$gte":
		return a >= b
	case "$lt":
		return a < b
	case "$lte":
		return a <= b
	}
	return false
}

// sameJSON tells whether two JSON texts are the same value.
func sameJSON(a, b json.RawMessage) bool {
	eq := json.RawMessage(`{"$eq":` + string(b) + `}`)
	return thread.Filter{"v": eq}.Matches(thread.Metadata{"v": a})
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
			if len(q.Auth) > 0 && !itemMatches(readItem(r), nil, q.Auth) {
				continue
			}
			if !hasPrefix(labels, q.Prefix) || !hasSuffix(labels, q.Suffix) {
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
	return page(list, q.Limit, q.Offset), err
}

func hasPrefix(labels, prefix []string) bool {
	return len(labels) >= len(prefix) && labelsMatch(labels[:len(prefix)], prefix)
}

func hasSuffix(labels, suffix []string) bool {
	return len(labels) >= len(suffix) && labelsMatch(labels[len(labels)-len(suffix):], suffix)
}

// labelsMatch compares labels; "*" stands for any.
func labelsMatch(labels, pattern []string) bool {
	for i, p := range pattern {
		if p != "*" && p != labels[i] {
			return false
		}
	}
	return true
}

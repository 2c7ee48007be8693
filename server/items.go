package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

var errNamespaceRequired = &textError{http.StatusBadRequest, "Namespace is required"}

// reservedRoot is the first label that clients may not write to.
const reservedRoot = "langgraph"

// now is the time that items and patches are stamped with.
func now() time.Time { return time.Now().UTC() }

// minutesOf converts the minutes of a TTL.
func minutesOf(m float64) time.Duration { return thread.Span(m, time.Minute) }

// checkNamespace refuses namespaces that can't be addressed (spec/rest-api.md 2.5).
func checkNamespace(ns []string) error {
	if len(ns) == 0 {
		return errNamespaceRequired
	}
	for _, label := range ns {
		if label == "" || strings.Contains(label, ".") {
			return &textError{http.StatusUnprocessableEntity, "Namespace labels cannot be empty or contain periods. Received: " + strings.Join(ns, ".")}
		}
	}
	if ns[0] == reservedRoot {
		return &textError{http.StatusUnprocessableEntity, `Root label for namespace cannot be "` + reservedRoot + `". Received: ` + strings.Join(ns, ".")}
	}
	return nil
}

// allowItems asks about an event of the store. An authoriser may change the namespace under key.
func (s *Server) allowItems(c echo.Context, action, key string, ns []string, fill func(v auth.Value)) (auth.Filter, []string, error) {
	filter, value, err := s.allow(c, "store", action, func(v auth.Value) {
		if ns != nil {
			v["namespace"] = encode(ns)
		}
		if key != "" {
			v["key"] = encode(key)
		}
		if fill != nil {
			fill(v)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if changed, ok := value.Strings("namespace"); ok {
		ns = changed
	}
	return filter, ns, nil
}

// unscopedLabels is a stored namespace as the user knows it, without the label of their project or workspace.
func unscopedLabels(c echo.Context, ns []string) []string {
	u := knownUser(c)
	if u.Unruled() {
		return ns
	}
	return thread.UnscopedNamespace(u.Project, u.Workspace, ns)
}

// unscoped is a stored item as the user knows it.
func unscoped(c echo.Context, it agent.Item) agent.Item {
	it.Namespace = unscopedLabels(c, it.Namespace)
	return it
}

// matchItem reports whether an item passes an auth filter: its value with namespace and key.
func matchItem(f auth.Filter, it agent.Item) bool {
	if len(f) == 0 {
		return true
	}
	doc := thread.Metadata{}
	if v, ok := newFields(it.Value); ok {
		for k, raw := range v.values {
			doc[k] = raw
		}
	}
	doc["namespace"], doc["key"] = encode(it.Namespace), encode(it.Key)
	return f.Matches(doc)
}

// putItem is PUT /store/items.
func (s *Server) putItem(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("key", "value")
	it := agent.Item{Namespace: f.strings("namespace"), Key: f.str("key"), Value: f.object("value")}
	minutes := f.number("ttl", 0)
	if err := f.err(); err != nil {
		return err
	}
	if err := checkNamespace(it.Namespace); err != nil {
		return err
	}
	filter, ns, err := s.allowItems(c, "put", it.Key, it.Namespace, func(v auth.Value) { v["value"] = it.Value })
	if err != nil {
		return err
	}
	it.Namespace = ns
	if !matchItem(filter, it) {
		return auth.Forbidden("Forbidden")
	}
	it.CreatedAt = now()
	it.UpdatedAt = it.CreatedAt
	if err := s.svc.Store().PutItem(c.Request().Context(), it, minutesOf(minutes)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// getItem is GET /store/items; a missing item is null, not 404. Reading starts
// the item's TTL anew unless refresh_ttl is false.
func (s *Server) getItem(c echo.Context) error {
	ns := queryNamespace(c)
	if len(ns) == 0 {
		return errNamespaceRequired
	}
	key := c.QueryParam("key")
	if key == "" {
		return &validationError{[]issue{wrongType("string", nil, []any{"key"})}}
	}
	filter, ns, err := s.allowItems(c, "get", key, ns, nil)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	it, ttl, err := s.svc.Store().GetItem(ctx, ns, key)
	switch {
	case errors.Is(err, thread.ErrNotFound):
		return writeJSON(c, http.StatusOK, nil)
	case err != nil:
		return err
	case !matchItem(filter, it):
		return &textError{http.StatusNotFound, "Item not found"}
	}
	if refresh := c.QueryParam("refresh_ttl"); ttl > 0 && (refresh == "" || truthy(refresh)) {
		if err := s.svc.Store().RefreshItem(ctx, ns, key); err != nil {
			return err
		}
	}
	return writeJSON(c, http.StatusOK, itemJSON(unscoped(c, it)))
}

// queryNamespace reads a namespace whose labels are joined by periods.
func queryNamespace(c echo.Context) []string {
	ns := queryList(c, "namespace")
	if len(ns) == 1 {
		return strings.Split(ns[0], ".")
	}
	return ns
}

// deleteItem is DELETE /store/items.
func (s *Server) deleteItem(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	ns, key := f.strings("namespace"), f.str("key")
	if !f.has("namespace") && c.QueryParam("namespace") != "" { // clients without a body
		ns, key = queryNamespace(c), c.QueryParam("key")
	} else {
		f.require("key")
	}
	if err := f.err(); err != nil {
		return err
	}
	if len(ns) == 0 {
		return errNamespaceRequired
	}
	filter, ns, err := s.allowItems(c, "delete", key, ns, nil)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if len(filter) > 0 {
		it, _, err := s.svc.Store().GetItem(ctx, ns, key)
		switch {
		case errors.Is(err, thread.ErrNotFound):
			return c.NoContent(http.StatusNoContent)
		case err != nil:
			return err
		case !matchItem(filter, it):
			return &textError{http.StatusNotFound, "Item not found"}
		}
	}
	if err := s.svc.Store().DeleteItem(ctx, ns, key); err != nil && !errors.Is(err, thread.ErrNotFound) {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// searchItems is POST /store/items/search. Without an embedding index, query is as
// if absent. TTLs of what is found start anew unless refresh_ttl is false.
func (s *Server) searchItems(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("namespace_prefix")
	q := thread.ItemQuery{Prefix: f.strings("namespace_prefix"), Filter: f.conditions("filter")}
	q.Limit, q.Offset = s.page(f)
	q.Refresh = f.raw("refresh_ttl") == nil || f.boolean("refresh_ttl")
	if err := f.err(); err != nil {
		return err
	}
	q.Auth, q.Prefix, err = s.allowItems(c, "search", "", q.Prefix, func(v auth.Value) {
		v["filter"], v["limit"], v["offset"] = encode(q.Filter), encode(q.Limit), encode(q.Offset)
	})
	if err != nil {
		return err
	}
	items, err := s.svc.Store().SearchItems(c.Request().Context(), q)
	if err != nil {
		return err
	}
	out := make([]json.RawMessage, len(items))
	for i, it := range items {
		out[i] = itemJSON(unscoped(c, it))
	}
	return writeJSON(c, http.StatusOK, (&object{}).raw("items", list(out)).done())
}

// listNamespaces is POST /store/namespaces.
func (s *Server) listNamespaces(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := thread.NamespaceQuery{Prefix: f.strings("prefix"), Suffix: f.strings("suffix"), MaxDepth: f.integer("max_depth", 0, 1, 1<<31-1)}
	q.Limit, q.Offset = f.integer("limit", 100, 1, s.limits.Page), f.integer("offset", 0, 0, 1<<31-1)
	for _, key := range []string{"prefix", "suffix"} {
		if f.raw(key) != nil && len(f.strings(key)) == 0 {
			f.fault(key, "Array must contain at least 1 element(s)")
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	q.Auth, q.Prefix, err = s.allowItems(c, "list_namespaces", "", q.Prefix, func(v auth.Value) {
		v["suffix"], v["max_depth"] = encode(q.Suffix), encode(q.MaxDepth)
	})
	if err != nil {
		return err
	}
	label := len(unscopedLabels(c, []string{""})) == 0 // the project's or workspace's, which clients don't see
	if label && q.MaxDepth > 0 {
		q.MaxDepth++
	}
	names, err := s.svc.Store().ItemNamespaces(c.Request().Context(), q)
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = unscopedLabels(c, names[i])
	}
	return writeJSON(c, http.StatusOK, map[string][][]string{"namespaces": orEmpty(names)})
}

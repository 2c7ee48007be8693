package thread

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/parley-dev/parley/agent"
)

// items is the long-term store as nodes see it: that of their run's workspace.
type items struct {
	s                  *Service
	project, workspace string
}

var _ agent.Items = items{}

func (s *Service) items(run Run) agent.Items {
	return items{s: s, project: run.Project, workspace: run.Workspace}
}

// errReserved refuses namespaces of other projects and workspaces.
var errReserved = &InvalidInputError{Path: []string{"namespace"}, Message: "the first label of a namespace can't begin with " + scopeSign}

// at is where the items of a namespace are stored.
func (i items) at(namespace []string) ([]string, error) {
	if Reserved(namespace) {
		return nil, errReserved
	}
	return ScopedNamespace(i.project, i.workspace, namespace), nil
}

// Get implements agent.Items. Reading starts an item's TTL anew.
func (i items) Get(ctx context.Context, namespace []string, key string) (*agent.Item, error) {
	at, err := i.at(namespace)
	if err != nil {
		return nil, err
	}
	it, ttl, err := i.s.store.GetItem(ctx, at, key)
	if err == nil && ttl > 0 {
		err = i.s.store.RefreshItem(ctx, at, key)
	}
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	it.Namespace = UnscopedNamespace(i.project, i.workspace, it.Namespace)
	return &it, nil
}

// Put implements agent.Items.
func (i items) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	at, err := i.at(namespace)
	if err != nil {
		return err
	}
	now := i.s.clock.Now()
	return i.s.store.PutItem(ctx, agent.Item{Namespace: at, Key: key, Value: value, CreatedAt: now, UpdatedAt: now}, 0)
}

// Delete implements agent.Items.
func (i items) Delete(ctx context.Context, namespace []string, key string) error {
	at, err := i.at(namespace)
	if err != nil {
		return err
	}
	if err := i.s.store.DeleteItem(ctx, at, key); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// Search implements agent.Items. It starts the TTLs of what it finds anew.
func (i items) Search(ctx context.Context, prefix []string, filter map[string]json.RawMessage, limit, offset int) ([]agent.Item, error) {
	at, err := i.at(prefix)
	if err != nil {
		return nil, err
	}
	q := ItemQuery{Prefix: at, Filter: filter, Limit: limit, Offset: offset, Refresh: true}
	if len(at) == 0 {
		q.Auth = UnscopedItems()
	}
	found, err := i.s.store.SearchItems(ctx, q)
	for n := range found {
		found[n].Namespace = UnscopedNamespace(i.project, i.workspace, found[n].Namespace)
	}
	return found, err
}

package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/parley-dev/parley/agent"
)

// Items is a long-term store in memory. The zero value is empty and ready for use.
type Items struct {
	mu    sync.Mutex
	items []agent.Item
}

var _ agent.Items = (*Items)(nil)

func (s *Items) find(namespace []string, key string) int {
	return slices.IndexFunc(s.items, func(i agent.Item) bool { return i.Key == key && slices.Equal(i.Namespace, namespace) })
}

// Get implements agent.Items.
func (s *Items) Get(_ context.Context, namespace []string, key string) (*agent.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(namespace, key)
	if i < 0 {
		return nil, nil
	}
	item := s.items[i]
	return &item, nil
}

// Put implements agent.Items.
func (s *Items) Put(_ context.Context, namespace []string, key string, value json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := agent.Item{Namespace: slices.Clone(namespace), Key: key, Value: bytes.Clone(value)}
	if i := s.find(namespace, key); i >= 0 {
		s.items[i] = item
		return nil
	}
	s.items = append(s.items, item)
	return nil
}

// Delete implements agent.Items.
func (s *Items) Delete(_ context.Context, namespace []string, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(namespace, key); i >= 0 {
		s.items = slices.Delete(s.items, i, i+1)
	}
	return nil
}

// Search implements agent.Items. A filter's values must be equal as JSON texts.
func (s *Items) Search(_ context.Context, prefix []string, filter map[string]json.RawMessage, limit, offset int) ([]agent.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []agent.Item
	for _, item := range s.items {
		if len(item.Namespace) < len(prefix) || !slices.Equal(item.Namespace[:len(prefix)], prefix) || !matches(item.Value, filter) {
			continue
		}
		found = append(found, item)
	}
	slices.SortStableFunc(found, func(a, b agent.Item) int { return strings.Compare(a.Key, b.Key) })
	found = found[min(offset, len(found)):]
	return found[:min(limit, len(found))], nil
}

func matches(value json.RawMessage, filter map[string]json.RawMessage) bool {
	var object map[string]json.RawMessage
	if len(filter) > 0 && json.Unmarshal(value, &object) != nil {
		return false
	}
	for k, want := range filter {
		if !bytes.Equal(object[k], want) {
			return false
		}
	}
	return true
}

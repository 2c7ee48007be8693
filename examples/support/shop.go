package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// shop stands for the systems of a shop: its help pages and its bank.
type shop struct {
	mu sync.Mutex
	// paid are the receipts by idempotency key.
	paid map[string]string
}

func newShop() *shop { return &shop{paid: map[string]string{}} }

// page finds a help page.
func (s *shop) page(query string) string {
	query = strings.ToLower(query)
	switch {
	case strings.Contains(query, "deliver") || strings.Contains(query, "ship"):
		return "Delivery takes three days."
	case strings.Contains(query, "return") || strings.Contains(query, "refund"):
		return "Goods can be returned within 30 days."
	}
	return "There is no help page about that."
}

// pay pays once per key.
func (s *shop) pay(_ context.Context, order string, cents int, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paid[key] == "" {
		s.paid[key] = fmt.Sprintf("R-%s-%d-%d", order, cents, len(s.paid)+1)
	}
	return s.paid[key], nil
}

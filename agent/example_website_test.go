package agent_test

import (
	"context"
	"fmt"
	"sync"
)

// website stands for a system outside.
var website = &site{posts: map[string]string{}}

type site struct {
	mu    sync.Mutex
	posts map[string]string // by idempotency key
}

// Publish makes a post once per key.
func (s *site) Publish(ctx context.Context, text, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[key] = text
	return fmt.Sprintf("https://example.com/posts/%d", len(s.posts)), nil
}

package server

import (
	"context"
	"sync"
)

// sockets counts open WebSockets: net/http doesn't wait for them at a shutdown.
type sockets struct {
	mu     sync.Mutex
	open   int
	closed bool
	empty  chan struct{} // closed once none is open after close; nil before
}

// enter counts one in; false after close.
func (s *sockets) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open++
	return true
}

func (s *sockets) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 && s.closed {
		close(s.empty)
	}
}

// close takes no more and waits for those that are open.
func (s *sockets) close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.empty = true, make(chan struct{})
		if s.open == 0 {
			close(s.empty)
		}
	}
	empty := s.empty
	s.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

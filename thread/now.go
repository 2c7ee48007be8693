package thread

import (
	"context"
	"time"
)

// Now is the store's time, by which deadlines, claims and waiting times are told.
func (s *Service) Now() time.Time { return s.clock.Now() }

// MayDecide reports whether the actor of ctx may answer a review, apart from claims and deadlines. Errors: *MayNotDecideError.
func (s *Service) MayDecide(ctx context.Context, r Review) error { return s.mayDecide(ctx, r) }

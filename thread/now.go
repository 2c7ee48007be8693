package thread

import "time"

// Now is the store's time, by which deadlines, claims and waiting times are told.
func (s *Service) Now() time.Time { return s.clock.Now() }

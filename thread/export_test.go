package thread

// Draining reports whether the service has stopped claiming and lets its runs
// end at their next superstep.
func (s *Service) Draining() bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.closing
}

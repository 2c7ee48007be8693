package thread

// Draining reports whether the service has stopped claiming and lets its runs
// end at their next superstep.
func (s *Service) Draining() bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.closing
}

// ArmedCall is the call of a run of this process that is aborted as soon as it begins; 0 for none.
func (s *Service) ArmedCall(runID string) int {
	a := s.pool.find(runID)
	if a == nil {
		return 0
	}
	a.recorder.mu.Lock()
	defer a.recorder.mu.Unlock()
	return a.recorder.calls.armed
}

// Unsealed are the sealed values of a run.
func (s *Service) Unsealed(run Run) (map[string]string, error) { return s.unsealed(run) }

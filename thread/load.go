package thread

// Load is how busy a service's workers are.
type Load struct {
	Active  int // runs that execute here
	Workers int // how many may at once
}

// Load tells how busy the workers are.
func (s *Service) Load() Load { return Load{Active: s.pool.active(), Workers: s.opts.Workers} }

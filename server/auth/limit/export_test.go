package limit

// Known is how many principals a limiter remembers.
func Known(l *Limiter) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.users)
}

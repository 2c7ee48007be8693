package keys

// Remembered is how many keys a verifier remembers.
func Remembered(v *Verifier) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.known)
}

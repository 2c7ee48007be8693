package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
)

// APIKeys returns an authenticator that wants one of the keys in the header
// X-Api-Key. The map's values name the users; two keys may share one.
func APIKeys(users map[string]string) func(*http.Request) (*User, error) {
	type entry struct {
		digest [sha256.Size]byte
		user   User
	}
	entries := make([]entry, 0, len(users))
	for key, name := range users {
		entries = append(entries, entry{sha256.Sum256([]byte(key)), User{Identity: name}})
	}
	return func(r *http.Request) (*User, error) {
		got := sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))
		for i := range entries {
			if subtle.ConstantTimeCompare(got[:], entries[i].digest[:]) == 1 {
				u := entries[i].user
				return &u, nil
			}
		}
		return nil, Unauthorized("Invalid API key")
	}
}

package query

import (
	"bytes"
	"encoding/json"

	"github.com/zeebo/xxh3"
)

// Digest is the index key of a metadata key with a scalar value. ok is false for
// objects and arrays, which aren't indexed, and for null, which never matches.
// The seed is secret, so that nobody can make up metadata with the digest of other
// metadata.
func Digest(seed uint64, key string, value json.RawMessage) (d uint64, ok bool) {
	v := bytes.TrimSpace(value)
	if len(v) == 0 {
		return 0, false
	}
	switch v[0] {
	case '{', '[', 'n':
		return 0, false
	case '"':
		if bytes.IndexByte(v, '\\') >= 0 { // one string, several spellings
			var s string
			if json.Unmarshal(v, &s) != nil {
				return 0, false
			}
			v = append(append([]byte{'"'}, s...), '"')
		}
	}
	b := make([]byte, 0, 128)
	b = append(append(append(b, key...), 0), v...)
	return xxh3.HashSeed(b, seed), true
}

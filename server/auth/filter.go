package auth

import "github.com/parley-dev/parley/thread"

// Filter says which resources a user may see, by their metadata: each key's
// value is an exact JSON value or an operator object {"$eq": v} or
// {"$contains": v} (the target is a list with v, or with all of a list v), {"$ne": v}
// or {"$absent": true}; of several operators each must hold, and an object with an
// unknown one matches nothing. All keys must match, and a missing key does so only
// for $ne and $absent. The key $or holds a list of filters one of which must match.
// An empty filter matches everything. For items of the store, the target is their value with namespace
// and key.
type Filter = thread.Filter

// Equal returns a filter on one key.
func Equal(key string, value any) Filter { return Filter{key: mustJSON(value)} }

// Contains returns a filter that wants the list under key to have all the values.
func Contains(key string, values ...any) Filter {
	return Filter{key: mustJSON(map[string]any{"$contains": values})}
}

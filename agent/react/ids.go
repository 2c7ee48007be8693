package react

import (
	"encoding/json"

	"github.com/google/uuid" // ids of tool messages, as the runtime makes its own
)

// derivedID is an id that depends on parts only.
func derivedID(parts ...string) string {
	name, err := json.Marshal(parts)
	if err != nil { // strings always encode
		panic(err)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, name).String()
}

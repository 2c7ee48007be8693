package feeds

import (
	"strconv"

	"github.com/r3labs/sse/v2"
)

// hint is a fresh event for a version: the library may change what it is given
// . Its data is never empty, which would end the connection and wedge the
// stream, and neither is its id, since the library writes the line in any
// case and an empty one clears the client's cursor (D-10, R-11).
func hint(version int64) *sse.Event {
	id := strconv.AppendInt(nil, version, 10)
	data := append(append([]byte(`{"version":`), id...), '}')
	return &sse.Event{ID: id, Data: data}
}

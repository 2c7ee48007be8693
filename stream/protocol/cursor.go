package protocol

import (
	"strconv"
	"strings"
)

// ParseEventID reads the seq out of an event's id, <unix ms>-<seq> or
// synth:<run id>:<seq>; a bare seq is taken, too.
func ParseEventID(id string) (seq int64, ok bool) {
	id = strings.TrimSpace(id)
	number := id
	switch {
	case strings.HasPrefix(id, "synth:"):
		number = id[strings.LastIndexByte(id, ':')+1:]
	case strings.Contains(id, "-"):
		ms, rest, _ := strings.Cut(id, "-")
		if _, err := strconv.ParseUint(ms, 10, 63); err != nil {
			return 0, false
		}
		number = rest
	}
	n, err := strconv.ParseUint(number, 10, 63)
	return int64(n), err == nil //nolint:gosec // 63 bits
}

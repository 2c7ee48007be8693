package prompt

import "strings"

// maxCallID is the longest id of a tool call that each provider takes.
const maxCallID = 40

// CallID returns an id of a tool call as providers take it: letters, digits, _
// and -, up to 40 of them. Another provider's id that isn't like this becomes a
// digest, the same each time.
func CallID(id string) string {
	if id != "" && len(id) <= maxCallID && !strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return id
	}
	return "call_" + digest(id)[:32]
}

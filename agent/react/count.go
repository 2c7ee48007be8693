package react

import "github.com/parley-dev/parley/agent/message"

// Counter is how many tokens a message takes.
type Counter func(message.Message) int

// Estimate counts a token for every four bytes of a message's content and calls, and a few for each message.
func Estimate(m message.Message) int {
	size := len(m.Content)
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Args)
	}
	return 4 + size/bytesPerToken
}

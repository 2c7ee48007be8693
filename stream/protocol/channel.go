package protocol

// Channel is a set of the thread protocol's channels.
type Channel uint16

// The channels (spec/streaming-protocol.md 3.2).
const (
	Values Channel = 1 << iota
	Updates
	Checkpoints
	Messages
	Tools
	Lifecycle
	Input
	Custom
	Tasks

	// All is every channel.
	All = Values | Updates | Checkpoints | Messages | Tools | Lifecycle | Input | Custom | Tasks
)

// ChannelCount is the number of channels.
const ChannelCount = 9

var channelNames = map[string]Channel{
	"values": Values, "updates": Updates, "checkpoints": Checkpoints, "messages": Messages, "tools": Tools,
	"lifecycle": Lifecycle, "input": Input, "custom": Custom, "tasks": Tasks,
}

func (c Channel) has(any Channel) bool { return c&any != 0 }

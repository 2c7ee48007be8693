package classic

// Mode is a set of classic stream modes.
type Mode uint32

// The stream modes of a run (spec/rest-api.md 4.3).
const (
	Values Mode = 1 << iota
	Updates
	// Messages is the mode "messages": messages/metadata, messages/partial, messages/complete.
	Messages
	// MessagesTuple is the mode "messages-tuple": the event "messages".
	MessagesTuple
	Events
	Tasks
	Checkpoints
	Debug
	Custom
	Tools

	// All is every mode.
	All = Tools<<1 - 1
	// always marks frames that no choice of modes leaves out: metadata and error.
	always Mode = 0
)

var modes = map[string]Mode{
	"values":         Values,
	"updates":        Updates,
	"messages":       Messages,
	"messages-tuple": MessagesTuple,
	"events":         Events,
	"tasks":          Tasks,
	"checkpoints":    Checkpoints,
	"debug":          Debug,
	"custom":         Custom,
	"tools":          Tools,
}

// ParseModes returns the set that the names stand for. No names stand for
// "values"; unknown ones are left out, since servers refuse them before.
func ParseModes(names []string) Mode {
	if len(names) == 0 {
		return Values
	}
	var m Mode
	for _, name := range names {
		m |= modes[name]
	}
	return m
}

// Known reports whether name is a stream mode.
func Known(name string) bool { _, ok := modes[name]; return ok }

// has reports whether the set and other have a mode in common.
func (m Mode) has(other Mode) bool { return m&other != 0 }

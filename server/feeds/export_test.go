package feeds

// Publish hands a hint to a project's clients at once, without the owner's pauses.
func (f *Feed) Publish(name string, version int64) { f.publish(name, version) }

// Hint is the event of a version.
var Hint = hint

// Queued is how many hints a client may be behind.
const Queued = queued

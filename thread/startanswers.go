package thread

import "encoding/json"

// Answers reports whether the run is an answer to questions: its command has a
// resume that isn't null. Beside an update, a null is no answer.
func (r *StartRun) Answers() bool {
	var command map[string]json.RawMessage // exact names, as the command itself is read
	return json.Unmarshal(r.Command, &command) == nil && !isNull(command["resume"])
}

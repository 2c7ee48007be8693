package react

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent/message"
)

// isSummary tells whether a human message is one that Summarize wrote.
func isSummary(m message.Message) bool {
	var kwargs struct {
		Source string `json:"lc_source"`
	}
	return json.Unmarshal(m.AdditionalKwargs, &kwargs) == nil && kwargs.Source == "summarization"
}

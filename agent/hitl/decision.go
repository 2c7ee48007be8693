package hitl

import (
	"fmt"

	"github.com/parley-dev/parley/agent/exactjson"
)

// decision is a reviewer's decision about one call, read from either casing; LangChain's
// hooks send an edit in both, and editedAction counts. It fits the question's response
// schema: nothing else is stored.
type decision struct {
	Type    Decision
	Edited  *Action
	Message string
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *decision) UnmarshalJSON(raw []byte) error {
	var wire struct {
		Type    Decision `json:"type"`
		Message string   `json:"message"`
		Camel   *Action  `json:"editedAction"`
		Snake   *Action  `json:"edited_action"`
	}
	if err := exactjson.Unmarshal(raw, &wire); err != nil {
		return err
	}
	*d = decision{Type: wire.Type}
	switch wire.Type {
	case Edit:
		if d.Edited = wire.Camel; d.Edited == nil {
			d.Edited = wire.Snake
		}
		if d.Edited == nil {
			return fmt.Errorf("an edit without an action")
		}
		d.Edited.Args = readArguments(d.Edited.Args).shown
	case Reject, Respond, Expired:
		d.Message = wire.Message
	}
	return nil
}

// batchAnswer answers the batch question: one decision per action, in their order.
type batchAnswer struct {
	Decisions []decision `json:"decisions"`
}

package agent

import (
	"encoding/json"
	"fmt"
)

// storedEvent is an event as the log keeps it.
type storedEvent struct {
	Kind    Kind            `json:"k"`
	At      int64           `json:"t"`
	NS      string          `json:"n,omitempty"`
	Payload json.RawMessage `json:"p,omitempty"`
}

// MarshalJSON encodes the event for the log.
func (e Event) MarshalJSON() ([]byte, error) {
	s := storedEvent{Kind: e.Kind, At: e.At, NS: e.NS}
	if e.Payload != nil {
		p, err := json.Marshal(e.Payload)
		if err != nil {
			return nil, fmt.Errorf("agent: encode %s event: %w", e.Kind, err)
		}
		s.Payload = p
	}
	return json.Marshal(s)
}

// UnmarshalJSON decodes an event from the log.
func (e *Event) UnmarshalJSON(b []byte) error {
	var s storedEvent
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("agent: decode event: %w", err)
	}
	e.Kind, e.At, e.NS, e.Payload = s.Kind, s.At, s.NS, nil
	decode, ok := payloads[s.Kind]
	if !ok || len(s.Payload) == 0 {
		return nil
	}
	p, err := decode(s.Payload)
	if err != nil {
		return fmt.Errorf("agent: decode %s event: %w", s.Kind, err)
	}
	e.Payload = p
	return nil
}

func byValue[T any](b []byte) (any, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}

func byPointer[T any](b []byte) (any, error) {
	v := new(T)
	err := json.Unmarshal(b, v)
	return v, err
}

// payloads tells how the payload of each kind is decoded.
var payloads = map[Kind]func([]byte) (any, error){
	RunStarted:          byValue[RunStart],
	RunFinished:         byValue[RunFinish],
	InputAnswered:       byValue[Answered],
	CheckpointAnnounced: byValue[CheckpointNote],
	ValuesEmitted:       byPointer[ValuesNote],
	CheckpointSaved:     byPointer[CheckpointDetail],
	TaskStarted:         byValue[TaskStart],
	TaskFinished:        byValue[TaskFinish],
	UpdatesEmitted:      byValue[UpdatesNote],
	NamespaceStarted:    byValue[NamespaceNote],
	NamespaceFinished:   byValue[NamespaceNote],
	InterruptRaised:     byValue[InterruptInfo],
	InterruptBubbled:    byValue[InterruptInfo],
	CustomWritten:       byValue[Custom],
	MessageStarted:      byValue[MessageStart],
	BlockStarted:        byValue[BlockStart],
	BlockDelta:          byValue[Delta],
	BlockFinished:       byValue[BlockFinish],
	MessageFinished:     byValue[MessageFinish],
	MessageFailed:       byValue[MessageError],
	MessageReset:        byValue[MessageRef],
	MessageWhole:        byValue[MessageSnapshot],
	ToolStarted:         byValue[ToolNote],
	ToolOutput:          byValue[ToolNote],
	ToolFinished:        byValue[ToolNote],
	ToolFailed:          byValue[ToolNote],
}

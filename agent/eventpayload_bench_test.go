package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-dev/parley/agent"
)

// BenchmarkEncodePayload encodes what closes a streamed message of 200 tokens.
func BenchmarkEncodePayload(b *testing.B) {
	text := json.RawMessage(`{"type":"ai","content":"` + strings.Repeat("0000 ", 200) + `"}`)
	e := agent.Event{Kind: agent.MessageFinished, Payload: agent.MessageFinish{ID: "m", Reason: "stop", Message: text}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := agent.EncodePayload(e); err != nil {
			b.Fatal(err)
		}
	}
}

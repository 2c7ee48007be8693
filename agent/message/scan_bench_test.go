package message

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkCompact checks the JSON of a message of 200 tokens.
func BenchmarkCompact(b *testing.B) {
	raw := json.RawMessage(`{"type":"ai","content":"` + strings.Repeat("0000 ", 200) + `"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compact(raw); err != nil {
			b.Fatal(err)
		}
	}
}

package classic_test

import (
	"testing"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/thread"
)

// BenchmarkTokenFrame projects one token of a streamed message.
func BenchmarkTokenFrame(b *testing.B) {
	s := newScript(nil, "g", "run", "messages-tuple")
	s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 1})
	s.emit(agent.MessageStarted, taskNS("", "agent"), agent.MessageStart{ID: id("m"), Streamed: true, Meta: s.meta("", "agent", 1)})
	p := classic.New(s.run)
	projectAll(p, s.entries, nil)
	e := thread.Entry{Pos: 3, Event: agent.Event{Kind: agent.BlockDelta, NS: taskNS("", "agent"), Payload: agent.Delta{ID: id("m"), Type: "text", Text: " token"}}}
	b.ReportAllocs()
	var size int
	for b.Loop() {
		for _, f := range p.Project(e, nil) {
			size = len(f.Wire)
		}
	}
	b.SetBytes(int64(size))
}

// BenchmarkValuesFrame projects a state of 100 KB whose JSON is there already.
func BenchmarkValuesFrame(b *testing.B) {
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = 'x'
	}
	state := agent.NewState([]string{"text"}, map[string]agent.Value{"text": {JSON: raw(string(text))}})
	p := classic.New(thread.Run{ID: "run"})
	e := thread.Entry{Pos: 1, Event: agent.Event{Kind: agent.ValuesEmitted, Payload: &agent.ValuesNote{State: state}}}
	b.ReportAllocs()
	for b.Loop() {
		p.Project(e, nil)
	}
	b.SetBytes(int64(len(text)))
}

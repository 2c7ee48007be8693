package scripted

import (
	"context"
	"iter"
	"strconv"
	"unicode"
	"unicode/utf16"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// Deterministic is the tool-calling fake model, D of spec/conformance-agents.md
// 2.2: a list of whole ai messages, one per call, over and over. The arguments of
// a tool call come in two halves, text word by word.
type Deterministic struct {
	// Answers has at least one.
	Answers []message.Message
	// Cursors and Key, a thread's or run's id, say which answer is next. The
	// cursor moves behind the last chunk.
	Cursors *Cursors
	Key     string
	// Provider is the model's ls_provider; "" stands for FakeBuiltModel.
	Provider string
}

// Info implements model.Model.
func (d Deterministic) Info() model.Info {
	if d.Provider == "" {
		return model.Info{Provider: "FakeBuiltModel"}
	}
	return model.Info{Provider: d.Provider}
}

// Next takes the next answer whole, as it is configured: D's call without streaming.
func (d Deterministic) Next() message.Message {
	return d.Answers[d.Cursors.next(d.Key)%len(d.Answers)]
}

// Stream implements model.Model.
func (d Deterministic) Stream(ctx context.Context, _ model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		n := d.Cursors.Calls(d.Key)
		answer := d.Answers[n%len(d.Answers)]
		id := answer.ID
		if id == "" {
			id = "deterministic-message-" + strconv.Itoa(n+1)
		}
		for _, c := range chunks(answer) {
			if err := ctx.Err(); err != nil {
				yield(message.Chunk{}, err)
				return
			}
			c.ID = id
			if !yield(c, nil) {
				return
			}
		}
		d.Cursors.next(d.Key)
	}
}

// chunks cuts a message as D streams it.
func chunks(m message.Message) []message.Chunk {
	var all []message.Chunk
	for i, call := range m.ToolCalls {
		for _, part := range halves(string(call.Args)) {
			all = append(all, message.Chunk{ToolCalls: []message.ToolCallChunk{
				{Index: i, ID: call.ID, Name: call.Name, Args: part},
			}})
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, word := range words(m.Text()) {
		all = append(all, message.Chunk{Text: word})
	}
	return all
}

// halves cuts a text behind half of its UTF-16 code units, rounded up, but
// inside of no character.
func halves(s string) []string {
	total := 0
	for _, r := range s {
		total += utf16.RuneLen(r)
	}
	if total < 2 {
		return []string{s}
	}
	units := 0
	for i, r := range s {
		if units >= (total+1)/2 {
			return []string{s[:i], s[i:]}
		}
		units += utf16.RuneLen(r)
	}
	return []string{s}
}

// words cuts a text behind each run of white space.
func words(s string) []string {
	var all []string
	start, inSpace := 0, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if inSpace && !space && start < i {
			all = append(all, s[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(s) {
		all = append(all, s[start:])
	}
	return all
}

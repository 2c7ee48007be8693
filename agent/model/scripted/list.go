package scripted

import (
	"context"
	"iter"
	"strconv"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// List is the fake list model, F of spec/conformance-agents.md 2.1: a list of
// answers, one per call, over and over; the prompt is ignored. The answer comes
// one chunk per code point, without delay, tool calls and usage.
//
// With NewID it is F-stable, with NumberedID it is S (2.3).
type List struct {
	// Answers has at least one.
	Answers []string
	// Cursors and Key, a thread's id, say which answer is next. The cursor moves when the call begins.
	Cursors *Cursors
	Key     string
	// NewID draws the id of each answer; nil leaves the chunks without one.
	NewID func() string
	// NumberedID, where NewID is nil, makes the ids: it is followed by the number of the
	// key's calls before this one. S has "stategraph-message-".
	NumberedID string
	// Provider is the model's ls_provider; "" stands for FakeListChatModel.
	Provider string
}

// StableList returns S: List with the ids stategraph-message-0, -1, … per key.
func StableList(c *Cursors, key string, answers ...string) List {
	return List{Answers: answers, Cursors: c, Key: key, NumberedID: "stategraph-message-"}
}

// Info implements model.Model.
func (l List) Info() model.Info {
	if l.Provider == "" {
		return model.Info{Provider: "FakeListChatModel"}
	}
	return model.Info{Provider: l.Provider}
}

// Next takes the next answer whole, without id: F's call without streaming.
func (l List) Next() message.Message {
	answer, _ := l.take()
	return message.NewAI(answer)
}

func (l List) take() (answer, id string) {
	n := l.Cursors.next(l.Key)
	switch {
	case l.NewID != nil:
		id = l.NewID()
	case l.NumberedID != "":
		id = l.NumberedID + strconv.Itoa(n)
	}
	return l.Answers[n%len(l.Answers)], id
}

// Stream implements model.Model.
func (l List) Stream(ctx context.Context, _ model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		answer, id := l.take()
		for _, r := range answer {
			if err := ctx.Err(); err != nil {
				yield(message.Chunk{}, err)
				return
			}
			if !yield(message.Chunk{ID: id, Text: string(r)}, nil) {
				return
			}
		}
	}
}

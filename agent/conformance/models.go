package conformance

import (
	"context"
	"iter"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// talker answers a conversation.
type talker func(ctx agent.Context, prompt message.List) (message.Message, error)

// listModel gives the answers in turn, one code point per chunk; each thread has its own turn.
func listModel(answers ...string) talker {
	cursors := scripted.NewCursors()
	return func(ctx agent.Context, prompt message.List) (message.Message, error) {
		list := scripted.List{Answers: answers, Cursors: cursors, Key: ctx.ThreadID()}
		return model.Generate(ctx, list, model.Request{Messages: prompt})
	}
}

// numberedModel is listModel with message ids that count the thread's answers.
func numberedModel(answers ...string) talker {
	cursors := scripted.NewCursors()
	return func(ctx agent.Context, prompt message.List) (message.Message, error) {
		key := ctx.ThreadID()
		if key == "" {
			key = "protocol-v2-default-thread"
		}
		return model.Generate(ctx, scripted.StableList(cursors, key, answers...), model.Request{Messages: prompt})
	}
}

// sharedModel is numberedModel for all threads together.
func sharedModel(answers ...string) talker {
	list := scripted.StableList(scripted.NewCursors(), "all", answers...)
	return talk(list)
}

// timedModel says a text, and sleeps before each of its characters.
func timedModel(text string, each time.Duration) talker {
	return talk(paced{scripted.List{Answers: []string{text}, Cursors: scripted.NewCursors()}, each})
}

// paced is a model that sleeps before each chunk.
type paced struct {
	model.Model
	each time.Duration
}

// Stream implements model.Model.
func (p paced) Stream(ctx context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		for chunk, err := range p.Model.Stream(ctx, req) {
			if err == nil {
				err = model.Sleep(ctx, p.each)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// constant returns a message without asking a model.
func constant(text string) talker {
	return func(agent.Context, message.List) (message.Message, error) { return message.NewAI(text), nil }
}

func talk(m model.Model) talker {
	return func(ctx agent.Context, prompt message.List) (message.Message, error) {
		return model.Generate(ctx, m, model.Request{Messages: prompt})
	}
}

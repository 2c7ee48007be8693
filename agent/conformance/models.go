package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// talker answers a conversation.
type talker func(ctx agent.Context, prompt message.List, opts ...model.Option) (message.Message, error)

// listModel gives the answers in turn, one code point per chunk; each thread has its own turn.
func listModel(answers ...string) talker {
	cursors := scripted.NewCursors()
	return func(ctx agent.Context, prompt message.List, opts ...model.Option) (message.Message, error) {
		list := scripted.List{Answers: answers, Cursors: cursors, Key: ctx.ThreadID()}
		return model.Generate(ctx, list, model.Request{Messages: prompt}, opts...)
	}
}

// numberedModel is listModel with message ids that count the thread's answers.
func numberedModel(answers ...string) talker {
	cursors := scripted.NewCursors()
	return func(ctx agent.Context, prompt message.List, opts ...model.Option) (message.Message, error) {
		key := ctx.ThreadID()
		if key == "" {
			key = "protocol-v2-default-thread"
		}
		return model.Generate(ctx, scripted.StableList(cursors, key, answers...), model.Request{Messages: prompt}, opts...)
	}
}

// toolCallingModel gives whole messages in turn. Each run starts with the first
// one, so that runs at the same time don't mix. Readers see an answer when it is whole.
func toolCallingModel(system string, t tools, answers ...message.Message) talker {
	cursors := scripted.NewCursors()
	return func(ctx agent.Context, prompt message.List, opts ...model.Option) (message.Message, error) {
		m := scripted.Deterministic{Answers: answers, Cursors: cursors, Key: ctx.RunID()}
		req := model.Request{System: system, Messages: prompt, Tools: t.described()}
		return model.Generate(ctx, m, req, append(opts, model.Unstreamed())...)
	}
}

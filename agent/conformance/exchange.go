package conformance

import (
	"context"
	"iter"
	"strings"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// exchange is the model of a scripted agent: it calls tools, and has a last word
// once they have answered. Which of the two is due, the conversation tells, so
// that runs that are stopped or go on at the same time don't mix up answers. One
// chunk holds all of an answer.
type exchange struct {
	calls, final message.Message
	// echo adds what the tools said to the last word.
	echo bool
	// once makes the calls once per thread; otherwise once per turn.
	once bool
}

// Info implements model.Model.
func (e exchange) Info() model.Info { return model.Info{Provider: "FakeBuiltModel"} }

// Stream implements model.Model.
func (e exchange) Stream(_ context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) { yield(e.answer(req.Messages), nil) }
}

func (e exchange) answer(conversation message.List) message.Chunk {
	if !e.called(conversation) {
		chunk := message.Chunk{ID: e.calls.ID, Text: e.calls.Text()}
		for i, call := range e.calls.ToolCalls {
			chunk.ToolCalls = append(chunk.ToolCalls, message.ToolCallChunk{Index: i, ID: call.ID, Name: call.Name, Args: string(call.Args)})
		}
		return chunk
	}
	text := e.final.Text()
	if outputs := outputsOf(conversation); e.echo && len(outputs) > 0 {
		text += " Tool output: " + strings.Join(outputs, "; ")
	}
	return message.Chunk{ID: e.final.ID, Text: text}
}

// called tells whether a tool has answered, in this turn or ever.
func (e exchange) called(conversation message.List) bool {
	for _, m := range conversation.Backward() {
		switch {
		case m.Type == message.Tool:
			return true
		case m.Type == message.Human && !e.once:
			return false
		}
	}
	return false
}

// outputsOf are the contents of all tool messages, in order.
func outputsOf(conversation message.List) []string {
	var all []string
	for _, m := range conversation.All() {
		if m.Type == message.Tool {
			all = append(all, m.Text())
		}
	}
	return all
}

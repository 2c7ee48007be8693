package agent_test

import (
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Chat is a conversation.
type Chat struct {
	Messages message.List `json:"messages"`
}

// reply streams a model's answer to the run's readers, chunk by chunk.
func reply(ctx agent.Context, s Chat) (agent.Update, error) {
	out := agent.StreamMessage(ctx, agent.MessageOptions{Prompt: s.Messages})
	for chunk, err := range provider(ctx, s.Messages) {
		if err != nil {
			out.Fail(err)
			return nil, err
		}
		out.Chunk(chunk)
	}
	return agent.Set("messages", []message.Message{out.Finish()}), nil
}

// provider stands for the client of a model provider.
func provider(ctx agent.Context, prompt message.List) func(yield func(message.Chunk, error) bool) {
	return func(yield func(message.Chunk, error) bool) {
		last, _ := prompt.Last()
		for _, word := range strings.SplitAfter("You said: "+last.Text(), " ") {
			if err := ctx.Err(); err != nil {
				yield(message.Chunk{}, err)
				return
			}
			if !yield(message.Chunk{Text: word}, nil) {
				return
			}
		}
		yield(message.Chunk{FinishReason: "stop", Usage: &message.Usage{InputTokens: 3, OutputTokens: 5, TotalTokens: 8}}, nil)
	}
}

// NewChat answers with a model.
func NewChat() *agent.Graph {
	return agent.NewGraph[Chat]("chat").
		Node("reply", reply).
		Edge(agent.Start, "reply").
		Edge("reply", agent.End).
		MustCompile()
}

package react_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
)

// summarizer is a model that sums up, and keeps its requests.
type summarizer struct {
	recorder
	fails error
}

func (s *summarizer) Stream(ctx context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	s.requests = append(s.requests, req)
	return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{Text: "in short"}, s.fails) }
}

// long is an agent with a tool that sums up conversations of more than 6 messages.
func long(t *testing.T, s *summarizer, change ...func(*react.Summary)) *agenttest.Thread {
	t.Helper()
	summary := react.Summary{Model: s, Messages: 6, Keep: 3}
	for _, c := range change {
		c(&summary)
	}
	made := made(t, react.Config{
		Name: "a", Tools: look(sees), Middleware: []react.Middleware{react.Summarize(summary)},
		Model: scripted.Script{Choose: ending(calls("a"), scripted.Say("Done."))}, // one id in each turn
	})
	return agenttest.New(made)
}

func TestTheOlderPartIsSummedUp(t *testing.T) {
	t.Parallel()
	s := &summarizer{}
	thread := long(t, s)
	_, err := thread.Run(t.Context(), map[string]any{"messages": "first"})
	require.NoError(t, err)
	require.Empty(t, s.requests, "there are four messages")

	res, err := thread.Run(t.Context(), map[string]any{"messages": "second"})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"SummarizationMiddleware.before_model", "model_request", "tools", "SummarizationMiddleware.before_model", "model_request"}, tasks(t, res))
	require.Equal(t, []string{
		"human() Here is a summary of the conversation to date:\n\nin short", "human() second", "ai(model) ", "tool(look) saw a", "ai(model) Done.",
	}, conversation(t, thread))
	all := messages(t, thread)
	require.JSONEq(t, `{"lc_source":"summarization"}`, string(all[0].AdditionalKwargs))
	require.NotEmpty(t, all[0].ID)
	require.Equal(t, asked(t, res), all[1], "what is kept stays as it is (D-42)")
	require.Equal(t, []string{"human: first\nai calls look with {\"at\":\"a\"}\nresult of look: saw a\nai: Done.\n"}, texts(s.requests))
	for _, e := range res.Events { // nobody sees it being written
		if m, ok := e.Payload.(agent.MessageStart); ok {
			require.Equal(t, "model_request", m.Meta.Node)
		}
	}

	_, err = thread.Run(t.Context(), map[string]any{"messages": "third"})
	require.NoError(t, err)
	require.Contains(t, texts(s.requests)[1], "summary of what was before: in short\nhuman: second\nai calls look with {\"at\":\"a\"}\n")
}

// asked is the newest human message that a run began with.
func asked(t *testing.T, res agenttest.Result) message.Message {
	t.Helper()
	for _, e := range res.Events {
		if v, ok := e.Payload.(*agent.ValuesNote); ok {
			m, _ := v.State.Messages()["messages"].Last()
			return m
		}
	}
	t.Fatal("no values")
	return message.Message{}
}

// texts are the transcripts that a model was given.
func texts(requests []model.Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, r.Messages.At(0).Text())
	}
	return all
}

func TestASummaryPartsNoCallFromItsAnswer(t *testing.T) {
	t.Parallel()
	for keep := 1; keep <= 5; keep++ {
		s := &summarizer{}
		thread := long(t, s, func(sum *react.Summary) { sum.Keep, sum.Messages = keep, 3 })
		for range 4 {
			_, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
			require.NoError(t, err)
			open := 0 // no id tells which call an answer belongs to: they take turns
			for _, m := range messages(t, thread) {
				if len(m.ToolCalls) > 0 {
					open++
				}
				if m.Type == message.Tool {
					open--
				}
				require.Contains(t, []int{0, 1}, open)
			}
			require.Zero(t, open)
		}
		require.NotEmpty(t, s.requests)
		require.Contains(t, s.requests[0].System, "Sum up")
	}
}

func TestTokensSayWhenToSumUp(t *testing.T) {
	t.Parallel()
	s := &summarizer{}
	thread := long(t, s, func(sum *react.Summary) {
		sum.Messages, sum.Tokens, sum.Prompt = 0, 60, "Shorter!"
		sum.Count = func(message.Message) int { return 10 }
	})
	for range 3 {
		_, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
		require.NoError(t, err)
	}
	require.NotEmpty(t, s.requests)
	require.Equal(t, "Shorter!", s.requests[0].System)
}

func TestAConversationThatCannotBeSummedUpStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := &summarizer{fails: errors.New("overloaded")}
	thread := long(t, s)
	for range 3 {
		res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
		require.NoError(t, err)
		require.Equal(t, "success", res.Status)
	}
	require.NotEmpty(t, s.requests)
	require.Len(t, conversation(t, thread), 12)

	ctx, cancel := context.WithCancel(t.Context())
	s = &summarizer{}
	thread = long(t, s, func(sum *react.Summary) { sum.Model = cancelling{cancel} })
	_, err := thread.Run(ctx, map[string]any{"messages": "first"})
	require.NoError(t, err)
	res, err := thread.Run(ctx, map[string]any{"messages": "second"})
	require.NoError(t, err)
	require.Equal(t, "interrupted", res.Status)
}

// cancelling is a model during whose call the run is cancelled.
type cancelling struct{ cancel func() }

func (c cancelling) Info() model.Info { return model.Info{} }

func (c cancelling) Stream(ctx context.Context, _ model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		c.cancel()
		yield(message.Chunk{}, ctx.Err())
	}
}

package openai_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
)

type chat struct {
	Messages message.List `json:"messages"`
}

// chatWith is a graph whose one node calls the model.
func chatWith(m model.Model) *agent.Graph {
	return agent.NewGraph[chat]("chat").
		Node("model", func(ctx agent.Context, s chat) (agent.Update, error) {
			answer, err := model.Generate(ctx, m, model.Request{Messages: s.Messages})
			return agent.Set("messages", []message.Message{answer}), err
		}).
		Edge(agent.Start, "model").
		Edge("model", agent.End).
		MustCompile()
}

func TestABrokenAnswerIsStartedOver(t *testing.T) {
	t.Parallel()
	s := wiretest.New(
		t,
		wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"Once upon"}}]}`), Cut: true},
		wiretest.Reply{Status: 429, Header: map[string]string{"Retry-After": "17"}},
		wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"Hello"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, done)},
	)
	thread := agenttest.New(chatWith(newModel(t, s)))
	thread.Clock().AutoAdvance = true
	before := thread.Clock().Now()
	result, err := thread.Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	require.Nil(t, result.Err)
	require.Len(t, s.Requests(), 3)
	require.GreaterOrEqual(t, thread.Clock().Now().Sub(before), 17*time.Second, "as long as the server asked for")

	var text string
	starts, resets := map[string]int{}, 0
	for _, e := range result.Events {
		switch p := e.Payload.(type) {
		case agent.MessageStart:
			starts[p.ID]++
			text = ""
		case agent.Delta:
			text += p.Text
		case agent.MessageRef:
			resets++
		}
	}
	require.Equal(t, "Hello", text, "what readers have in the end")
	require.Equal(t, 1, resets, "readers are told to forget the beginning")
	require.Len(t, starts, 1, "the message keeps its id")
}

func TestARefusedCallEndsTheRun(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Status: 400, Body: `{"error":{"message":"maximum context length is 10","code":"context_length_exceeded"}}`})
	result, err := agenttest.New(chatWith(newModel(t, s))).Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	require.Len(t, s.Requests(), 1)
	require.Equal(t, "ContextOverflowError", result.Err.Name)
}

package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

func TestAPushedMessageIsShownOnceAndAtOnce(t *testing.T) { // spec/streaming-protocol.md 3.9
	t.Parallel()
	events, res := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		pushed := agent.PushMessage(ctx, message.NewAI("soon"))
		require.NotEmpty(t, pushed.ID)
		agent.PushMessage(ctx, pushed)
		agent.PushMessage(ctx, message.NewRemove("m0"))
		ctx.Write("then")
		return agent.Set("messages", []message.Message{pushed}), nil
	})
	require.Equal(t, []string{
		"namespace.started [n] n", "message.whole [n] ai soon", "message.started [n]",
		`block.started [n] 0 {"type":"text","text":""}`, "block.delta [n] text soon", `block.finished [n] 0 {"type":"text","text":"soon"}`,
		"message.finished [n]", "message.reset [n]", "namespace.finished [n] n",
	}, script(events))
	var order []agent.Kind
	for _, e := range res.Events {
		switch p := e.Payload.(type) {
		case agent.MessageStart:
			require.Equal(t, res.Run.RunID, p.CallID)
			require.False(t, p.Streamed)
			order = append(order, e.Kind)
		case agent.MessageRef:
			require.Equal(t, "m0", p.ID)
			require.Equal(t, "n", p.Meta.Node)
		case agent.Custom, agent.UpdatesNote:
			order = append(order, e.Kind)
		}
	}
	require.Equal(t, []agent.Kind{agent.MessageStarted, agent.CustomWritten, agent.UpdatesEmitted}, order)
}

func TestAPushedMessageIsNotWritten(t *testing.T) {
	t.Parallel()
	events, res := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		agent.PushMessage(ctx, message.NewAI("only shown"))
		return nil, nil
	})
	require.Equal(t, "success", res.Status)
	require.NotEmpty(t, events)
	for _, e := range res.Events {
		if v, ok := e.Payload.(*agent.ValuesNote); ok {
			require.NotContains(t, string(v.State.JSON()), "only shown")
		}
	}
}

func TestHiddenNodesPushNothing(t *testing.T) {
	t.Parallel()
	events, _ := spoken(t, func(ctx agent.Context) (agent.Update, error) {
		agent.PushMessage(ctx, message.NewAI("hidden"))
		return nil, nil
	}, agent.Tags("langsmith:hidden"))
	require.Empty(t, events)
}

package demo_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/demo"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
)

func TestTheDemosThatUseToolsSpeakByAnyModel(t *testing.T) {
	t.Parallel()
	call := message.NewToolCall("c1", "delete_record", json.RawMessage(`{"record":"X-1"}`))
	m := scripted.Script{Choose: scripted.Sequence(scripted.Turn{ToolCalls: []message.ToolCall{call}}, scripted.Say("Gone."))}
	for _, a := range demo.AgentsOn(m) {
		if a.Name() != "human_in_the_loop" {
			continue
		}
		thread := threadOf(t, a)
		require.Len(t, question(t, ask(t, thread, "whatever"))["actionRequests"], 1)
		answer(t, thread, `{"decisions":[{"type":"approve"}]}`)
		require.Equal(t, "ai: Gone.", last(t, thread))
		return
	}
	t.Fatal("no such agent")
}

package react_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
)

func callOf(id string) message.ToolCall {
	return message.NewToolCall(id, "look", json.RawMessage(`{}`))
}

func toolOf(id, text string) message.Message { return message.NewTool(id, "look", text) }

// lines are a conversation as text: type, text, ids of calls and of the call that is answered.
func lines(list message.List) []string {
	all := []string{}
	for _, m := range list.All() {
		line := m.Type + " " + m.Text()
		for _, c := range m.ToolCalls {
			line += " [" + c.ID + "]"
		}
		if m.Type == message.Tool {
			line += " for " + m.ToolCallID + m.Status
		}
		all = append(all, line)
	}
	return all
}

func TestAConversationIsPutInOrderForTheModel(t *testing.T) { // D-46
	t.Parallel()
	human, last := message.NewHuman("hi"), message.NewAI("done")
	missing := "tool " + react.Unanswered + " for "
	for name, c := range map[string]struct {
		given []message.Message
		want  []string
	}{
		"an unanswered call gets an answer": {
			[]message.Message{human, message.NewAI("", callOf("a"), callOf("b")), toolOf("b", "B"), message.NewHuman("and?")},
			[]string{"human hi", "ai  [a] [b]", missing + "aerror", "tool B for b", "human and?"},
		},
		"an orphan is left out": {
			[]message.Message{toolOf("x", "X"), human, last, toolOf("y", "Y")},
			[]string{"human hi", "ai done"},
		},
		"answers come behind their message, in the order of the calls": {
			[]message.Message{human, message.NewAI("", callOf("a"), callOf("b")), message.NewAI("a card"), toolOf("b", "B"), message.NewHuman("hm"), toolOf("a", "A")},
			[]string{"human hi", "ai  [a] [b]", "tool A for a", "tool B for b", "ai a card", "human hm"},
		},
		"of two answers the first one counts": {
			[]message.Message{human, message.NewAI("", callOf("a")), toolOf("a", "1"), toolOf("a", "2"), last},
			[]string{"human hi", "ai  [a]", "tool 1 for a", "ai done"},
		},
		"an id that was used before is replaced": {
			[]message.Message{human, message.NewAI("", callOf("a")), toolOf("a", "1"), message.NewAI("", callOf("a")), toolOf("a", "2")},
			[]string{"human hi", "ai  [a]", "tool 1 for a", "ai  [a_2]", "tool 2 for a_2"},
		},
		"an answer goes to the call that it follows": {
			[]message.Message{human, message.NewAI("", callOf("a")), message.NewAI("", callOf("a")), toolOf("a", "2")},
			[]string{"human hi", "ai  [a]", missing + "aerror", "ai  [a_2]", "tool 2 for a_2"},
		},
		"one id twice in a message": {
			[]message.Message{human, message.NewAI("", callOf("a"), callOf("a")), toolOf("a", "1"), toolOf("a", "2")},
			[]string{"human hi", "ai  [a] [a_2]", "tool 1 for a", "tool 2 for a_2"},
		},
		"no id at all": {
			[]message.Message{human, message.NewAI("", callOf("")), toolOf("", "1")},
			[]string{"human hi", "ai  [call_2]", "tool 1 for call_2"},
		},
		"messages that say nothing are left out": {
			[]message.Message{human, message.NewAI(""), {Type: message.AI, Content: json.RawMessage(`[]`)}, message.NewRemove("x"), last},
			[]string{"human hi", "ai done"},
		},
		"arguments that weren't JSON": {
			[]message.Message{human, {Type: message.AI, Content: message.TextContent(""), InvalidToolCalls: []message.InvalidToolCall{{ID: "a", Name: "look", Args: `{"at`}}}, toolOf("a", "fix it")},
			[]string{"human hi", "ai  [a]", "tool fix it for a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, lines(react.Acceptable(message.New(c.given...))))
		})
	}
}

func TestContentBlocksOfARenamedCallGoWithIt(t *testing.T) {
	t.Parallel()
	second := message.Message{Type: message.AI, Content: json.RawMessage(`[{"type":"text","text":"x"},{"type":"tool_use","id":"a"}]`), ToolCalls: []message.ToolCall{callOf("a")}}
	list := react.Acceptable(message.New(message.NewAI("", callOf("a")), toolOf("a", "1"), second, toolOf("a", "2")))
	require.JSONEq(t, `[{"type":"text","text":"x"}]`, string(list.At(2).Content))
}

func TestAnAcceptableConversationStaysAsItIs(t *testing.T) {
	t.Parallel()
	list := message.New(message.NewHuman("hi"), message.NewAI("", callOf("a"), callOf("b")), toolOf("a", "A"), toolOf("b", "B"), message.NewAI("done"))
	require.Equal(t, list, react.Acceptable(list))
	require.Zero(t, react.Acceptable(message.List{}).Len())
}

// Whatever was written to a conversation, a provider accepts what the model is sent.
func TestAnyConversationBecomesAcceptable(t *testing.T) { // D-46
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := message.New(drawMessages(t, "a", "b", "c", "")...)
		list := react.Acceptable(given)
		require.NoError(t, provider(list))
		require.Equal(t, lines(list), lines(react.Acceptable(list)), "once is enough")
		var humans, kept []string
		for _, m := range given.All() {
			if m.Type == message.Human {
				humans = append(humans, m.Text())
			}
		}
		for _, m := range list.All() {
			if m.Type == message.Human {
				kept = append(kept, m.Text())
			}
		}
		require.Equal(t, humans, kept, "nothing that a person said is lost")
	})
}

func drawMessages(t *rapid.T, ids ...string) []message.Message {
	id := rapid.SampledFrom(ids)
	var all []message.Message
	for i := range rapid.IntRange(0, 14).Draw(t, "length") {
		text := fmt.Sprintf("m%d", i)
		switch rapid.SampledFrom([]string{message.Human, message.AI, message.Tool, "calls", "empty", "invalid"}).Draw(t, "type") {
		case message.Human:
			all = append(all, message.NewHuman(text))
		case message.AI:
			all = append(all, message.NewAI(text))
		case "empty":
			all = append(all, message.NewAI(""))
		case "calls":
			m := message.NewAI("")
			for _, id := range rapid.SliceOfN(id, 1, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, callOf(id))
			}
			all = append(all, m)
		case "invalid":
			m := message.NewAI("")
			m.InvalidToolCalls = []message.InvalidToolCall{{ID: id.Draw(t, "bad"), Name: "look", Args: "{"}}
			all = append(all, m)
		case message.Tool:
			all = append(all, toolOf(id.Draw(t, "answered"), text))
		}
	}
	return all
}

// provider refuses what the providers of models refuse.
func provider(list message.List) error {
	var due, seen []string
	for i, m := range list.All() {
		if m.Type != message.Tool && len(due) > 0 {
			return fmt.Errorf("message %d: calls %v have no result", i, due)
		}
		switch m.Type {
		case message.Tool:
			if len(due) == 0 || due[0] != m.ToolCallID {
				return fmt.Errorf("message %d: result %q of no call, or out of order", i, m.ToolCallID)
			}
			due = due[1:]
		case message.AI:
			if m.Text() == "" && len(m.ToolCalls) == 0 {
				return fmt.Errorf("message %d is empty", i)
			}
			if len(m.InvalidToolCalls) > 0 {
				return fmt.Errorf("message %d has invalid calls", i)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || slices.Contains(seen, c.ID) {
					return fmt.Errorf("message %d: call id %q", i, c.ID)
				}
				seen, due = append(seen, c.ID), append(due, c.ID)
			}
		case message.Human, message.System:
		default:
			return fmt.Errorf("message %d has type %q", i, m.Type)
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("calls %v have no result", due)
	}
	return nil
}

package react_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
)

// shown is what the model gets of a conversation.
func shown(t require.TestingT, trimming react.Trimming, given []message.Message) message.List {
	m := &recorder{}
	g, err := react.New(react.Config{Name: "a", Model: m, Middleware: []react.Middleware{react.Trim(trimming)}})
	require.NoError(t, err)
	_, err = agenttest.New(g).Run(context.Background(), map[string]any{"messages": given})
	require.NoError(t, err)
	require.Len(t, m.requests, 1)
	return m.requests[0].Messages
}

func TestTheModelIsShownTheNewestPart(t *testing.T) {
	t.Parallel()
	ten := func(message.Message) int { return 10 }
	old := []message.Message{
		message.NewSystem("s"), message.NewHuman("h1"), message.NewAI("", callOf("a"), callOf("b")), toolOf("a", "A"), toolOf("b", "B"), message.NewAI("x1"),
		message.NewHuman("h2"), message.NewAI("", callOf("c")), toolOf("c", "C"), message.NewAI("x2"), message.NewHuman("h3"),
	}
	open := append(old[:len(old)-1:len(old)-1], message.NewHuman("h3"), message.NewAI("", callOf("d")), toolOf("d", "D"), message.NewAI("", callOf("e")), toolOf("e", "E"))
	for name, c := range map[string]struct {
		trimming react.Trimming
		given    []message.Message
		want     string
	}{
		"all of a short one":                     {react.Trimming{Messages: 11}, old, "s h1 [a] [b] A B x1 h2 [c] C x2 h3"},
		"the last turns":                         {react.Trimming{Messages: 7}, old, "s h2 [c] C x2 h3"},
		"no part that begins with an answer":     {react.Trimming{Messages: 4}, old, "s h3"},
		"no half of an exchange":                 {react.Trimming{Messages: 10}, old, "s h2 [c] C x2 h3"},
		"the newest, however long":               {react.Trimming{Messages: 1}, old, "s h3"},
		"by tokens":                              {react.Trimming{Tokens: 60, Count: ten}, old, "s h2 [c] C x2 h3"},
		"by both":                                {react.Trimming{Tokens: 60, Messages: 3, Count: ten}, old, "s h3"},
		"by an estimate":                         {react.Trimming{Tokens: 30}, old, "s h2 [c] C x2 h3"},
		"the question of a long turn":            {react.Trimming{Messages: 4}, open, "s h3 [e] E"},
		"the question of a turn, and its newest": {react.Trimming{Messages: 1}, open, "s h3 [e] E"},
		"no question":                            {react.Trimming{Messages: 2}, []message.Message{message.NewAI("a"), message.NewAI("b"), message.NewAI("c")}, "b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, line := range lines(shown(t, c.trimming, c.given)) {
				_, text, _ := strings.Cut(line, " ")
				text, _, _ = strings.Cut(text, " for ")
				got = append(got, strings.TrimSpace(text))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// However a conversation is cut, a provider accepts it, and it is as short as was asked, but for what is always shown.
func TestAnyPartIsAcceptable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := drawMessages(t, "a", "b", "c")
		if len(given) == 0 {
			return
		}
		most := rapid.IntRange(1, 8).Draw(t, "messages")
		list := shown(t, react.Trimming{Messages: most}, given)
		require.NoError(t, provider(list))
		humans := 0
		for _, m := range given {
			if m.Type == message.Human {
				humans++
			}
		}
		if humans > 0 {
			require.Equal(t, message.Human, list.At(0).Type)
		}
		if list.Len() > most {
			last := 0 // what is longer than asked is the question and one exchange
			for _, m := range list.All() {
				if m.Type != message.Tool {
					last++
				}
			}
			require.LessOrEqual(t, last, 2)
		}
	})
}

func TestTrimmingChangesNothingThatIsStored(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	thread := agenttest.New(made(t, react.Config{Name: "a", Model: m, Middleware: []react.Middleware{react.Trim(react.Trimming{Messages: 1})}}))
	for range 3 {
		_, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
		require.NoError(t, err)
	}
	require.Len(t, conversation(t, thread), 6)
	require.Equal(t, 1, m.requests[2].Messages.Len())
}

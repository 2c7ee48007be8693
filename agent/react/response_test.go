package react_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
)

type report struct {
	Title string `json:"title"`
	Score int    `json:"score" jsonschema:"minimum=1,maximum=5"`
}

func give(id, args string) message.ToolCall {
	return message.NewToolCall(id, "report", json.RawMessage(args))
}

func turnOf(calls ...message.ToolCall) scripted.Turn { return scripted.Turn{ToolCalls: calls} }

// structured is the response in the result of a run: in the newest state that its readers got.
func structured(t *testing.T, res agenttest.Result) string {
	t.Helper()
	found := ""
	for _, e := range res.Events {
		if v, ok := e.Payload.(*agent.ValuesNote); ok && e.NS == "" {
			if value, ok := v.State.Value(react.StructuredKey); ok {
				found = string(value.JSON)
			}
		}
	}
	return found
}

func TestAResponseIsGivenByATool(t *testing.T) { // spec/runtime.md 7.5
	t.Parallel()
	good := `{"title":"All well","score":4}`
	for name, c := range map[string]struct {
		turns []scripted.Turn
		want  []string
		nodes string
	}{
		"at once": {
			[]scripted.Turn{turnOf(give("r", good))},
			[]string{"human go", "ai  [r]", "tool " + good + " for rsuccess", "ai Returning structured response: " + good}, "model_request",
		},
		"after other tools": {
			[]scripted.Turn{calls("a"), turnOf(give("r", good))},
			[]string{"human go", "ai  [a]", "tool saw a for asuccess", "ai  [r]", "tool " + good + " for rsuccess", "ai Returning structured response: " + good}, "model_request tools model_request",
		},
		"after one that doesn't fit": {
			[]scripted.Turn{turnOf(give("r1", `{"title":"x","score":9}`)), turnOf(give("r2", good))},
			[]string{"human go", "ai  [r1]", "tool Error: ", "ai  [r2]", "tool " + good + " for r2success", "ai Returning"}, "model_request model_request",
		},
		"after two at once": {
			[]scripted.Turn{turnOf(give("r1", good), give("r2", good)), turnOf(give("r3", good))},
			[]string{"human go", "ai  [r1] [r2]", "tool Error: report was called 2 times", "tool Error: report was called 2 times", "ai  [r3]", "tool {", "ai Returning"}, "model_request model_request",
		},
		"after one beside another tool": {
			[]scripted.Turn{turnOf(give("r1", good), calls("a").ToolCalls[0]), turnOf(give("r2", good))},
			[]string{"human go", "ai  [r1] [a]", "tool Error: report must be called alone", "tool saw a", "ai  [r2]", "tool {", "ai Returning"}, "model_request tools model_request",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread, res := start(t, made(t, react.Config{
				Name: "a", Model: scripted.Script{Choose: ending(c.turns...)}, Tools: look(sees), Response: react.ResponseOf[report]("report", "The report"),
			}))
			require.Equal(t, "success", res.Status)
			got := lines(message.New(messages(t, thread)...))
			require.Len(t, got, len(c.want))
			for i, want := range c.want {
				require.True(t, strings.HasPrefix(got[i], want), "%q %q", got[i], want)
			}
			require.Equal(t, c.nodes, strings.Join(tasks(t, res), " "))
			require.JSONEq(t, good, structured(t, res))
			wellFormed(t, thread)
			s, err := thread.State(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, []string{"messages"}, s.State.Keys(), "it isn't stored")
		})
	}
}

func TestTheModelIsShownTheForm(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	form := react.ResponseOf[report]("report", "The report")
	start(t, made(t, react.Config{Name: "a", Model: m, Tools: look(sees), Response: form}))
	req := m.requests[0]
	require.Equal(t, model.ChoiceAny, req.ToolChoice)
	require.Equal(t, []string{"look", "report"}, []string{req.Tools[0].Name, req.Tools[1].Name})
	require.Nil(t, req.ResponseFormat)

	byProvider := *form
	byProvider.Strategy = react.ByProvider
	m = &recorder{}
	start(t, made(t, react.Config{Name: "a", Model: m, Tools: look(sees), Response: &byProvider}))
	req = m.requests[0]
	require.Len(t, req.Tools, 1)
	require.Empty(t, req.ToolChoice)
	require.Equal(t, &model.ResponseFormat{Name: "report", Description: "The report", Schema: form.Schema, Strict: true}, req.ResponseFormat)

	titled := json.RawMessage(`{"title":"Weather","type":"object"}`)
	for schema, name := range map[string]string{string(titled): "Weather", `{"type":"object"}`: "extract-1"} {
		m = &recorder{}
		start(t, made(t, react.Config{Name: "a", Model: m, Response: &react.Response{Schema: json.RawMessage(schema)}}))
		require.Equal(t, name, m.requests[0].Tools[0].Name)
	}
}

func TestAProvidersAnswerIsTheResponse(t *testing.T) {
	t.Parallel()
	form := react.ResponseOf[report]("report", "")
	form.Strategy = react.ByProvider
	for text, want := range map[string]string{
		` {"title":"x","score":2} `: "",
		`{"title":"x","score":0}`:   "/score",
		`so so`:                     "not JSON",
	} {
		thread, res := start(t, made(t, react.Config{
			Name: "a", Model: scripted.Script{Choose: ending(calls("a"), scripted.Turn{Tokens: []string{text}})}, Tools: look(sees), Response: form,
		}))
		if want != "" {
			require.Equal(t, "StructuredOutputParsingError", res.Err.Name)
			require.Contains(t, res.Err.Message, want)
			continue
		}
		require.Equal(t, "success", res.Status)
		require.JSONEq(t, text, structured(t, res))
		require.Len(t, messages(t, thread), 4)
	}
}

func TestAnInvalidResponseCanEndTheRun(t *testing.T) {
	t.Parallel()
	form := react.ResponseOf[report]("report", "")
	form.FailOnInvalid = true
	_, res := start(t, made(t, react.Config{Name: "a", Model: script(turnOf(give("r", `{}`))), Response: form}))
	require.Equal(t, "StructuredOutputParsingError", res.Err.Name)
}

func TestAFormThatCannotBeIsAMistake(t *testing.T) {
	t.Parallel()
	for want, form := range map[string]*react.Response{
		"schema of the response": {Schema: json.RawMessage(`{"type":"strng"}`)},
		`both named "look"`:      react.ResponseOf[report]("look", ""),
	} {
		_, err := react.NewAgent(react.Config{Name: "a", Model: script(), Tools: look(sees), Response: form})
		require.ErrorContains(t, err, want)
	}
}

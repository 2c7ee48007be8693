package form_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/form"
)

type order struct {
	Room   string  `json:"room"`
	Budget float64 `json:"budget"`
	Late   bool    `json:"late"`
	Note   string  `json:"note"`
	Day    string  `json:"day"`
}

func card() form.Card {
	low, high := 1.0, 500.0
	return form.Card{
		FormType: "room-booking", Title: "Book a room", Context: map[string]any{"guest": "Ada"},
		Fields: []form.Field{
			{Name: "room", Label: "Room", Type: form.Select, Required: true, Options: []form.Option{{"s", "Single"}, {"d", "Double"}}},
			{Name: "budget", Label: "Budget", Type: form.Currency, Currency: "EUR", Required: true, Min: &low, Max: &high},
			{Name: "late", Label: "Late arrival", Type: form.Checkbox, Default: true},
			{Name: "note", Label: "Note", Type: form.Textarea, MaxLength: 5},
			{Name: "day", Label: "Day", Type: form.Date},
		},
	}
}

type desk struct {
	Got json.RawMessage `json:"got"`
}

func asks(t *testing.T, c form.Card) *agenttest.Thread {
	t.Helper()
	g := agent.NewGraph[desk]("desk").
		Node("ask", func(ctx agent.Context, _ desk) (agent.Update, error) {
			answer, err := form.Ask[order](ctx, c)
			if err != nil {
				return nil, err
			}
			return agent.Set("got", answer), nil
		}).
		Edge(agent.Start, "ask").MustCompile()
	return agenttest.New(g)
}

func TestAnAnswerIsCheckedAgainstTheCard(t *testing.T) {
	t.Parallel()
	schema, err := card().Schema()
	require.NoError(t, err)
	checker, err := agent.NewChecker(schema)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		answer string
		paths  []string
	}{
		"all given":               {`{"approved":true,"values":{"room":"s","budget":99.95,"late":false,"note":"quiet","day":"2026-12-24"}}`, nil},
		"what is required":        {`{"approved":true,"values":{"room":"d","budget":1}}`, nil},
		"a refusal":               {`{"approved":false}`, nil},
		"a refusal with a reason": {`{"approved":false,"message":"too dear","values":{"room":7}}`, nil},
		"no decision":             {`{"values":{}}`, []string{""}},
		"no values":               {`{"approved":true}`, []string{""}},
		"an unknown choice":       {`{"approved":true,"values":{"room":"x","budget":1}}`, []string{"/values/room"}},
		"too much":                {`{"approved":true,"values":{"room":"s","budget":501}}`, []string{"/values/budget"}},
		"parts of a cent":         {`{"approved":true,"values":{"room":"s","budget":1.005}}`, []string{"/values/budget"}},
		"a number as text":        {`{"approved":true,"values":{"room":"s","budget":"1"}}`, []string{"/values/budget"}},
		"a long text":             {`{"approved":true,"values":{"room":"s","budget":1,"note":"longer"}}`, []string{"/values/note"}},
		"no date":                 {`{"approved":true,"values":{"room":"s","budget":1,"day":"soon"}}`, []string{"/values/day"}},
		"an unknown field":        {`{"approved":true,"values":{"room":"s","budget":1,"more":1}}`, []string{"/values"}},
		"a plain yes":             {`"yes"`, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			for _, issue := range checker.Issues(json.RawMessage(c.answer)) {
				paths = append(paths, issue.Path)
			}
			require.Equal(t, c.paths, paths)
		})
	}
}

func TestAskGivesTheValuesWithTheirDefaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, got string }{
		"approved": {
			`{"approved":true,"values":{"room":"s","budget":99.95}}`,
			`{"approved":true,"values":{"room":"s","budget":99.95,"late":true,"note":"","day":""}}`,
		},
		"a default changed": {
			`{"approved":true,"values":{"room":"s","budget":1,"late":false}}`,
			`{"approved":true,"values":{"room":"s","budget":1,"late":false,"note":"","day":""}}`,
		},
		"in another casing, which the schema doesn't read": {
			`{"approved":true,"values":{"room":"s","budget":1,"late":false},"Values":{"room":"x","budget":1e9}}`,
			`{"approved":true,"values":{"room":"s","budget":1,"late":false,"note":"","day":""}}`,
		},
		"refused, and approved in another casing": {
			`{"approved":false,"message":"no","Approved":true}`,
			`{"approved":false,"message":"no","values":{"room":"","budget":0,"late":true,"note":"","day":""}}`,
		},
		"refused": {
			`{"approved":false,"message":"no"}`,
			`{"approved":false,"message":"no","values":{"room":"","budget":0,"late":true,"note":"","day":""}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := asks(t, card())
			res, err := thread.Run(t.Context(), map[string]any{})
			require.NoError(t, err)
			require.True(t, res.Suspended)
			_, err = thread.Resume(t.Context(), json.RawMessage(c.answer))
			require.NoError(t, err)
			s, err := thread.State(t.Context(), "")
			require.NoError(t, err)
			got, _ := s.State.Value("got")
			require.JSONEq(t, c.got, string(got.JSON))
		})
	}
}

func TestTheQuestionIsTheCard(t *testing.T) {
	t.Parallel()
	thread := asks(t, card())
	res, err := thread.Run(t.Context(), map[string]any{})
	require.NoError(t, err)
	for _, e := range res.Events {
		if q, ok := e.Payload.(agent.InterruptInfo); ok {
			var shown map[string]any
			require.NoError(t, json.Unmarshal(q.Value, &shown))
			require.Equal(t, "room-booking", shown["formType"])
			require.Equal(t, []any{"approve", "reject"}, shown["allowed_decisions"])
			require.Len(t, shown["fields"], 5)
			return
		}
	}
	t.Fatal("nothing was asked")
}

func TestMistakesOfACardAreErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]form.Card{
		"needs a formType":       {},
		"a field has no name":    {FormType: "f", Fields: []form.Field{{Type: form.Text}}},
		`two fields are named`:   {FormType: "f", Fields: []form.Field{{Name: "a", Type: form.Text}, {Name: "a", Type: form.Text}}},
		"has no options":         {FormType: "f", Fields: []form.Field{{Name: "a", Type: form.Select}}},
		"code of its currency":   {FormType: "f", Fields: []form.Field{{Name: "a", Type: form.Currency}}},
		`has no known type: "x"`: {FormType: "f", Fields: []form.Field{{Name: "a", Type: "x"}}},
	} {
		_, err := c.Schema()
		require.ErrorContains(t, err, want)
		res, err := asks(t, c).Run(t.Context(), map[string]any{})
		require.NoError(t, err)
		require.Equal(t, "error", res.Status)
		require.Contains(t, res.Err.Message, want)
	}
}

func TestAFormWithoutRefusal(t *testing.T) {
	t.Parallel()
	c := form.Card{FormType: "f", Decisions: []string{form.Approve}}
	schema, err := c.Schema()
	require.NoError(t, err)
	checker, err := agent.NewChecker(schema)
	require.NoError(t, err)
	require.Empty(t, checker.Issues(json.RawMessage(`{"approved":true}`)))
	require.Len(t, checker.Issues(json.RawMessage(`{"approved":false}`)), 1)
}

// D-104: nobody refused a form whose deadline passed, and nobody can say so but the server.
func TestAFormExpires(t *testing.T) {
	t.Parallel()
	c := card()
	c.Expiry = &agent.Expiry{After: time.Hour, Message: "closed"}
	thread := asks(t, c)
	_, err := thread.Run(t.Context(), map[string]any{})
	require.NoError(t, err)
	require.NotContains(t, string(thread.Pending()[0].Value), "closed")
	_, err = thread.Resume(t.Context(), json.RawMessage(`{"approved":false,"expired":true}`))
	require.Error(t, err)
	_, err = thread.Expire(t.Context())
	require.NoError(t, err)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	got, _ := s.State.Value("got")
	require.JSONEq(t, `{"approved":false,"expired":true,"message":"closed","values":{"room":"","budget":0,"late":true,"note":"","day":""}}`, string(got.JSON))
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/form"
)

// refundCard is a form with a field of each kind.
func refundCard(t *testing.T) *review {
	t.Helper()
	least, most := 0.01, 1000.0
	card := form.Card{
		FormType: "refund", Title: "Refund", ApproveLabel: "Pay", RejectLabel: "Refuse", Decisions: []string{"approve", "reject"},
		Fields: []form.Field{
			{Name: "amount", Label: "Amount", Type: form.Currency, Currency: "EUR", Required: true, Default: 240, Min: &least, Max: &most},
			{Name: "reason", Label: "Reason", Type: form.Select, Required: true, Options: []form.Option{{Value: "late", Label: "Late"}, {Value: "bad", Label: "Bad"}}},
			{Name: "notify", Label: "Tell the customer", Type: form.Checkbox, Default: true},
			{Name: "note", Label: "Note", Type: form.Textarea, MaxLength: 5, Help: "For the records"},
			{Name: "day", Label: "Day", Type: form.Date},
		},
	}
	schema, err := card.Schema()
	require.NoError(t, err)
	payload, err := json.Marshal(card)
	require.NoError(t, err)
	return &review{ID: "r1", Kind: kindForm, Payload: payload, Schema: schema, Allowed: card.Decisions, Generation: 3}
}

// asked asks for a review's answer and types lines.
func asked(t *testing.T, r *review, lines ...string) (body map[string]any, shown string, err error) {
	t.Helper()
	var out bytes.Buffer
	a := newAsker(&Streams{In: strings.NewReader(strings.Join(lines, "\n") + "\n"), Out: &out})
	body, err = askReview(t.Context(), a, r, questionOf(r))
	return body, out.String(), err
}

func TestATerminalAsksForTheFieldsOfAForm(t *testing.T) {
	t.Parallel()
	body, shown, err := asked(t, refundCard(t),
		"1", "much", "2000", "", "7", "2", "perhaps", "no", "longer", "short", "soon", "2026-12-24", "fine with me")
	require.NoError(t, err, shown)
	require.JSONEq(t, `{"approved":true,"message":"fine with me","values":{"amount":240,"reason":"bad","notify":false,"note":"short","day":"2026-12-24"}}`,
		string(body["answer"].(json.RawMessage)))
	require.Equal(t, []any{"fine with me", int64(3)}, []any{body["notes"], body["suspend_generation"]})
	for _, said := range []string{
		"1) approve (Pay)", "Amount (amount in EUR, from 0.01 to 1000, required): [default: 240] ", "Please give a number, such as", "maximum",
		"Reason (required)", "2) Bad", "Please give a number from 1 to 2.", "Tell the customer (yes or no, optional): [default: yes] ", "Please give yes or no.",
		"For the records", "Note (text, up to 5 characters, optional): ", "maxLength", "Day (date, YYYY-MM-DD, optional): ", "does not match pattern",
	} {
		require.Contains(t, shown, said)
	}
}

func TestAFormIsRefusedWithoutItsValues(t *testing.T) {
	t.Parallel()
	body, _, err := asked(t, refundCard(t), "2", "too dear")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"decision": "reject", "notes": "too dear", "suspend_generation": int64(3)}, body)
}

// D-105: digits stay as they were typed.
func TestATerminalAsksForThePropertiesOfASchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, want string
		lines, said  []string
	}{
		"an object": {
			`{"type":"object","required":["approved","why","kind"],"properties":{"kind":{"const":"k"},"approved":{"type":"boolean"},"cents":{"type":["integer","null"],"minimum":1,"title":"Cents"},
			  "why":{"$ref":"#/$defs/why"},"to":{"type":"object","required":["city"]},"version":{"const":2},"expired":false},"$defs":{"why":{"enum":["a",2],"description":"The cause"}}}`,
			`{"approved":false,"cents":90071992547409931,"kind":"k","to":{"city":"Ulm"},"why":2}`,
			[]string{"", "n", "0", "1.5", "90071992547409931", "2", "Ulm", `{"town":"Ulm"}`, `{"city":"Ulm"}`, ""},
			[]string{"approved (yes or no, required): ", "It is required", "Cents (whole number, at least 1, optional): ", "integer", "The cause", "to (JSON object, optional): ", "Please give JSON", "missing property 'city'"},
		},
		"a text":         {`{"type":"string","minLength":3}`, `"yes, do"`, []string{"", "no", "yes, do", ""}, []string{"Answer (text, required): ", "minLength"}},
		"a choice":       {`{"enum":["red","green"]}`, `"green"`, []string{"2", ""}, []string{"Answer (required)"}},
		"alternatives":   {`{"oneOf":[{"type":"integer"},{"type":"array","minItems":1}]}`, `[1]`, []string{"{}", "[1]", ""}, []string{"Answer (JSON, required): "}},
		"a hidden part":  {`{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":"x","b":1}`, []string{"x", "", `{"a":"x","b":1}`, ""}, []string{"missing property 'b'", `Answer (JSON, required): [default: {"a":"x"}] `}},
		"a default text": {`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`, `{"a":""}`, []string{`""`, ""}, []string{"a (text, optional): [default: x] "}},
	} {
		body, shown, err := asked(t, &review{ID: "r", Kind: kindPlain, Schema: json.RawMessage(c.schema)}, c.lines...)
		require.NoError(t, err, name+": "+shown)
		require.Equal(t, c.want, string(body["answer"].(json.RawMessage)), name)
		for _, said := range c.said {
			require.Contains(t, shown, said, name)
		}
	}
}

func TestWordsAreAskedForWhereTheyAreAnAnswer(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*review{
		"a review":                     {Kind: "review", Schema: json.RawMessage(`{"type":"object"}`), Allowed: []string{"pay", "keep"}},
		"an outcome":                   {Kind: "unknown_outcome", Schema: json.RawMessage(`{"type":"object"}`), Allowed: []string{"pay", "keep"}},
		"no schema":                    {Kind: kindPlain, Allowed: []string{"pay", "keep"}},
		"words that the schema admits": {Kind: kindPlain, Schema: json.RawMessage(`{"enum":["pay","keep"]}`), Allowed: []string{"pay", "keep"}},
	} {
		body, _, err := asked(t, r, "2", "ok")
		require.NoError(t, err, name)
		require.Equal(t, []any{"keep", "ok"}, []any{body["decision"], body["notes"]}, name)
	}
	require.NotNil(t, questionOf(&review{Kind: kindPlain, Schema: json.RawMessage(`{"type":"boolean"}`), Allowed: []string{"pay"}}), "words that it doesn't admit")
}

func TestExitLeavesEveryPrompt(t *testing.T) {
	t.Parallel()
	typedInOrder := []string{"1", "1", "1", "yes", "x", "2026-12-24", ""}
	for i := range typedInOrder {
		for _, word := range []string{"/exit", "/quit"} {
			_, shown, err := asked(t, refundCard(t), append(append([]string{}, typedInOrder[:i]...), word)...)
			require.ErrorIs(t, err, errNoMore, shown)
		}
	}
	_, _, err := asked(t, &review{Kind: "review"}, "/exit")
	require.ErrorIs(t, err, errNoMore, "a decision in words of one's own")
	edit := &review{Actions: []action{{Name: "pay", Args: json.RawMessage(`{}`), Allowed: []string{"edit"}}}}
	_, _, err = asked(t, edit, "1", "/exit")
	require.ErrorIs(t, err, errNoMore, "arguments")
}

func TestAReviewSaysWhatItExpects(t *testing.T) {
	t.Parallel()
	r := refundCard(t)
	text := r.decisions()
	require.Contains(t, text, "Allowed decisions: approve, reject\nApproving it takes:\n  amount: amount in EUR, from 0.01 to 1000, required, default 240\n")
	require.Contains(t, text, "  reason: one of late (Late), bad (Bad), required\n")
	const elsewhere = `parley reviews decide r1 --answer '{"approved":true,"values":{"amount":240,"reason":"late"}}'`
	require.Contains(t, text, elsewhere)
	require.Contains(t, questionOf(r).hint(), elsewhere)
	plain := &review{ID: "r", Kind: kindPlain, Schema: json.RawMessage(`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"}}}`)}
	require.Contains(t, plain.decisions(), "Expected:\n  approved: yes or no, required\n")
	require.Contains(t, plain.decisions(), `--answer '{"approved":true}'`)
	require.NotContains(t, plain.decisions(), "any")
	require.Contains(t, (&review{Kind: kindPlain}).decisions(), "--answer with any JSON")
	require.Contains(t, (&review{Kind: "review"}).decisions(), "words of your own (--decision)")
}

func TestAPromptEndsWithItsContext(t *testing.T) {
	t.Parallel()
	in, typing := io.Pipe() // on which nobody types
	defer typing.Close()    //nolint:errcheck // ends the read that was given up
	ctx, cancel := context.WithCancelCause(t.Context())
	var out bytes.Buffer
	a := newAsker(&Streams{In: in, Out: &out})
	cause := &interrupted{signal: 15}
	go cancel(cause)
	_, err := a.line(ctx, "? ")
	require.ErrorIs(t, err, cause)
	go func() { _, _ = typing.Write([]byte("late\n")) }()
	text, err := a.line(t.Context(), "? ")
	require.NoError(t, err)
	require.Equal(t, "late", text, "what was typed later isn't lost")
}

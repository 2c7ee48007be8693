package demo_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/demo"
)

// question is the newest one that a run asked.
func question(t *testing.T, r agenttest.Result) map[string]any {
	t.Helper()
	require.True(t, r.Suspended)
	var q map[string]any
	for _, e := range r.Events {
		if info, ok := e.Payload.(agent.InterruptInfo); ok {
			require.NoError(t, json.Unmarshal(info.Value, &q))
		}
	}
	return q
}

var receipt = regexp.MustCompile(`(Receipt: |receipt )[0-9a-f]{8}`)

// spoken is the conversation without receipts, which are no constants.
func spoken(t *testing.T, thread *agenttest.Thread) []string {
	t.Helper()
	all := conversation(t, thread)
	for i := range all {
		all[i] = receipt.ReplaceAllString(all[i], "$1…")
	}
	return all
}

func defaults(q map[string]any) map[string]any {
	all := map[string]any{}
	for _, f := range q["fields"].([]any) {
		field := f.(map[string]any)
		if v, ok := field["default"]; ok {
			all[field["name"].(string)] = v
		}
	}
	return all
}

func TestEachToolOfFormsHasItsForm(t *testing.T) {
	t.Parallel()
	for request, c := range map[string]struct {
		form, answer string
		defaults     map[string]any
		outcome      string
	}{
		"Book a flight from Berlin to New York on 2026-12-24": {
			"flight-booking", `{"approved":true,"values":{"cabin":"business","luggage":true}}`,
			map[string]any{"from": "Berlin", "to": "New York", "day": "2026-12-24", "cabin": "economy", "luggage": false},
			"Flight from Berlin to New York on 2026-12-24 booked, business, with a suitcase. Receipt: …",
		},
		"Please refund order 4711, 240.50 EUR": {
			"refund-approval", `{"approved":true,"values":{"amount":200,"reason":"late","notify":false}}`,
			map[string]any{"amount": 240.5, "notify": true},
			"Order 4711: 200.00 EUR refunded (late). Receipt: …",
		},
		"Refund $12 for order 99123": {
			"refund-approval", `{"approved":true,"values":{"reason":"goodwill"}}`,
			map[string]any{"amount": 12.0, "notify": true},
			"Order 99123: 12.00 USD refunded (goodwill), the customer is told. Receipt: …",
		},
		"Publish: We open at nine": {
			"content-review", `{"approved":true,"values":{"text":"We open at ten","audience":"everybody","checked":true}}`,
			map[string]any{"text": "We open at nine", "audience": "customers", "checked": false},
			`Published for everybody: "We open at ten". Receipt: …`,
		},
		"publish: We close early": {
			"content-review", `{"approved":false,"message":"not true"}`,
			map[string]any{"text": "We close early", "audience": "customers", "checked": false},
			"The publication was not done: the reviewer refused, because: not true",
		},
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			thread := threadOf(t, demo.Forms(nil))
			q := question(t, ask(t, thread, request))
			require.Equal(t, c.form, q["formType"])
			require.Equal(t, c.defaults, defaults(q))
			_, err := thread.Resume(t.Context(), json.RawMessage(c.answer))
			require.NoError(t, err)
			all := spoken(t, thread)
			require.Equal(t, []string{"tool: " + c.outcome, "ai: This is what came of it:\n- " + c.outcome}, all[len(all)-2:])
		})
	}
}

func TestFormsHelpsWhoAsksForNothingItCanDo(t *testing.T) {
	t.Parallel()
	thread := threadOf(t, demo.Forms(nil))
	require.False(t, ask(t, thread, "hello").Suspended)
	require.Contains(t, last(t, thread), "Book a flight from Berlin")
}

func TestFormsAsksOneAfterTheOtherAndStopsAtARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		second bool
	}{"granted": {`{"approved":true,"values":{"reason":"late"}}`, true}, "refused": {`{"approved":false}`, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := threadOf(t, demo.Forms(nil))
			q := question(t, ask(t, thread, "Refund order 4711, 20 EUR, and then publish: Sorry"))
			require.Equal(t, "refund-approval", q["formType"])
			r, err := thread.Resume(t.Context(), json.RawMessage(c.answer))
			require.NoError(t, err)
			if !c.second {
				require.False(t, r.Suspended)
				require.Contains(t, last(t, thread), "I did not go on with the rest")
				return
			}
			require.Equal(t, "content-review", question(t, r)["formType"])
			_, err = thread.Resume(t.Context(), json.RawMessage(`{"approved":true}`))
			require.NoError(t, err)
			require.Contains(t, last(t, thread), "Order 4711: 20.00 EUR refunded (late)")
		})
	}
}

// The answer was given to the form that the person saw.
func TestAnAnsweredFormIsOfNoUseToAnotherCall(t *testing.T) {
	t.Parallel()
	thread := threadOf(t, demo.Forms(nil))
	ask(t, thread, "Refund order 4711, 240 EUR")
	state, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	held, _ := state.State.Value("messages")
	m, _ := held.List.Last()
	m.ToolCalls[0].Args = json.RawMessage(`{"order":"9999","amount":900}`)
	raw, err := json.Marshal([]any{m})
	require.NoError(t, err)
	res, err := thread.Command(t.Context(), agent.Command{
		Resume: json.RawMessage(`{"approved":true,"values":{"amount":5,"reason":"late"}}`), HasResume: true,
		Update: []agent.Write{{Channel: "messages", Value: raw}},
	})
	require.NoError(t, err)
	require.Equal(t, "Refund order 9999", question(t, res)["title"], "it is asked about")
	require.NotContains(t, last(t, thread), "refunded")
}

package demo_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/demo"
)

// proposed are the tool calls of the newest message that has some.
func proposed(t *testing.T, thread *agenttest.Thread) []string {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	for _, m := range s.State.Messages()["messages"].Backward() {
		if len(m.ToolCalls) == 0 {
			continue
		}
		var all []string
		for _, c := range m.ToolCalls {
			all = append(all, c.Name+string(c.Args))
		}
		return all
	}
	return nil
}

func answer(t *testing.T, thread *agenttest.Thread, value string) agenttest.Result {
	t.Helper()
	r, err := thread.Resume(t.Context(), json.RawMessage(value))
	require.NoError(t, err)
	return r
}

func TestErrandsProposesWhatTheUserAsksFor(t *testing.T) {
	t.Parallel()
	for request, calls := range map[string][]string{
		"Send an e-mail to ada@example.com about the order: It is on its way": {
			`send_email{"to":"ada@example.com","subject":"the order","body":"It is on its way"}`,
		},
		"Delete record A-17 and transfer 250 EUR to Grace Hopper": {
			`delete_record{"record":"A-17"}`, `transfer_money{"amount":250,"currency":"EUR","to":"Grace Hopper"}`,
		},
		"please wire $99.50 to Alan": {`transfer_money{"amount":99.5,"currency":"USD","to":"Alan"}`},
		"mail bob@example.com about cats and dogs: Hi Bob, and hello then": {
			`send_email{"to":"bob@example.com","subject":"cats and dogs","body":"Hi Bob, and hello"}`,
		},
		"Ask me: Which colour do you want?": {`ask_user{"question":"Which colour do you want?"}`},
		"Search for refunds":                {`search{"query":"refunds"}`},
		"Good morning":                      nil,
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			thread := threadOf(t, demo.Errands(nil))
			ask(t, thread, request)
			require.Equal(t, calls, proposed(t, thread))
		})
	}
}

func TestErrandsDoesWhatTheReviewerDecided(t *testing.T) { // D-45
	t.Parallel()
	thread := threadOf(t, demo.Errands(nil))
	q := question(t, ask(t, thread, "Delete record A-17 and transfer 250 EUR to Grace and send an e-mail to ada@example.com about it: Done"))
	require.Len(t, q["actionRequests"], 3)
	answer(t, thread, `{"decisions":[
		{"type":"reject","message":"it is still needed"},
		{"type":"edit","editedAction":{"name":"transfer_money","args":{"amount":200,"currency":"EUR","to":"Grace"}}},
		{"type":"approve"}]}`)
	all := spoken(t, thread)
	require.Contains(t, all[len(all)-1], "it is still needed")
	require.Contains(t, all[len(all)-1], "200.00 EUR transferred to Grace, receipt …")
	require.Contains(t, all[len(all)-1], `E-mail "it" sent to ada@example.com, receipt …`)
}

func TestErrandsAsksTwiceInOneRunForAChain(t *testing.T) {
	t.Parallel()
	thread := threadOf(t, demo.Errands(nil))
	ask(t, thread, "Ask me: Which colour? Then send an e-mail to bob@example.com about the colour: As agreed")
	r := answer(t, thread, `{"decisions":[{"type":"respond","message":"Blue"}]}`)
	q := question(t, r)
	require.Equal(t, "send_email", q["actionRequests"].([]any)[0].(map[string]any)["name"])
	r = answer(t, thread, `{"decisions":[{"type":"approve"}]}`)
	require.False(t, r.Suspended)
	all := spoken(t, thread)
	require.Equal(t, "ai: This is what came of it:\n- Blue\n- E-mail \"the colour\" sent to bob@example.com, receipt …", all[len(all)-1])
}

func TestErrandsAsksAboutEachCallAlone(t *testing.T) { // spec/runtime.md 6.8
	t.Parallel()
	thread := threadOf(t, demo.ErrandsPerCall(nil))
	r := ask(t, thread, "Delete record A-17 and transfer 250 EUR to Grace and search for transfers")
	ids := map[string]string{}
	for _, e := range r.Events {
		if info, ok := e.Payload.(agent.InterruptInfo); ok {
			var q struct {
				Name string `json:"name"`
			}
			require.NoError(t, json.Unmarshal(info.Value, &q))
			ids[q.Name] = info.ID
		}
	}
	require.Len(t, ids, 2)
	r = answer(t, thread, `{"`+ids["transfer_money"]+`":{"type":"approve"}}`)
	require.True(t, r.Suspended, "the other question stays open")
	r = answer(t, thread, `{"`+ids["delete_record"]+`":{"type":"reject"}}`)
	require.False(t, r.Suspended)
	all := spoken(t, thread)
	require.Contains(t, all[len(all)-1], "250.00 EUR transferred to Grace, receipt …")
	require.Contains(t, all[len(all)-1], "The handbook says: Transfers are carried out on the next working day.")
	require.NotContains(t, all[len(all)-1], "Record A-17 deleted")
}

package hitl_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
)

// D-104: the model learns that the tool was not run, and that nobody refused it.
func TestAnExpiredCallIsAnsweredAndNeverRun(t *testing.T) {
	t.Parallel()
	const text = "Nobody decided on the tool call for `pay` with id c1 before the deadline of its review. The tool was not executed, and nobody refused it. "
	const again = "Do not make this call again unless the user asks for it."
	for name, tc := range map[string]struct {
		rule hitl.Rule
		want string
	}{
		"by default":      {hitl.Rule{Deadline: time.Hour}, "c1 error pay: " + text + again},
		"with a message":  {hitl.Rule{Deadline: time.Hour, OnExpiry: hitl.OnExpiry{Message: "Ask on Monday."}}, "c1 error pay: " + text + "Ask on Monday. " + again},
		"responded":       {hitl.Rule{Deadline: time.Hour, OnExpiry: hitl.OnExpiry{Action: agent.ExpireRespond, Message: "pending"}}, "c1 success pay: pending"},
		"escalated first": {hitl.Rule{Deadline: time.Hour, OnExpiry: hitl.OnExpiry{Action: agent.ExpireEscalate, Role: "team:boss", Then: agent.ExpireRespond, Message: "later"}}, "c1 success pay: later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
				c := standard()
				c.Mode = mode
				tc.rule.Decisions = []hitl.Decision{hitl.Approve} // what a person may do doesn't bind the deadline
				c.Policy["pay"] = tc.rule
				delete(c.Policy, "mail")
				thread, d := begin(t, c, calls(payAnn))
				require.Equal(t, time.Hour, thread.Pending()[0].Expiry.After)
				refused(t, thread, map[hitl.Mode]string{hitl.Batch: `{"decisions":[{"type":"expired"}]}`, hitl.PerCall: `{"type":"expired"}`}[mode])
				res, err := thread.Expire(t.Context())
				require.NoError(t, err)
				require.False(t, res.Suspended)
				require.Empty(t, d.all())
				require.Equal(t, []string{tc.want}, told(t, thread), "mode %s", mode)
			}
		})
	}
}

func TestTheShortestDeadlineOfABatchCounts(t *testing.T) {
	t.Parallel()
	c := standard()
	c.Policy["pay"] = hitl.Rule{Decisions: hitl.All(), Deadline: 2 * time.Hour, OnExpiry: hitl.OnExpiry{Action: agent.ExpireRespond, Message: "later"}}
	c.Policy["mail"] = hitl.Rule{Decisions: hitl.All(), Deadline: time.Hour, Warn: time.Minute}
	thread, _ := begin(t, c, calls(payAnn, mailBob))
	e := thread.Pending()[0].Expiry
	require.Equal(t, time.Hour, e.After)
	require.Equal(t, time.Minute, e.Warn)
	require.Equal(t, agent.ExpireReject, e.End())
	require.JSONEq(t, `{"decisions":[{"type":"respond","message":"later"},{"type":"expired"}]}`, string(e.Answer))
}

func TestDeadlinesOfAPolicyInJSON(t *testing.T) {
	t.Parallel()
	var p hitl.Policy
	require.NoError(t, json.Unmarshal([]byte(`{
		"a": {"decisions":["approve"],"deadline":"48h","on_expiry":"reject","warn":"2h"},
		"b": {"decisions":["approve"],"deadline":"30m","on_expiry":{"action":"escalate","role":"team:finance","then":"respond","message":"later"}},
		"c": true}`), &p)) // the default is no deadline (D-96)
	require.Equal(t, hitl.Policy{
		"a": {Decisions: []hitl.Decision{hitl.Approve}, Deadline: 48 * time.Hour, Warn: 2 * time.Hour, OnExpiry: hitl.OnExpiry{Action: "reject"}},
		"b": {Decisions: []hitl.Decision{hitl.Approve}, Deadline: 30 * time.Minute, OnExpiry: hitl.OnExpiry{Action: "escalate", Role: "team:finance", Then: "respond", Message: "later"}},
		"c": {Decisions: hitl.All()},
	}, p)
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	var again hitl.Policy
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, p, again)
	for _, bad := range []string{`{"deadline":48}`, `{"deadline":"soon"}`, `{"on_expiry":{"do":"x"}}`, `{"dead_line":"1h"}`} {
		require.Error(t, json.Unmarshal([]byte(`{"a":`+bad+`}`), &p), bad)
	}
}

func TestAWrongDeadlineIsRefusedAtStartUp(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]hitl.Rule{
		"needs one above 0": {OnExpiry: hitl.OnExpiry{Action: agent.ExpireReject}},
		"needs a role":      {Deadline: 1, OnExpiry: hitl.OnExpiry{Action: agent.ExpireEscalate}},
		"unknown action":    {Deadline: 1, OnExpiry: hitl.OnExpiry{Action: "approve"}},
	} {
		r.Decisions = hitl.All()
		c := standard()
		c.Policy["pay"] = r
		_, err := hitl.New(c, (&desk{}).tools(t))
		require.ErrorContains(t, err, want)
	}
}

package hitl_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
)

// D-38: a policy that can't be meant is an error at the start, and never an open gate.
func TestAPolicyThatCantBeMeantIsAnErrorAtTheStart(t *testing.T) {
	t.Parallel()
	set := (&desk{}).tools(t)
	rule := func(r hitl.Rule) hitl.Config { return hitl.Config{Policy: hitl.Policy{"pay": r}} }
	for want, c := range map[string]hitl.Config{
		`hitl: review of "pay": no decision is allowed; list some of [approve edit reject respond]`:  rule(hitl.Rule{}),
		`hitl: review of "pay": no decision is allowed; list some of [approve edit reject respond] `: rule(hitl.Rule{When: func(hitl.Request) bool { return true }}),
		`hitl: review of "pay": unknown decision "aprove"; there are [approve edit reject respond]`:  rule(hitl.Rule{Decisions: []hitl.Decision{"aprove"}}),
		`hitl: review of "pay": decision "edit" is listed twice`:                                     rule(hitl.Rule{Decisions: []hitl.Decision{hitl.Edit, hitl.Edit}}),
		`hitl: review of "pay": unknown decision "exempt"; there are [approve edit reject respond]`:  rule(hitl.Rule{Decisions: []hitl.Decision{hitl.Exempt}}),
		`hitl: review of "transfer": the agent has no such tool`:                                     {Policy: hitl.Policy{"transfer": {Decisions: hitl.All()}}},
		`hitl: unknown mode "each"; there are "batch" and "per_call"`:                                {Mode: "each"},
		`hitl: unknown casing "kebab"; there are "camel" and "snake"`:                                {Casing: "kebab"},
		"hitl: review of \"mail\": no decision is allowed; list some of [approve edit reject respond]\nhitl: review of \"x\": the agent has no such tool": {
			Policy: hitl.Policy{"mail": {}, "x": {Decisions: hitl.All()}}},
	} {
		_, err := hitl.New(c, set)
		require.Error(t, err, want)
		require.Contains(t, err.Error()+" ", want)
	}
	_, err := hitl.New(rule(hitl.Rule{Decisions: hitl.All(), ArgsSchema: json.RawMessage(`{"type":7}`)}), set)
	require.ErrorContains(t, err, "args schema")
	_, err = hitl.New(hitl.Config{}, nil)
	require.ErrorContains(t, err, "needs the agent's tools")
}

func TestAPolicyIsReadFromJSON(t *testing.T) {
	t.Parallel()
	var p hitl.Policy
	require.NoError(t, json.Unmarshal([]byte(`{"pay":true,"search":false,"mail":{"decisions":["approve","edit"],"description":"d","args_schema":{"type":"object"}}}`), &p))
	require.Equal(t, hitl.Policy{
		"pay":  {Decisions: hitl.All()},
		"mail": {Decisions: []hitl.Decision{hitl.Approve, hitl.Edit}, Description: "d", ArgsSchema: json.RawMessage(`{"type":"object"}`)},
	}, p)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"pay":{"allowed":["approve"]}}`), &p), `review of "pay"`)
	require.Error(t, json.Unmarshal([]byte(`["pay"]`), &p))
}

// Policy can't be set by a caller (spec/runtime.md 6.1, the hole).
func TestACallersContextDoesNotChangeThePolicy(t *testing.T) {
	t.Parallel()
	d := &desk{}
	set := d.tools(t)
	gate, err := hitl.New(standard(), set)
	require.NoError(t, err)
	thread := newThread(loop(gate, set, script(calls(payAnn))))
	off := json.RawMessage(`{"interruptOn":{"pay":false},"interrupt_on":{"pay":false}}`)
	thread.Config = agent.Config{Context: off, Configurable: map[string]json.RawMessage{"interruptOn": off, "policy": off}}
	res := say(t, thread, "go")
	require.True(t, res.Suspended)
	require.Empty(t, d.all())
}

func TestTheDigestIsOfWhatACallDoes(t *testing.T) { // D-101
	t.Parallel()
	base := hitl.Digest("pay", json.RawMessage(`{"to":"Ann","amount":5,"tags":[1,{"b":1,"a":2}]}`))
	require.Len(t, base, 64)
	for args, same := range map[string]bool{
		`{"amount": 5, "tags": [1, {"a": 2, "b": 1}], "to": "\u0041nn"}`: true,
		`{"to":"Bob","to":"Ann","amount":5,"tags":[1,{"b":1,"a":2}]}`:    true,
		`{"to":"Ann","amount":5,"tags":[{"b":1,"a":2},1]}`:               false,
		`{"to":"Ann","amount":"5","tags":[1,{"b":1,"a":2}]}`:             false,
		`{"to":"Ann","amount":5.0,"tags":[1,{"b":1,"a":2}]}`:             false,
		`{"to":"Ann","amount":5,"tags":[1,{"b":1,"a":2}],"x":null}`:      false,
		`not JSON`: false,
	} {
		require.Equal(t, same, base == hitl.Digest("pay", json.RawMessage(args)), args)
	}
	require.NotEqual(t, base, hitl.Digest("mail", json.RawMessage(`{"to":"Ann","amount":5,"tags":[1,{"b":1,"a":2}]}`)))
	require.NotEqual(t, hitl.Digest("a", json.RawMessage(`"b"`)), hitl.Digest("a\"b", json.RawMessage(`""`)))
}

package hitl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// Who looks at an agent from outside sees how its tools are reviewed, those of its subagents and nested graphs, too.
func TestAnAgentTellsOfItsReviewRules(t *testing.T) {
	t.Parallel()
	do := func(name string) tool.Tool {
		return tool.Func(name, name, func(tool.CallContext, struct{}) (string, error) { return "", nil })
	}
	make := func(name string, policy hitl.Policy, tools ...tool.Tool) *agent.Graph {
		g, err := react.New(react.Options[react.State]{
			Name: name, Tools: tools, Model: scripted.Script{}, Review: hitl.Config{Policy: policy},
		})
		require.NoError(t, err)
		return g
	}
	helper := make("helper", hitl.Policy{"mail": {Decisions: []hitl.Decision{hitl.Respond}}}, do("mail"))
	boss := make("boss", hitl.Policy{
		"pay":  {Decisions: []hitl.Decision{hitl.Approve}, Deadline: time.Hour, Warn: time.Minute, When: func(hitl.Request) bool { return false }},
		"wire": {Decisions: hitl.All(), Deadline: time.Hour, OnExpiry: hitl.OnExpiry{Action: agent.ExpireRespond, Message: "on hold"}},
	}, do("pay"), do("wire"), do("look"), react.Subagent("helper", "Helps", helper))
	rules := map[string]agent.ReviewRule{
		"pay":         {Decisions: []string{"approve"}, Conditional: true, Deadline: "1h0m0s", Warn: "1m0s", OnExpiry: "reject"},
		"wire":        {Decisions: []string{"approve", "edit", "reject", "respond"}, Deadline: "1h0m0s", OnExpiry: "respond", Message: "on hold"},
		"helper/mail": {Decisions: []string{"respond"}},
	}
	require.Equal(t, rules, boss.ReviewRules())
	outer := agent.NewGraph[react.State]("outer").Subgraph("inner", boss).Edge(agent.Start, "inner").Edge("inner", agent.End).MustCompile()
	nested := outer.ReviewRules()
	require.Len(t, nested, 3)
	require.Equal(t, rules["helper/mail"], nested["inner/helper/mail"])
	require.Empty(t, make("free", nil, do("look")).ReviewRules())
}

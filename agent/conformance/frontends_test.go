package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/conformance"
)

var frontendSets = map[string]func() []agent.Agent{
	"react": conformance.ReactSet, "vue": conformance.VueSet, "svelte": conformance.SvelteSet, "angular": conformance.AngularSet,
}

// frontendAgent is an agent of a frontend library's set.
func frontendAgent(t *testing.T, set, id string) agent.Agent {
	t.Helper()
	agents := frontendSets[set]()
	i := slices.IndexFunc(agents, func(a agent.Agent) bool { return a.Name() == id })
	require.GreaterOrEqual(t, i, 0, "%s has no %s", set, id)
	return agents[i]
}

const reviewCard = `{"messages":[{"type":"ai","id":"review-card-1","content":"Please review the \"delete_db\" action.","response_metadata":{"cards":{"kind":"tool_validation","action":"delete_db","buttons":["approve","reject"],"decision":"approve"}}}]}`

// What the reference sent of these runs over the thread protocol is what our runtime emits.
func TestFrontendAgentsAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	hello, report := run{input: humanInput("Hello")}, run{input: `{"request":"Send the weekly report"}`}
	location := `{"latitude":37.7749,"longitude":-122.4194}`
	approved := run{resume: `{"approved":true}`}
	for name, c := range map[string]struct {
		runs []run
		// parallel: tasks run at the same time, in no certain order.
		parallel bool
		failed   bool
	}{
		"react.create_agent":                     {runs: []run{{input: humanInput("What is the weather in San Francisco?")}}},
		"react.custom_channel_graph":             {runs: []run{hello}},
		"react.deep_agent":                       {runs: []run{{input: humanInput("Research the protocol risks")}}, parallel: true},
		"react.deep_agent_interrupt":             {runs: []run{{input: humanInput("Request approval")}, approved}},
		"react.embedded_subgraph_graph":          {runs: []run{hello}},
		"react.error_graph":                      {runs: []run{hello}, failed: true},
		"react.headless_tool_graph":              {runs: []run{{input: humanInput("Where am I?")}, {resume: location}}},
		"react.interrupt_card_graph":             {runs: []run{{input: `{"toolArg":"delete_db"}`}, {resume: `{"approved":true}`, commandUpdate: reviewCard}}},
		"react.interrupt_card_graph.reject":      {runs: []run{{input: `{"toolArg":"delete_db"}`}, {resume: `{"approved":false}`}}},
		"react.interrupt_graph":                  {runs: []run{report, approved}},
		"react.interrupt_once_graph":             {runs: []run{report, approved}},
		"react.multi_interrupt_graph.both":       {runs: []run{{input: `{"prompts":["A","B"]}`}, {answers: []string{`{"approved":true}`, `{"approved":false}`}}}, parallel: true},
		"react.multi_interrupt_graph.one-by-one": {runs: []run{{input: `{"prompts":["A","B"]}`}, {answers: []string{`{"approved":true}`}}, {answers: []string{`{"approved":false}`}}}, parallel: true},
		"react.nested_interrupt_graph":           {runs: []run{report, approved}},
		"react.parallel_fanout":                  {runs: []run{{input: humanInput("Fan out")}}, parallel: true},
		"react.parallel_subgraph":                {runs: []run{hello}, parallel: true},
		"react.remove_message_graph":             {runs: []run{hello}},
		"react.slow_graph":                       {runs: []run{hello}},
		"react.stateful_values_graph":            {runs: []run{{input: humanInput("Hello", `"status":"draft"`)}}},
		"react.stategraph_text":                  {runs: []run{hello}},
		"react.stategraph_text.two-turns":        {runs: []run{hello, {input: `{"messages":[{"type":"human","content":"Again","id":"human-2"}]}`}}},
		"react.subgraph_graph":                   {runs: []run{hello}},
		"vue.agent":                              {runs: []run{hello}},
		"vue.deepAgent":                          {runs: []run{{input: humanInput("Research")}}, parallel: true},
		"vue.embeddedSubgraphAgent":              {runs: []run{hello}},
		"vue.interruptAgent":                     {runs: []run{hello, {resume: `"approved"`}}},
		"vue.interrupt_card_graph":               {runs: []run{{input: `{"toolArg":"delete_db"}`}, {resume: `{"approved":true}`, commandUpdate: reviewCard}}},
		"vue.parallel_fanout":                    {runs: []run{{input: humanInput("Fan out")}}, parallel: true},
		"vue.parallel_subgraph":                  {runs: []run{hello}, parallel: true},
		"vue.parentAgent":                        {runs: []run{hello}},
		"svelte.deepAgent":                       {runs: []run{{input: humanInput("Research")}}, parallel: true},
		"svelte.embedded_subgraph_graph":         {runs: []run{hello}},
		"svelte.stategraph_text":                 {runs: []run{hello}},
		"angular.customChannelAgent":             {runs: []run{hello}},
		"angular.namedCustomChannelAgent":        {runs: []run{hello}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := strings.Split(name, ".")
			l := newLab(t, frontendAgent(t, parts[0], parts[1]))
			got := newTrace()
			for i, r := range c.runs {
				res := l.run(r)
				got.run(t, res.events)
				switch {
				case c.failed:
					require.Equal(t, "error", res.outcome.Status)
				default:
					require.Equal(t, "success", res.outcome.Status, "%v", res.outcome.Err)
					require.Equal(t, i < len(c.runs)-1 && c.runs[i+1].input == "", res.outcome.Suspended)
				}
			}
			want := recordedTrace(t, name)
			if c.parallel {
				require.Equal(t, anyOrder(want), anyOrder(got.lines))
			} else {
				require.Equal(t, strings.Join(want, "\n"), strings.Join(got.lines, "\n"))
			}
		})
	}
}

// What the reference stored of these runs, and showed while they waited, is what ours store.
func TestFrontendHistoriesAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	hello := run{input: humanInput("Hello")}
	report := run{input: `{"request":"Send the weekly report"}`}
	approved := run{resume: `{"approved":true}`}
	card := run{resume: `{"approved":true}`, commandUpdate: reviewCard}
	prompts := run{input: `{"prompts":["A","B"]}`}
	for name, runs := range map[string][]run{
		"react.custom_channel_graph":             {hello},
		"react.deep_agent_interrupt":             {{input: humanInput("Request approval")}, approved},
		"react.embedded_subgraph_graph":          {hello},
		"react.error_graph":                      {hello},
		"react.headless_tool_graph":              {{input: humanInput("Where am I?")}, {resume: `{"latitude":37.7749,"longitude":-122.4194}`}},
		"react.interrupt_card_graph":             {{input: `{"toolArg":"delete_db"}`}, card},
		"react.interrupt_once_graph":             {report, approved},
		"react.multi_interrupt_graph.both":       {prompts, {answers: []string{`{"approved":true}`, `{"approved":false}`}}},
		"react.multi_interrupt_graph.one-by-one": {prompts, {answers: []string{`{"approved":true}`}}, {answers: []string{`{"approved":false}`}}},
		"react.nested_interrupt_graph":           {report, approved},
		"react.parallel_subgraph":                {hello},
		"react.remove_message_graph":             {hello},
		"react.slow_graph":                       {hello},
		"react.stateful_values_graph":            {{input: humanInput("Hello", `"status":"draft"`)}},
		"react.stategraph_text.two-turns":        {hello, {input: `{"messages":[{"type":"human","content":"Again","id":"human-2"}]}`}},
		"react.subgraph_graph":                   {hello},
		"svelte.embedded_subgraph_graph":         {hello},
		"svelte.stategraph_text":                 {hello},
		"vue.agent":                              {hello},
		"vue.embeddedSubgraphAgent":              {hello},
		"vue.interruptAgent":                     {hello, {resume: `"approved"`}},
		"vue.interrupt_card_graph":               {{input: `{"toolArg":"delete_db"}`}, card},
		"vue.parentAgent":                        {hello},
		"angular.customChannelAgent":             {hello},
		"angular.namedCustomChannelAgent":        {hello},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := strings.Split(name, ".")
			l := newLab(t, frontendAgent(t, parts[0], parts[1]))
			for i, r := range runs {
				if i == 1 && r.input == "" && parts[0] == "react" {
					requireState(t, "histories/"+name+".interrupted-state", l.state(false))
				}
				l.run(r)
			}
			requireHistory(t, "histories/"+name, l.history(""))
		})
	}
}

// The reference goes on showing the question that was answered, without the result.
func TestOneOfTwoAnswersLeavesTheOtherQuestion(t *testing.T) {
	t.Parallel()
	l := newLab(t, frontendAgent(t, "react", "multi_interrupt_graph"))
	l.run(run{input: `{"prompts":["A","B"]}`})
	l.run(run{answers: []string{`{"approved":true}`}})
	s := l.state(false)
	require.Equal(t, []string{"review"}, s.Next)
	require.Empty(t, s.Tasks[0].Interrupts)
	require.JSONEq(t, `{"decisions":{"A":{"approved":true}}}`, string(s.Tasks[0].Result))
	require.JSONEq(t, `{"prompt":"Approve action B?","action":"B"}`, string(s.Tasks[1].Interrupts[0].Value))
}

func TestANestedQuestionIsReadInsideItsGraphs(t *testing.T) {
	t.Parallel()
	l := newLab(t, frontendAgent(t, "react", "nested_interrupt_graph"))
	l.run(run{input: `{"request":"Send the weekly report"}`})
	requireState(t, "histories/react.nested_interrupt_graph.interrupted-state-subgraphs", l.state(true))
}

func TestFrontendSetsHoldTheirSuitesGraphs(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"react": `create_agent custom_channel_graph deep_agent deep_agent_interrupt embedded_subgraph_graph error_graph headless_tool_graph
			interrupt_card_graph interrupt_graph interrupt_once_graph multi_interrupt_graph nested_interrupt_graph parallel_fanout
			parallel_subgraph remove_message_graph slow_graph stateful_values_graph stategraph_text subgraph_graph`,
		"vue": `agent customChannelAgent deepAgent deep_agent_interrupt embeddedSubgraphAgent errorAgent headlessToolAgent interruptAgent
			interrupt_card_graph interrupt_once_graph multi_interrupt_graph nested_interrupt_graph parallel_fanout parallel_subgraph
			parentAgent removeMessageAgent slowAgent stateful_values_graph`,
		"svelte": `agent customChannelAgent deepAgent deep_agent_interrupt embedded_subgraph_graph errorAgent headlessToolAgent interruptAgent
			interrupt_card_graph interrupt_once_graph multi_interrupt_graph nested_interrupt_graph parallel_fanout parallel_subgraph
			parentAgent removeMessageAgent slow_graph stateful_values_graph stategraph_text`,
		"angular": `agent customChannelAgent deepAgent deep_agent_interrupt embeddedSubgraphAgent errorAgent headlessToolAgent interruptAgent
			interrupt_card_graph interrupt_once_graph multi_interrupt_graph namedCustomChannelAgent nested_interrupt_graph parallel_fanout
			parallel_subgraph parentAgent removeMessageAgent slow_graph stateful_values_graph`,
	} {
		var names []string
		for _, a := range frontendSets[set]() {
			names = append(names, a.Name())
			graphOf(t, a, nil)
		}
		slices.Sort(names)
		require.Equal(t, strings.Fields(want), names, set) // missing_graph is in none
	}
}

// answersByID gives the answers to the pending questions, in order.
func (l *lab) answersByID(answers []string) json.RawMessage {
	l.t.Helper()
	byID := map[string]json.RawMessage{}
	for i, q := range l.thread.Pending() {
		if i < len(answers) {
			byID[q.ID] = json.RawMessage(answers[i])
		}
	}
	raw, err := json.Marshal(byID)
	require.NoError(l.t, err)
	return raw
}

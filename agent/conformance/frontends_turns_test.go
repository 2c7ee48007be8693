package conformance_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

func again(text string) run {
	return run{input: `{"messages":[{"type":"human","content":"` + text + `","id":"human-2"}]}`}
}

func frontendLab(t *testing.T, set, id string) *lab {
	t.Helper()
	return newLab(t, frontendAgent(t, set, id))
}

func TestASecondTurnOfADeepAgentDelegatesAgain(t *testing.T) { // spec/conformance-frontends.md 4.4
	t.Parallel()
	l := frontendLab(t, "vue", "deepAgent")
	first := l.run(run{input: humanInput("Research")})
	namespaces := len(l.thread.Namespaces())
	second := l.run(again("Research again"))
	require.ElementsMatch(t, toolsStarted(first), toolsStarted(second), "the same calls, with the same ids")
	require.Len(t, l.history(""), 18)
	require.Len(t, l.thread.Namespaces(), 2*namespaces-1, "namespaces of their own")
	all := l.conversation()
	require.Len(t, all, 10)
	const found = `Research completed: found relevant results. Tool output: {"status":"success","query":"test research query"`
	require.True(t, strings.HasPrefix(all[2], "tool "+found), all[2])
	require.Equal(t, 1, strings.Count(all[4], found))
	require.Equal(t, 2, strings.Count(all[9], found), "an echo repeats what all tools of the thread said")
}

// toolsStarted lists the calls of a run.
func toolsStarted(r result) []string {
	var all []string
	for _, e := range r.events {
		if n, ok := e.Payload.(agent.ToolNote); ok && e.Kind == agent.ToolStarted {
			all = append(all, n.Name+" "+n.CallID+" "+n.Input)
		}
	}
	return all
}

func TestConfiguredMessageIDsEndASecondTurnAtOnce(t *testing.T) { // spec/conformance-frontends.md 7, the trap
	t.Parallel()
	l := frontendLab(t, "svelte", "deepAgent")
	l.run(run{input: humanInput("Research")})
	before := l.conversation()
	second := l.run(again("Research again"))
	require.Equal(t, "success", second.outcome.Status)
	require.Empty(t, toolsStarted(second))
	require.Equal(t, append(before, "human Research again"), l.conversation())
}

func TestTheClientsToolIsCalledOncePerThread(t *testing.T) { // spec/conformance-frontends.md 4.3
	t.Parallel()
	l := frontendLab(t, "svelte", "headlessToolAgent")
	l.run(run{input: humanInput("Where am I?")})
	l.run(run{resume: `"somewhere"`})
	second := l.run(again("And now?"))
	require.False(t, second.outcome.Suspended)
	require.Equal(t, []string{"human Where am I?", "ai ", "tool somewhere", "ai Location received!", "human And now?", "ai Location received!"}, l.conversation())
}

func TestOneDecisionServesAllTurns(t *testing.T) {
	t.Parallel()
	l := frontendLab(t, "angular", "interrupt_once_graph")
	require.True(t, l.run(run{input: `{"request":"Send it"}`}).outcome.Suspended)
	l.run(run{resume: `["list"]`})
	require.False(t, l.run(run{input: `{"request":"Send it again"}`}).outcome.Suspended)
	require.JSONEq(t, `["list"]`, l.value("decision"))
	require.JSONEq(t, `2`, l.value("completedTurns"))
}

func TestAnActionIsExecutedOnlyOnAClearYes(t *testing.T) { // spec/conformance-frontends.md 4.2
	t.Parallel()
	for answer, executed := range map[string]bool{
		`true`: true, `{"approved":true}`: true, `{"approved":true,"note":"fine"}`: true,
		`false`: false, `{"approved":false}`: false, `{"approved":"true"}`: false, `"yes"`: false, `[true]`: false, `{}`: false, `1`: false,
	} {
		l := frontendLab(t, "vue", "interrupt_card_graph")
		l.run(run{input: `{"toolArg":"delete_db"}`})
		l.run(run{resume: answer})
		want, took := "User has rejected the toolcall", time.Duration(0)
		if executed {
			want, took = `Executed "delete_db".`, time.Second
		}
		require.Equal(t, []string{"ai ", "tool " + want, "ai Done. Tool output: " + want}, l.conversation(), answer)
		require.Equal(t, took, l.elapsed(), answer)
	}
}

func TestTheClientsCardIsInTheStateBeforeTheActionEnds(t *testing.T) { // D-01
	t.Parallel()
	l := frontendLab(t, "react", "interrupt_card_graph")
	l.run(run{input: `{"toolArg":"delete_db"}`})
	r := l.run(run{resume: `true`, commandUpdate: reviewCard})
	seen, finished := 0, false
	for _, e := range r.events {
		switch p := e.Payload.(type) {
		case *agent.ValuesNote:
			seen++
			require.Equal(t, 1, strings.Count(string(p.State.JSON()), `"review-card-1"`))
		case agent.ToolNote:
			finished = finished || e.Kind == agent.ToolFinished
		}
		require.True(t, seen > 0 || !finished)
	}
	require.True(t, finished)
	require.Greater(t, seen, 2)
}

func TestAnApprovalWithoutAWordIsOne(t *testing.T) {
	t.Parallel()
	for answer, content := range map[string]string{`null`: `{"approved":true}`, `{"approved":false}`: `{"approved":false}`, `"ok"`: `"ok"`} {
		l := frontendLab(t, "react", "deep_agent_interrupt")
		l.run(run{input: humanInput("Request approval")})
		r := l.run(run{answers: []string{answer}})
		require.Equal(t, []string{"human Request approval", "ai ", "tool Approval recorded.", "ai Subagent approval completed."}, l.conversation())
		var inner *agent.State
		for _, e := range r.events {
			if v, ok := e.Payload.(*agent.ValuesNote); ok && strings.HasPrefix(e.NS, "tools:") {
				inner = v.State
			}
		}
		require.Equal(t, content, inner.Messages()["messages"].At(2).Text())
	}
}

func TestAnInterruptedAnswerKeepsWhatWasStreamed(t *testing.T) { // spec/conformance-frontends.md 6
	t.Parallel()
	l := frontendLab(t, "vue", "agent")
	ctx, cancel := context.WithCancel(t.Context())
	l.thread.OnEmit = func(e agent.Event) {
		if d, ok := e.Payload.(agent.Delta); ok && d.Text == "e" {
			cancel()
		}
	}
	r := l.runIn(ctx, run{input: humanInput("Hello")})
	require.Equal(t, "interrupted", r.outcome.Status)
	require.Equal(t, []string{"H", "e"}, r.pieces())
	require.Equal(t, 600*time.Millisecond, l.elapsed(), "300 ms before each character")
	require.Equal(t, []string{"human Hello"}, l.conversation(), "a cancelled node writes nothing")
	l.thread.OnEmit = nil
	l.run(again("Hello again"))
	require.Equal(t, []string{"human Hello", "human Hello again", "ai Hey"}, l.conversation())
}

func TestAnAgentRunsOnEmptyInput(t *testing.T) { // spec/conformance-frontends.md 1.2
	t.Parallel()
	l := frontendLab(t, "vue", "agent")
	l.run(run{input: `{}`})
	require.Equal(t, []string{"ai Hey"}, l.conversation())
	var next [][]string
	for _, s := range l.history("") {
		next = append(next, s.Next)
	}
	require.Len(t, next, 3)
	require.Equal(t, [][]string{{"agent"}, {agent.Start}}, next[1:])
}

func TestParallelAnswersHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"react", "parallel_subgraph"}, {"vue", "parallel_subgraph"}, {"react", "parallel_fanout"}, {"vue", "parallel_fanout"}} {
		l := frontendLab(t, c[0], c[1])
		ids := map[string]bool{}
		for _, r := range []result{l.run(run{input: humanInput("Hello")}), l.run(again("Again"))} {
			for _, e := range r.events {
				if m, ok := e.Payload.(agent.MessageStart); ok && m.Streamed {
					require.False(t, ids[m.ID], "%s of %s twice", m.ID, c[1])
					ids[m.ID] = true
				}
			}
		}
		require.GreaterOrEqual(t, len(ids), 6)
	}
}

func TestRepliesThatEmbedAMessageIDAreStoredUnderIt(t *testing.T) { // spec/conformance-frontends.md 2
	t.Parallel()
	for set, list := range frontendSets {
		for _, a := range list() {
			input := humanInput("Hello", `"request":"r"`, `"prompts":["A"]`)
			l := newLab(t, a)
			r := l.run(run{input: input})
			started := map[string]string{}
			for _, e := range r.events {
				switch p := e.Payload.(type) {
				case agent.MessageStart:
					started[p.ID] = e.NS
				case *agent.ValuesNote:
					for _, m := range p.State.Messages()["messages"].All() {
						delete(started, m.ID)
					}
				}
			}
			require.Empty(t, started, "%s of %s: messages that no state has", a.Name(), set)
		}
	}
}

func TestThreadsOfOneAgentDoNotMix(t *testing.T) { // spec/conformance-frontends.md 3, don't share cursors
	t.Parallel()
	a := frontendAgent(t, "vue", "interrupt_card_graph")
	one, two := newLab(t, a), newLab(t, a)
	for _, l := range []*lab{one, two} {
		require.True(t, l.run(run{input: `{"toolArg":"delete_db"}`}).outcome.Suspended)
	}
	for _, l := range []*lab{two, one} {
		l.run(run{resume: `false`})
		require.Len(t, l.conversation(), 3)
	}
}

func TestAnswersOfAnyKindReachTheNode(t *testing.T) { // spec/conformance-frontends.md 11, no. 8
	t.Parallel()
	for answer, text := range map[string]string{`"yes"`: "Hey: yes", `{"a":[1]}`: `Hey: {"a":[1]}`, `true`: "Hey: true", `null`: "Hey: null", `7`: "Hey: 7"} {
		l := frontendLab(t, "angular", "interruptAgent")
		l.run(run{input: humanInput("Hello")})
		l.run(run{answers: []string{answer}})
		require.Equal(t, []string{"human Hello", "ai Before interrupt", "ai " + text, "ai After interrupt"}, l.conversation())
	}
}

func TestNamedWritesKeepTheirForm(t *testing.T) { // spec/conformance-frontends.md 2
	t.Parallel()
	l := frontendLab(t, "angular", "namedCustomChannelAgent")
	r := l.run(run{input: humanInput("Hello")})
	for _, e := range r.events {
		if c, ok := e.Payload.(agent.Custom); ok {
			require.Equal(t, json.RawMessage(`{"name":"status","payload":{"label":"answering"}}`), c.Value)
			require.Empty(t, e.NS)
		}
	}
}

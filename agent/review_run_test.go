package agent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// reviewed is a graph that asks for a decision and keeps it.
type reviewed struct {
	Decision agent.Decision `json:"decision"`
	Text     string         `json:"text"`
}

func asksForReview(t *testing.T, r agent.ReviewRequest) (*agenttest.Thread, agenttest.Result) {
	t.Helper()
	g := agent.NewGraph[reviewed]("claims").
		Node("ask", func(ctx agent.Context, _ reviewed) (agent.Update, error) {
			d, err := agent.Review(ctx, r)
			return agent.Set("decision", d), err
		}).
		Edge(agent.Start, "ask").MustCompile()
	thread := agenttest.New(g)
	res, err := thread.Run(t.Context(), map[string]any{"text": "hello"})
	require.NoError(t, err)
	return thread, res
}

func decided(t *testing.T, thread *agenttest.Thread) agent.Decision {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	v, ok := s.State.Value("decision")
	require.True(t, ok)
	var d agent.Decision
	require.NoError(t, json.Unmarshal(v.JSON, &d))
	return d
}

// spec/executions.md 3: compared without regard to case, spaces trimmed; the agent gets the spelling it declared.
func TestADecisionIsWhatTheAgentDeclared(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"approve": "Approve", " APPROVE\t": "Approve", "Straße ablehnen": "straße ablehnen", "needs (more) info?": "Needs (more) info?",
	} {
		thread, res := asksForReview(t, agent.ReviewRequest{
			Reason: "Above the limit", Context: map[string]any{"claim_id": "CLM-1"},
			AllowedDecisions: []string{"Approve", "straße ablehnen", "Needs (more) info?"},
		})
		require.True(t, res.Suspended)
		q := thread.Pending()[0]
		require.JSONEq(t, `{"claim_id":"CLM-1","reason":"Above the limit","allowed_decisions":["Approve","straße ablehnen","Needs (more) info?"]}`, string(q.Value))
		require.Nil(t, q.Expiry, "D-96: the default is no deadline")
		_, err := thread.Resume(t.Context(), map[string]any{"decision": given, "reviewer_notes": "fine"})
		require.NoError(t, err, given)
		d := decided(t, thread)
		require.Equal(t, want, d.Decision)
		require.Equal(t, "fine", d.Notes)
		require.False(t, d.Expired)
	}
}

func TestADecisionThatIsNotAllowedIsRefused(t *testing.T) {
	t.Parallel()
	thread, _ := asksForReview(t, agent.ReviewRequest{AllowedDecisions: []string{"approve", "reject"}})
	for _, answer := range []string{
		`"approve"`, `{}`, `{"decision":"maybe"}`, `{"decision":"approved"}`, `{"decision":""}`, `{"decision":7}`, `{"decision":"approve","reviewer_notes":7}`,
		`{"decision":"approve","reviewer":"me"}`, // D-102: nobody says who they are
		`{"decision":"approve","expired":true}`, `{"decision":"expired"}`,
	} {
		_, err := thread.Resume(t.Context(), json.RawMessage(answer))
		var refused *agent.ResumeError
		require.ErrorAs(t, err, &refused, answer)
		require.Equal(t, agent.InvalidAnswer, refused.Code)
		if answer == `{"decision":"maybe"}` {
			require.Contains(t, refused.Message, "decision: value must be one of 'approve', 'reject'")
		}
		require.Len(t, thread.Pending(), 1)
	}
}

func TestAnyDecisionIsTakenWhereNoneIsNamed(t *testing.T) {
	t.Parallel()
	thread, _ := asksForReview(t, agent.ReviewRequest{})
	require.JSONEq(t, `{}`, string(thread.Pending()[0].Value))
	_, err := thread.Resume(t.Context(), json.RawMessage(`{"decision":"  "}`))
	require.Error(t, err)
	_, err = thread.Resume(t.Context(), json.RawMessage(`{"decision":" Expired ","reviewer_notes":null}`))
	require.NoError(t, err)
	require.Equal(t, "Expired", decided(t, thread).Decision)
	require.False(t, decided(t, thread).Expired, "a person's word isn't a deadline")
}

// D-104: an expired request is told from a refused one.
func TestAnExpiredReviewIsNobodysDecision(t *testing.T) {
	t.Parallel()
	thread, _ := asksForReview(t, agent.ReviewRequest{
		AllowedDecisions: []string{"approve", "reject"}, Expiry: &agent.Expiry{After: time.Hour, Message: "Closed."},
	})
	shown, err := json.Marshal(thread.Pending()[0])
	require.NoError(t, err)
	require.NotContains(t, string(shown), "Closed", "the policy isn't on the wire")
	_, err = thread.Expire(t.Context())
	require.NoError(t, err)
	d := decided(t, thread)
	require.Equal(t, agent.DecisionExpired, d.Decision)
	require.True(t, d.Expired)
	require.Equal(t, "Closed.", d.Notes)
	require.Empty(t, d.Reviewer)
}

func TestMistakesOfAReviewAreErrors(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]agent.ReviewRequest{
		"must be an object":                {Context: "text"},
		"is empty":                         {AllowedDecisions: []string{"a", " "}},
		`two allowed decisions`:            {AllowedDecisions: []string{"a", " A "}},
		"needs one above 0":                {Expiry: &agent.Expiry{}},
		`unknown action "drop"`:            {Expiry: &agent.Expiry{After: 1, Action: "drop"}},
		`"escalate" needs a role`:          {Expiry: &agent.Expiry{After: 1, Action: agent.ExpireEscalate}},
		`"respond" needs a message`:        {Expiry: &agent.Expiry{After: 1, Action: agent.ExpireEscalate, Role: "team:boss", Then: agent.ExpireRespond}},
		`nobody can have the role "boss"`:  {Expiry: &agent.Expiry{After: 1, Action: agent.ExpireEscalate, Role: "boss"}},
		`the role "team:"`:                 {Expiry: &agent.Expiry{After: 1, Action: agent.ExpireEscalate, Role: "team:"}},
		`the role "reviewer:a/"`:           {Expiry: &agent.Expiry{After: 1, Action: agent.ExpireEscalate, Role: "reviewer:a/"}},
		`role and then belong to`:          {Expiry: &agent.Expiry{After: 1, Role: "team:boss"}},
		"between the question and its":     {Expiry: &agent.Expiry{After: 1, Warn: 1}},
		`after an escalation there is "re`: {Expiry: &agent.Expiry{After: 1, Action: agent.ExpireEscalate, Role: "team:boss", Then: agent.ExpireEscalate}},
	} {
		_, res := asksForReview(t, r)
		require.Equal(t, "error", res.Status, want)
		require.Contains(t, res.Err.Message, want)
	}
}

// D-95: a plain question may have a deadline, too.
func TestAPlainQuestionExpires(t *testing.T) {
	t.Parallel()
	ask := func(option agent.InterruptOption) (*agenttest.Thread, agenttest.Result) {
		g := agent.NewGraph[reviewed]("plain").
			Node("ask", func(ctx agent.Context, _ reviewed) (agent.Update, error) {
				answer, err := agent.Interrupt[string](ctx, "ok?", option)
				return agent.Set("text", answer), err
			}).
			Edge(agent.Start, "ask").MustCompile()
		thread := agenttest.New(g)
		res, err := thread.Run(t.Context(), map[string]any{})
		require.NoError(t, err)
		return thread, res
	}
	thread, _ := ask(agent.Expires(agent.Expiry{After: time.Hour, Answer: json.RawMessage(`"too late"`)}))
	_, err := thread.Expire(t.Context())
	require.NoError(t, err)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	v, _ := s.State.Value("text")
	require.JSONEq(t, `"too late"`, string(v.JSON))

	_, res := ask(agent.Expires(agent.Expiry{After: time.Hour}))
	require.Equal(t, "error", res.Status, "its default answer is no string")
	require.Contains(t, res.Err.Message, "give it an Answer")
}

func TestHeadersReachNodesAndSteps(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[reviewed]("headers").
		Node("look", func(ctx agent.Context, _ reviewed) (agent.Update, error) {
			inner, err := agent.Step(ctx, "step", func(c agent.StepContext) (string, error) { return agent.Header(c, "X-TENANT"), nil })
			return agent.Set("text", agent.Header(ctx, "x-tenant")+inner+agent.Header(ctx, "other")), err
		}).
		Edge(agent.Start, "look").MustCompile()
	thread := agenttest.New(g)
	_, err := thread.Run(agent.WithHeaders(t.Context(), map[string]string{"X-Tenant": "acme"}), map[string]any{})
	require.NoError(t, err)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	v, _ := s.State.Value("text")
	require.JSONEq(t, `"acmeacme"`, string(v.JSON))
}

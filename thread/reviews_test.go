package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/thread"
)

// spec/executions.md 3: what each kind of question shows, and what a flat decision makes of it.
func TestAFlatDecisionAnswersEveryKindOfQuestion(t *testing.T) {
	t.Parallel()
	both := hitl.Policy{"pay": {Decisions: hitl.All()}, "mail": {Decisions: []hitl.Decision{hitl.Approve, hitl.Reject}}}
	for name, tc := range map[string]struct {
		agent           func(t *testing.T, w *world) agent.Agent
		decision, notes string
		kind            string
		tools           []string
		allowed         []string
		reason, context string
		got             string            // what the node got
		told            map[string]string // tool messages
	}{
		"a review": {
			agent:    func(*testing.T, *world) agent.Agent { return claims(refund) },
			decision: " APPROVE ", notes: "fine", kind: thread.KindReview, allowed: []string{"Approve", "Reject"}, reason: "Above the limit",
			context: `{"claim_id":"CLM-4821","reason":"Above the limit","allowed_decisions":["Approve","Reject"]}`,
			got:     `{"decision":"Approve","notes":"fine","reviewer":"rita"}`,
		},
		"tool calls": {
			agent:    func(t *testing.T, w *world) agent.Agent { return office(t, w, both, hitl.Batch, "pay", "mail") },
			decision: "Reject", notes: "not today", kind: thread.KindToolCalls, tools: []string{"pay", "mail"}, allowed: []string{"approve", "reject"},
			reason: "2 tool calls wait for approval: pay, mail",
			context: `{"action_requests":[{"name":"pay","args":{"to":"Ann"},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"to\": \"Ann\"\n}"},
				{"name":"mail","args":{"to":"Ann"},"description":"Tool execution requires approval\n\nTool: mail\nArgs: {\n  \"to\": \"Ann\"\n}"}],
				"review_configs":[{"action_name":"pay","allowed_decisions":["approve","edit","reject","respond"]},{"action_name":"mail","allowed_decisions":["approve","reject"]}],
				"allowed_decisions":["approve","reject"]}`,
			told: map[string]string{"call-pay": `Reason: "not today"`, "call-mail": `Reason: "not today"`},
		},
		"one tool call": {
			agent:    func(t *testing.T, w *world) agent.Agent { return office(t, w, both, hitl.PerCall, "pay") },
			decision: "respond", notes: "paid already", kind: thread.KindToolCalls, tools: []string{"pay"}, allowed: []string{"approve", "edit", "reject", "respond"},
			reason: "Tool execution requires approval",
			context: `{"action_requests":[{"name":"pay","tool_call_id":"call-pay","args":{"to":"Ann"},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"to\": \"Ann\"\n}"}],
				"review_configs":[{"action_name":"pay","allowed_decisions":["approve","edit","reject","respond"]}],"allowed_decisions":["approve","edit","reject","respond"]}`,
			told: map[string]string{"call-pay": "paid already"},
		},
		"a form": {
			agent:    func(*testing.T, *world) agent.Agent { return booking(nil) },
			decision: "approve", notes: "enjoy", kind: thread.KindForm, allowed: []string{"approve", "reject"}, reason: "Book a room",
			context: `{"formType":"room-booking","title":"Book a room","allowed_decisions":["approve","reject"],
				"fields":[{"name":"room","label":"","type":"text","default":"blue"},{"name":"late","label":"","type":"checkbox"}]}`,
			got: `{"approved":true,"values":{"room":"blue"},"message":"enjoy"}`,
		},
		"a plain object": {
			agent: func(*testing.T, *world) agent.Agent {
				return plain(map[string]any{"suspend_reason": "Look", "task_description": "x", "allowed_decisions": []string{"Go", "Stop"}})
			},
			decision: "go", notes: "ok", kind: thread.KindPlain, allowed: []string{"Go", "Stop"}, reason: "Look",
			context: `{"suspend_reason":"Look","task_description":"x","allowed_decisions":["Go","Stop"]}`,
			got:     `{"decision":"Go","reviewer_notes":"ok"}`,
		},
		"a plain value": {
			agent:    func(*testing.T, *world) agent.Agent { return plain("really?") },
			decision: "whatever you like", kind: thread.KindPlain, context: `{"value":"really?"}`,
			got: `{"decision":"whatever you like"}`,
		},
		"a question that takes a text": {
			agent: func(*testing.T, *world) agent.Agent {
				return plain("really?", agent.ResponseSchema(json.RawMessage(`{"type":"string"}`)))
			},
			decision: "yes", kind: thread.KindPlain, context: `{"value":"really?"}`, got: `"yes"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			a := tc.agent(t, w)
			b := reviewers(t, []agent.Agent{a}, func(o *setupOptions) { o.world = w })
			r := b.ask(a.Name(), "alice")
			require.Equal(t, tc.kind, r.Kind)
			require.Equal(t, tc.tools, r.Tools)
			require.Equal(t, tc.allowed, r.AllowedDecisions)
			require.Equal(t, "alice", r.Requester)
			require.Equal(t, a.Name(), r.Agent)
			require.Equal(t, "default", r.Project)
			require.Contains(t, r.Text, "please pay Ann", "the original message is found")
			require.True(t, r.ExpiresAt.IsZero(), "D-96")
			reason, shown := b.svc.SuspendContext(r)
			require.Equal(t, tc.reason, reason)
			require.JSONEq(t, tc.context, string(shown))

			run, after := b.decide(as("rita"), r.ID, tc.decision, tc.notes)
			require.Equal(t, thread.RunSuccess, run.Status)
			require.Equal(t, r.ExecutionID, run.ExecutionID)
			require.Equal(t, thread.ReviewDecided, after.Status)
			require.Equal(t, "rita", after.Decided.By)
			if tc.got != "" {
				var got map[string]any
				if json.Unmarshal([]byte(b.got(r.ThreadID)), &got) == nil {
					delete(got, "at")
					raw, err := json.Marshal(got)
					require.NoError(t, err)
					require.JSONEq(t, tc.got, string(raw))
				} else {
					require.JSONEq(t, tc.got, b.got(r.ThreadID))
				}
			}
			for call, text := range tc.told {
				require.Contains(t, answers(t, b, r.ThreadID)[call], text)
				require.Zero(t, w.count(call[5:]+" Ann "+r.ThreadID))
			}

			// D-98: who, when, on which content, with which result.
			trail := b.audit(r.ThreadID)
			require.Equal(t, []string{thread.AuditRequested, thread.AuditDecided}, actions(trail))
			d := trail[1]
			require.Equal(t, thread.Actor{Principal: "rita", Kind: "key", Address: "192.0.2.7", RequestID: "req-1", Via: "reviews"}, d.Actor)
			require.Equal(t, r.Digest, d.Digest)
			require.JSONEq(t, string(r.Payload), string(d.Shown))
			require.Equal(t, r.Generation, d.Generation)
			require.Equal(t, tc.notes, d.Notes)
			require.NotEmpty(t, d.Answer)
			require.Equal(t, after.Decided.Decision, d.Decision)
		})
	}
}

// The decision of each dialect's answer is named in the review and in the audit log.
func TestTheDecisionOfAWholeAnswerIsNamed(t *testing.T) {
	t.Parallel()
	policy := hitl.Policy{"pay": {Decisions: hitl.All()}, "mail": {Decisions: hitl.All()}}
	for answer, want := range map[string][2]string{
		`{"decisions":[{"type":"approve"},{"type":"approve"}]}`:                                                                           {"approve", ""},
		`{"decisions":[{"type":"approve"},{"type":"reject","message":"no"}]}`:                                                             {"approve,reject", "no"},
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Bob"}}},{"type":"respond","message":"sent yesterday"}]}`: {"edit,respond", "sent yesterday"},
	} {
		w := newWorld()
		b := reviewers(t, []agent.Agent{office(t, w, policy, hitl.Batch, "pay", "mail")}, func(o *setupOptions) { o.world = w })
		r := b.ask("office", "alice")
		b.run(resume(r.ThreadID, "office", answer)) // the classic API's way
		r = b.review(r.ID)
		require.Equal(t, thread.ReviewDecided, r.Status)
		require.Equal(t, want[0], r.Decided.Decision)
		require.Equal(t, want[1], r.Decided.Notes)
		trail := b.audit(r.ThreadID)
		require.Equal(t, want[0], trail[1].Decision)
	}
}

// An answer that names no decision has the one that it amounts to; the answer itself is kept as it is (D-98).
func TestTheDecisionOfAnAnswerWithoutOneIsDerived(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"approved":true}`: "approve", `{"approved":false}`: "reject", `"do as you like"`: "respond", `{"days":3}`: "respond",
	} {
		b := reviewers(t, []agent.Agent{plain("How long?")})
		r := b.ask("plain", "alice")
		b.run(resume(r.ThreadID, "plain", answer))
		require.Equal(t, want, b.review(r.ID).Decided.Decision)
		require.JSONEq(t, answer, string(b.review(r.ID).Decided.Answer))
		trail := b.audit(r.ThreadID)
		require.Equal(t, want, trail[1].Decision)
		require.JSONEq(t, answer, string(trail[1].Answer))
	}
}

// Notes beside a whole answer reach who asked by agent.Review, whatever the answer has of its own; other questions have no place for them.
func TestNotesBesideAWholeAnswerReachTheAgent(t *testing.T) {
	t.Parallel()
	b := reviewers(t, []agent.Agent{claims(refund), plain("How long?")})
	for _, answer := range []string{`{"decision":"approve"}`, `{"decision":"Approve","reviewer_notes":"others"}`, `{"decision":"approve","reviewer_notes":null}`} {
		r := b.ask("claims", "alice")
		d := thread.ReviewDecision{ReviewID: r.ID, Answer: json.RawMessage(answer), Notes: "up to 240"}
		started, _, err := b.svc.DecideReview(as("rita"), d)
		require.NoError(t, err)
		b.wait(started.Run)
		var got agent.Decision
		require.NoError(t, json.Unmarshal([]byte(b.got(r.ThreadID)), &got))
		require.Equal(t, [2]string{"Approve", "up to 240"}, [2]string{got.Decision, got.Notes})
		decided := b.review(r.ID).Decided
		require.Equal(t, "up to 240", decided.Notes)
		require.JSONEq(t, `"up to 240"`, string(field(t, decided.Answer, "reviewer_notes")), "what the agent got is what is kept")
		again, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Answer: json.RawMessage(answer), Notes: "other words"})
		require.NoError(t, err)
		require.True(t, again.Repeat, "notes aren't compared")
	}
	r := b.ask("claims", "alice")
	_, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Answer: json.RawMessage(`"approve"`), Notes: "n"})
	var resume *agent.ResumeError
	require.ErrorAs(t, err, &resume)
	require.Equal(t, agent.InvalidAnswer, resume.Code)
	r = b.ask("plain", "alice")
	started, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Answer: json.RawMessage(`{"days":3}`), Notes: "n"})
	require.NoError(t, err)
	b.wait(started.Run)
	require.JSONEq(t, `{"days":3}`, b.got(r.ThreadID))
	require.Equal(t, "n", b.review(r.ID).Decided.Notes)
}

// field is a field of a JSON object.
func field(t *testing.T, raw json.RawMessage, name string) json.RawMessage {
	t.Helper()
	var o map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &o))
	return o[name]
}

// What was approved and what ran are two entries (D-98).
func TestThatAToolRanIsAuditedApart(t *testing.T) {
	t.Parallel()
	w := newWorld()
	policy := hitl.Policy{"pay": {Decisions: hitl.All()}, "mail": {Decisions: hitl.All()}}
	for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
		b := reviewers(t, []agent.Agent{office(t, w, policy, mode, "pay")}, func(o *setupOptions) { o.world = w })
		r := b.ask("office", "alice")
		answer := `{"type":"edit","edited_action":{"name":"pay","args":{"to":"Bob"}}}`
		if mode == hitl.Batch {
			answer = `{"decisions":[` + answer + `]}`
		}
		started, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Answer: json.RawMessage(answer)})
		require.NoError(t, err)
		b.wait(started.Run)
		require.Equal(t, 1, w.count("pay Bob "+r.ThreadID))
		trail := b.audit(r.ThreadID)
		require.Equal(t, []string{thread.AuditRequested, thread.AuditDecided, thread.AuditExecuted}, actions(trail))
		ran := trail[2]
		require.Equal(t, hitl.Digest("pay", json.RawMessage(`{"to":"Bob"}`)), ran.Digest)
		require.Equal(t, "pay", ran.Tool)
		require.Equal(t, "edit", ran.Decision)
		require.Equal(t, r.InterruptID, ran.InterruptID)
		require.Equal(t, "agent", ran.Actor.Kind)
		require.JSONEq(t, `{"tool_call_id":"call-pay","approved_digest":"`+hitl.Digest("pay", json.RawMessage(`{"to":"Ann"}`))+`"}`, string(ran.Detail))
	}
}

// spec/executions.md 3: decisions that don't say enough, or aren't allowed, are refused with what is allowed.
func TestAFlatDecisionThatCantBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	only := func(d ...hitl.Decision) hitl.Rule { return hitl.Rule{Decisions: d} }
	for name, tc := range map[string]struct {
		agent           func(t *testing.T) agent.Agent
		decision, notes string
		code            string
		allowed         []string
	}{
		"not allowed": {func(*testing.T) agent.Agent { return claims(refund) }, "maybe", "", thread.DecisionNotAllowed, []string{"Approve", "Reject"}},
		"empty":       {func(*testing.T) agent.Agent { return claims(refund) }, "  ", "", thread.DecisionMissing, []string{"Approve", "Reject"}},
		"edit": {func(t *testing.T) agent.Agent {
			return office(t, newWorld(), hitl.Policy{"pay": only(hitl.Edit)}, "", "pay")
		}, "edit", "", thread.DecisionNeedsMore, []string{"edit"}},
		"respond, no notes": {func(t *testing.T) agent.Agent {
			return office(t, newWorld(), hitl.Policy{"pay": only(hitl.Respond)}, "", "pay")
		}, "respond", " ", thread.DecisionNeedsNotes, []string{"respond"}},
		"nothing in common": {func(t *testing.T) agent.Agent {
			return office(t, newWorld(), hitl.Policy{"pay": only(hitl.Approve), "mail": only(hitl.Reject)}, "", "pay", "mail")
		}, "approve", "", thread.DecisionNotCommon, nil},
		"not among a form's":  {func(*testing.T) agent.Agent { return booking(nil) }, "maybe", "", thread.DecisionNotAllowed, []string{"approve", "reject"}},
		"empty, for anything": {func(*testing.T) agent.Agent { return plain("?") }, "", "", thread.DecisionMissing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := tc.agent(t)
			b := reviewers(t, []agent.Agent{a})
			r := b.ask(a.Name(), "alice")
			_, after, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Decision: tc.decision, Notes: tc.notes})
			var refused *thread.DecisionError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tc.code, refused.Code)
			require.Equal(t, tc.allowed, refused.Allowed)
			require.NotEmpty(t, refused.Message)
			require.Equal(t, thread.ReviewPending, after.Status)
			trail := b.audit(r.ThreadID)
			require.Equal(t, []string{thread.AuditRequested, thread.AuditRefused}, actions(trail))
			require.Equal(t, tc.code, trail[1].Cause)
			require.Equal(t, "rita", trail[1].Actor.Principal)
			require.JSONEq(t, `{"decision":"`+tc.decision+`","reviewer_notes":"`+tc.notes+`"}`, string(trail[1].Answer))
		})
	}
}

// design 3.2, decisions 8: the same decision again is a repeat, another one is told who was faster.
func TestASecondDecision(t *testing.T) {
	t.Parallel()
	b := reviewers(t, []agent.Agent{claims(refund)})
	r := b.ask("claims", "alice")
	first, _ := b.decide(as("rita"), r.ID, "approve", "fine")

	again, after, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Decision: "Approve", Notes: "other notes"})
	require.NoError(t, err)
	require.True(t, again.Repeat)
	require.Equal(t, first.ID, again.Run.ID)
	require.Equal(t, "fine", after.Decided.Notes)

	for _, d := range []struct{ who, decision string }{{"rita", "reject"}, {"bob", "approve"}, {"bob", "reject"}} {
		_, after, err = b.svc.DecideReview(as(d.who), thread.ReviewDecision{ReviewID: r.ID, Decision: d.decision})
		var decided *thread.AlreadyDecidedError
		require.ErrorAs(t, err, &decided)
		require.Equal(t, "rita", decided.Answer.By)
		require.Equal(t, thread.ReviewDecided, after.Status)
		require.Equal(t, "Approve", after.Decided.Decision)
		require.Equal(t, "rita", after.Decided.By)
	}
	require.Equal(t, []string{thread.AuditRequested, thread.AuditDecided}, actions(b.audit(r.ThreadID)), "the review isn't open any more")
}

func TestADecisionForAnEarlierSuspensionIsRefused(t *testing.T) {
	t.Parallel()
	two := asking("two", func(ctx agent.Context) (any, error) {
		if _, err := agent.Review(ctx, refund); err != nil {
			return nil, err
		}
		return agent.Review(ctx, agent.ReviewRequest{Reason: "again"})
	})
	b := reviewers(t, []agent.Agent{two})
	one := b.ask("two", "alice")
	b.decide(as("rita"), one.ID, "approve", "")
	second := b.open(one.ThreadID)
	require.Greater(t, second.Generation, one.Generation)
	require.Equal(t, one.ExecutionID, second.ExecutionID)
	require.Equal(t, "alice", second.Requester, "who began the execution asks, not who answered before")

	_, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: second.ID, Decision: "ok", Generation: one.Generation})
	var generation *thread.GenerationError
	require.ErrorAs(t, err, &generation)
	require.Equal(t, second.Generation, generation.Current)
	_, _, err = b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: second.ID, Decision: "ok", Generation: second.Generation})
	require.NoError(t, err)
}

// decisions 13
func TestADroppedReviewSaysSo(t *testing.T) {
	t.Parallel()
	b := reviewers(t, []agent.Agent{claims(refund)})
	r := b.ask("claims", "alice")
	again := input(r.ThreadID, "claims", `{"messages":"something else"}`)
	again.Principal = "alice"
	started, err := b.svc.StartRun(as("alice"), again)
	require.NoError(t, err)
	b.wait(started.Run)
	require.Equal(t, thread.ReviewSuperseded, b.reviews(r.ThreadID)[0].Status)
	_, _, err = b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Decision: "approve"})
	var closed *thread.ReviewClosedError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, thread.ReviewSuperseded, closed.Review.Status)
	trail := b.audit(r.ThreadID)
	require.Equal(t, []string{thread.AuditRequested, thread.AuditSuperseded, thread.AuditRequested}, actions(trail))
	require.Equal(t, "alice", trail[1].Actor.Principal)
}

// D-102: nobody answers a question without being asked about, whatever the API.
func TestWhoMayNotDecideIsRefusedInEveryDialect(t *testing.T) {
	t.Parallel()
	no := errors.New("requesters don't approve")
	b := reviewers(t, []agent.Agent{claims(refund)}, with(func(o *thread.Options) {
		o.MayDecide = func(_ context.Context, a thread.Actor, r thread.Review) error {
			if a.Principal == r.Requester {
				return no
			}
			return nil
		}
	}))
	r := b.ask("claims", "alice")
	byID := `{"` + r.InterruptID + `":{"decision":"approve"}}`
	for name, try := range map[string]func() error{
		"reviews": func() error {
			_, _, err := b.svc.DecideReview(as("alice"), thread.ReviewDecision{ReviewID: r.ID, Decision: "approve"})
			return err
		},
		"classic, plainly": func() error {
			_, err := b.svc.StartRun(as("alice"), resume(r.ThreadID, "claims", `{"decision":"approve"}`))
			return err
		},
		"classic, by id": func() error { _, err := b.svc.StartRun(as("alice"), resume(r.ThreadID, "claims", byID)); return err },
		"claim":          func() error { _, err := b.svc.ClaimReview(as("alice"), r.ID, 0); return err },
	} {
		before := len(b.audit(r.ThreadID))
		err := try()
		var forbidden *thread.MayNotDecideError
		require.ErrorAs(t, err, &forbidden, name)
		require.ErrorIs(t, err, no)
		trail := b.audit(r.ThreadID)
		if name == "claim" {
			require.Len(t, trail, before)
			continue
		}
		require.Len(t, trail, before+1, "one entry for one refusal: %s", name)
		require.Equal(t, "forbidden", trail[before].Cause)
	}
	require.Equal(t, thread.ReviewPending, b.review(r.ID).Status)
	b.decide(as("rita"), r.ID, "approve", "")
}

// Refused attempts of the classic API are audited once, too, and bounded.
func TestWrongAnswersAreAudited(t *testing.T) {
	t.Parallel()
	b := reviewers(t, []agent.Agent{claims(refund)})
	r := b.ask("claims", "alice")
	long := make([]byte, 100_000)
	for i := range long {
		long[i] = 'x'
	}
	for _, answer := range []string{`{"decision":"maybe"}`, `{"` + r.InterruptID + `":{"decision":"` + string(long) + `"}}`} {
		_, err := b.svc.StartRun(as("rita"), resume(r.ThreadID, "claims", answer))
		require.Error(t, err)
	}
	_, err := b.svc.StartRun(as("rita"), resume(r.ThreadID, "claims", `{"00000000000000000000000000000000":1}`))
	require.Error(t, err, "a question that isn't there")
	trail := b.audit(r.ThreadID)
	require.Equal(t, []string{thread.AuditRequested, thread.AuditRefused, thread.AuditRefused}, actions(trail))
	require.Equal(t, agent.InvalidAnswer, trail[1].Cause)
	require.JSONEq(t, `{"decision":"maybe"}`, string(trail[1].Answer))
	require.Empty(t, trail[2].Answer)
	require.Less(t, len(trail[2].Detail), 2000)
}

func TestClaims(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := reviewers(t, []agent.Agent{claims(refund)}, withClock(clock))
	r := b.ask("claims", "alice")
	mine, err := b.svc.ClaimReview(as("rita"), r.ID, time.Minute)
	require.NoError(t, err)
	require.Equal(t, thread.ReviewClaimed, mine.Status)
	require.Equal(t, "rita", mine.Assignee)

	var claimed *thread.ClaimedError
	_, err = b.svc.ClaimReview(as("bob"), r.ID, time.Minute)
	require.ErrorAs(t, err, &claimed)
	require.Equal(t, "rita", claimed.Assignee)
	_, err = b.svc.ReleaseReview(as("bob"), r.ID)
	require.ErrorAs(t, err, &claimed)
	_, _, err = b.svc.DecideReview(as("bob"), thread.ReviewDecision{ReviewID: r.ID, Decision: "approve", RespectClaims: true})
	require.ErrorAs(t, err, &claimed)
	_, err = b.svc.ClaimReview(as("rita"), r.ID, 25*time.Hour)
	var invalid *thread.InvalidInputError
	require.ErrorAs(t, err, &invalid)

	clock.advance(2 * time.Minute)
	require.Equal(t, thread.ReviewPending, b.review(r.ID).Status, "a claim is a lease")
	_, err = b.svc.ClaimReview(as("bob"), r.ID, 0)
	require.NoError(t, err)
	free, err := b.svc.ReleaseReview(as("bob"), r.ID)
	require.NoError(t, err)
	require.Equal(t, thread.ReviewPending, free.Status)
	_, err = b.svc.ReleaseReview(as("bob"), r.ID)
	require.NoError(t, err, "releasing nothing is harmless")

	noted, err := b.svc.CommentReview(as("bob"), r.ID, "who knows Ann?")
	require.NoError(t, err)
	require.Equal(t, []thread.Comment{{By: "bob", At: clock.Now(), Text: "who knows Ann?"}}, noted.Comments)
	_, err = b.svc.CommentReview(as("bob"), r.ID, "")
	require.ErrorAs(t, err, &invalid)
	_, err = b.svc.ExtendReview(as("bob"), r.ID, time.Hour, time.Time{})
	require.ErrorAs(t, err, &invalid, "it has no deadline")

	_, err = b.svc.ClaimReview(context.Background(), r.ID, 0) // nobody was authenticated
	require.NoError(t, err)
	_, _, err = b.svc.DecideReview(context.Background(), thread.ReviewDecision{ReviewID: r.ID, Decision: "approve", RespectClaims: true})
	require.NoError(t, err)
	_, err = b.svc.ClaimReview(as("bob"), r.ID, 0)
	var closed *thread.ReviewClosedError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, []string{
		thread.AuditRequested, thread.AuditClaimed, thread.AuditRefused, thread.AuditClaimed, thread.AuditReleased, thread.AuditCommented,
		thread.AuditClaimed, thread.AuditDecided,
	}, actions(b.audit(r.ThreadID)))
	_, err = b.svc.Review(context.Background(), "0123")
	var missing *thread.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "review", missing.Kind)
}

// spec/executions.md 4: custom headers reach the agent, and are not kept over a suspension.
func TestCustomHeadersReachTheRunOfTheirRequestOnly(t *testing.T) {
	t.Parallel()
	header := func(b *bundle, id string) string {
		v, _ := b.state(id).State.Value("header")
		return string(v.JSON)
	}
	for name, workers := range map[string]int{"claimed at once": 8, "queued": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := reviewers(t, []agent.Agent{claims(refund)}, with(func(o *thread.Options) { o.Workers = workers }))
			for send, want := range map[string]string{"acme": `"acme"`, "": `""`} {
				r := b.ask("claims", "alice")
				var d thread.ReviewDecision
				d.ReviewID, d.Decision = r.ID, "approve"
				if send != "" {
					d.Run.CustomHeaders = map[string]string{"X-Tenant": send}
				}
				started, _, err := b.svc.DecideReview(as("rita"), d)
				require.NoError(t, err)
				run := b.wait(started.Run)
				require.Equal(t, want, header(b, r.ThreadID))
				raw, err := json.Marshal(run)
				require.NoError(t, err)
				require.NotContains(t, string(raw), "acme", "never stored")
			}
		})
	}
}

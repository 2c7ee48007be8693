package thread_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/thread"
)

// passing waits until ok holds while time passes: a loop that fell asleep just before the test moved the clock
// looks again within a minute.
func (b *bundle) passing(what string, ok func() bool) {
	b.t.Helper()
	eventually(b.t, what, func() bool {
		if ok() {
			return true
		}
		b.clock.advance(time.Second)
		return false
	})
}

// ended waits until a review has ended and its run, too.
func (b *bundle) ended(id string) thread.Review {
	b.t.Helper()
	var r thread.Review
	b.passing("the review ends", func() bool {
		r = b.review(id)
		return !r.Status.Open()
	})
	run, err := b.svc.GetRun(context.Background(), r.ThreadID, r.Decided.RunID)
	require.NoError(b.t, err)
	b.wait(run)
	return r
}

// D-95, D-104: at its deadline a question is answered in the words of its kind; the outcome is expired, and nobody's.
func TestADeadlineEndsAReview(t *testing.T) {
	t.Parallel()
	pay := func(rule hitl.Rule) hitl.Policy {
		rule.Decisions, rule.Deadline = hitl.All(), 48*time.Hour
		return hitl.Policy{"pay": rule}
	}
	late := &agent.Expiry{After: 48 * time.Hour, Message: "too late"}
	const nobody = "error Nobody decided on the tool call for `pay` with id call-pay before the deadline of its review. The tool was not executed, and nobody refused it."
	for name, tc := range map[string]struct {
		agent func(t *testing.T, w *world) agent.Agent
		got   string
		told  string
	}{
		"tool calls":  {agent: func(t *testing.T, w *world) agent.Agent { return office(t, w, pay(hitl.Rule{}), hitl.Batch, "pay") }, told: nobody},
		"a tool call": {agent: func(t *testing.T, w *world) agent.Agent { return office(t, w, pay(hitl.Rule{}), hitl.PerCall, "pay") }, told: nobody},
		"tool calls, responded": {agent: func(t *testing.T, w *world) agent.Agent {
			return office(t, w, pay(hitl.Rule{OnExpiry: hitl.OnExpiry{Action: agent.ExpireRespond, Message: "on hold"}}), hitl.Batch, "pay")
		}, told: "success on hold"},
		"a form": {agent: func(*testing.T, *world) agent.Agent { return booking(late) }, got: `{"approved":false,"expired":true,"message":"too late","values":{"room":"blue"}}`},
		"a review": {agent: func(*testing.T, *world) agent.Agent {
			r := refund
			r.Expiry = late
			return claims(r)
		}, got: `{"decision":"expired","expired":true,"notes":"too late"}`},
		"a plain question": {agent: func(*testing.T, *world) agent.Agent { return plain("?", agent.Expires(*late)) }, got: `{"decision":"expired"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, w := newManualClock(), newWorld()
			a := tc.agent(t, w)
			b := reviewers(t, []agent.Agent{a}, withClock(clock), func(o *setupOptions) { o.world = w })
			start := clock.Now()
			r := b.ask(a.Name(), "alice")
			require.True(t, r.ExpiresAt.Equal(start.Add(48*time.Hour)))
			require.True(t, r.WarnAt.Equal(start.Add(47*time.Hour)))

			clock.advance(47 * time.Hour)
			b.passing("the warning", func() bool { return b.review(r.ID).WarnAt.IsZero() })
			require.True(t, b.review(r.ID).Status.Open())

			clock.advance(time.Hour)
			r = b.ended(r.ID)
			require.Equal(t, thread.ReviewExpired, r.Status)
			require.Empty(t, r.Decided.By)
			require.Equal(t, agent.DecisionExpired, r.Decided.Decision)
			require.WithinDuration(t, start.Add(48*time.Hour), r.Decided.At, 5*time.Minute)
			require.Equal(t, thread.Idle, b.get(r.ThreadID).Status, "the run goes on")
			if tc.got != "" {
				var got map[string]any
				require.NoError(t, json.Unmarshal([]byte(b.got(r.ThreadID)), &got))
				delete(got, "at")
				raw, err := json.Marshal(got)
				require.NoError(t, err)
				require.JSONEq(t, tc.got, string(raw))
			} else {
				require.Contains(t, answers(t, b, r.ThreadID)["call-pay"], tc.told)
				require.Zero(t, w.count("pay Ann "+r.ThreadID))
			}
			trail := b.audit(r.ThreadID)
			require.Equal(t, []string{thread.AuditRequested, thread.AuditExpiring, thread.AuditExpired}, actions(trail))
			require.Equal(t, thread.Actor{Kind: "system", Via: "deadline"}, trail[2].Actor)
			require.Equal(t, agent.DecisionExpired, trail[2].Decision)

			_, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Decision: "approve"})
			require.Error(t, err)
		})
	}
}

// D-103: from the deadline on nobody else is heard, swept or not.
func TestNobodyDecidesBehindTheDeadline(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	late := refund
	late.Expiry = &agent.Expiry{After: time.Hour}
	// The service that runs has no loop for deadlines: its store hides them.
	b := reviewers(t, []agent.Agent{claims(late)}, withClock(clock), wrapping(func(s thread.Store) thread.Store {
		return undue{s.(reviewedStore)}
	}))
	r := b.ask("claims", "alice")
	clock.advance(time.Hour)
	require.True(t, b.review(r.ID).Status.Open())
	var expired *thread.ReviewExpiredError
	_, _, err := b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: r.ID, Decision: "approve"})
	require.ErrorAs(t, err, &expired)
	_, err = b.svc.StartRun(as("rita"), resume(r.ThreadID, "claims", `{"decision":"approve"}`))
	require.ErrorAs(t, err, &expired)
	_, err = b.svc.ClaimReview(as("rita"), r.ID, 0)
	require.ErrorAs(t, err, &expired)
	_, err = b.svc.ExtendReview(as("rita"), r.ID, time.Hour, time.Time{})
	require.ErrorAs(t, err, &expired)
	require.Equal(t, []string{thread.AuditRequested, thread.AuditRefused, thread.AuditRefused}, actions(b.audit(r.ThreadID)))
}

// reviewedStore is a store that keeps reviews.
type reviewedStore interface {
	thread.Store
	thread.ReviewStore
}

// undue is a store in which nothing is ever due.
type undue struct{ reviewedStore }

func (undue) DueReviews(context.Context, int) ([]thread.Review, error) { return nil, nil }
func (undue) NextReviewDue(context.Context) (time.Time, error)         { return time.Time{}, nil }

// D-96: who looks at a review can put its deadline off; it is warned of anew.
func TestAnExtendedDeadline(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	late := refund
	late.Expiry = &agent.Expiry{After: 10 * time.Hour}
	b := reviewers(t, []agent.Agent{claims(late)}, withClock(clock))
	start := clock.Now()
	r := b.ask("claims", "alice")
	var invalid *thread.InvalidInputError
	_, err := b.svc.ExtendReview(as("rita"), r.ID, -time.Hour, time.Time{})
	require.ErrorAs(t, err, &invalid)
	_, err = b.svc.ExtendReview(as("rita"), r.ID, 1000*24*time.Hour, time.Time{})
	require.ErrorAs(t, err, &invalid)
	longer, err := b.svc.ExtendReview(as("rita"), r.ID, 10*time.Hour, time.Time{})
	require.NoError(t, err)
	require.True(t, longer.ExpiresAt.Equal(start.Add(20*time.Hour)))
	require.True(t, longer.WarnAt.Equal(start.Add(19*time.Hour)))
	clock.advance(19*time.Hour + time.Minute)
	b.passing("the warning", func() bool { return b.review(r.ID).WarnAt.IsZero() })
	longer, err = b.svc.ExtendReview(as("rita"), r.ID, 0, start.Add(30*time.Hour))
	require.NoError(t, err)
	require.True(t, longer.WarnAt.Equal(start.Add(29*time.Hour)))
	clock.advance(11 * time.Hour)
	b.ended(r.ID)
	require.Equal(t, []string{
		thread.AuditRequested, thread.AuditExtended, thread.AuditExpiring, thread.AuditExtended, thread.AuditExpired, // no warning behind the end
	}, actions(b.audit(r.ThreadID)))
}

func TestAnEscalation(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	late := refund
	late.Expiry = &agent.Expiry{After: 10 * time.Hour, Action: agent.ExpireEscalate, Role: "team:finance", Message: "closed"}
	b := reviewers(t, []agent.Agent{claims(late)}, withClock(clock))
	start := clock.Now()
	first, second := b.ask("claims", "alice"), b.ask("claims", "alice")
	_, err := b.svc.ClaimReview(as("rita"), first.ID, 0)
	require.NoError(t, err)
	clock.advance(10 * time.Hour)
	for _, r := range []thread.Review{first, second} {
		b.passing("the escalation", func() bool { return b.review(r.ID).Escalations == 1 })
		now := b.review(r.ID)
		require.Equal(t, "team:finance", now.Role)
		require.Empty(t, now.Assignee)
		require.WithinDuration(t, start.Add(20*time.Hour), now.ExpiresAt, 5*time.Minute)
	}
	_, after := b.decide(as("fred"), first.ID, "approve", "")
	require.Equal(t, thread.ReviewDecided, after.Status)
	clock.advance(10 * time.Hour)
	require.Equal(t, thread.ReviewExpired, b.ended(second.ID).Status)
	trail := b.audit(second.ThreadID)
	require.Equal(t, thread.AuditEscalated, trail[1].Action)
	require.Contains(t, string(trail[1].Detail), `"role":"team:finance"`)
	require.Equal(t, thread.AuditExpired, actions(trail)[len(trail)-1])
}

// Several replicas watch deadlines; each happens once.
func TestADeadlineHappensOnceWithSeveralReplicas(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	late := refund
	late.Expiry = &agent.Expiry{After: 10 * time.Hour, Action: agent.ExpireEscalate, Role: "team:boss"}
	agents := []agent.Agent{claims(late)}
	b := reviewers(t, agents, withClock(clock))
	for range 3 {
		reviewers(t, agents, sharing(b))
	}
	var list []thread.Review
	for range 8 {
		list = append(list, b.ask("claims", "alice"))
	}
	for _, hours := range []time.Duration{9, 1, 9, 1} { // warning, escalation, warning, end
		clock.advance(hours * time.Hour)
		var wg sync.WaitGroup
		for range 4 { // and everybody else, at the same time
			wg.Add(1)
			go func() {
				defer wg.Done()
				_, _ = b.svc.ClaimReview(as("rita"), list[0].ID, time.Minute)
			}()
		}
		wg.Wait()
		for _, r := range list {
			b.passing("what is due happens", func() bool {
				now := b.review(r.ID)
				return !now.Status.Open() || (now.WarnAt.IsZero() || now.WarnAt.After(clock.Now())) && now.ExpiresAt.After(clock.Now())
			})
		}
	}
	for _, r := range list {
		b.ended(r.ID)
		var due []string
		for _, a := range actions(b.audit(r.ThreadID)) {
			if a != thread.AuditClaimed {
				due = append(due, a)
			}
		}
		require.Equal(t, []string{thread.AuditRequested, thread.AuditExpiring, thread.AuditEscalated, thread.AuditExpiring, thread.AuditExpired}, due)
		runs, err := b.svc.ListRuns(context.Background(), r.ThreadID, thread.RunQuery{})
		require.NoError(t, err)
		require.Len(t, runs, 2, "one run goes on, once")
	}
}

// A restart doesn't forget a deadline.
func TestADeadlineThatPassedWhileNothingRanIsCarriedOut(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	late := refund
	late.Expiry = &agent.Expiry{After: time.Hour}
	agents := []agent.Agent{claims(late)}
	b := reviewers(t, agents, withClock(clock))
	r := b.ask("claims", "alice")
	b.stop()
	clock.advance(24 * time.Hour)
	again := reviewers(t, agents, sharing(b))
	require.Equal(t, thread.ReviewExpired, again.ended(r.ID).Status)
}

// A deadline whose agent is gone is tried again, and keeps no other one from its turn.
func TestADeadlineWithoutItsAgentWaits(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	late := refund
	late.Expiry = &agent.Expiry{After: time.Hour}
	b := reviewers(t, []agent.Agent{claims(late), booking(late.Expiry)}, withClock(clock))
	r := b.ask("claims", "alice")
	other := b.ask("booking", "alice")
	b.stop()
	clock.advance(2 * time.Hour)
	without := reviewers(t, []agent.Agent{booking(late.Expiry)}, sharing(b))
	require.Equal(t, thread.ReviewExpired, without.ended(other.ID).Status)
	require.True(t, without.review(r.ID).Status.Open())
	_, err := without.svc.ReplaceAgents(context.Background(), append(without.world.graphs(), claims(late)))
	require.NoError(t, err)
	without.ended(r.ID)
}

// Another process tells of the reviews that it changes: a deadline that it has set is looked at soon, and carried
// out although that process is gone.
func TestADeadlineThatAnotherProcessHasSetIsHeardOf(t *testing.T) {
	t.Parallel()
	clock, w := newManualClock(), newWorld()
	late := refund
	late.Expiry = &agent.Expiry{After: 10 * time.Second}
	agents := []agent.Agent{claims(late)}
	other := reviewers(t, agents, withClock(clock), func(o *setupOptions) { o.world = w })
	told, looked := &toldStore{}, make(chan struct{}, 1)
	b := reviewers(t, agents, sharing(other), wrapping(func(s thread.Store) thread.Store {
		told.Store, told.looked = s, looked
		return told
	}))
	<-looked // nothing is due; it sleeps
	r := other.ask("claims", "alice")
	other.stop()
	told.subscriber.ReviewsChanged(thread.DefaultProject)
	const pause = 500 * time.Millisecond // between two looks, however many processes tell of however many reviews
	eventually(t, "it sleeps", func() bool { return clock.sleeps(pause) })
	require.Empty(t, looked)
	clock.advance(pause)
	<-looked // though its minute isn't over
	b.passing("the review ends", func() bool { return !b.review(r.ID).Status.Open() })
	b.wait(thread.Run{ThreadID: r.ThreadID, ID: b.review(r.ID).Decided.RunID})
}

// toldStore is a store that other processes work on, too, as the test says.
type toldStore struct {
	thread.Store
	subscriber thread.Subscriber
	looked     chan struct{}
}

// Subscribe implements thread.Shared.
func (s *toldStore) Subscribe(sub thread.Subscriber) thread.Subscription {
	s.subscriber = sub
	return s
}

// Watch implements thread.Subscription.
func (s *toldStore) Watch(string) {}

// Unwatch implements thread.Subscription.
func (s *toldStore) Unwatch(string) {}

// NextReviewDue implements thread.Reviews.
func (s *toldStore) NextReviewDue(ctx context.Context) (time.Time, error) {
	next, err := s.Store.NextReviewDue(ctx)
	select {
	case s.looked <- struct{}{}:
	default:
	}
	return next, err
}

package redis_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// Two replicas on one Redis: deadlines happen once, by its clock, and decisions are everybody's at once (D-95, D-103).
func TestReviewsOfServicesOnRedis(t *testing.T) {
	t.Parallel()
	type state struct {
		Got agent.Decision `json:"got"`
	}
	claims := agent.NewGraph[state]("claims").
		Node("ask", func(ctx agent.Context, _ state) (agent.Update, error) {
			d, err := agent.Review(ctx, agent.ReviewRequest{
				Reason: "Above the limit", AllowedDecisions: []string{"Approve", "Reject"},
				Expiry: &agent.Expiry{After: 3 * time.Second, Warn: 2900 * time.Millisecond, Action: agent.ExpireEscalate, Role: "team:finance"},
			})
			return agent.Set("got", d), err
		}).
		Edge(agent.Start, "ask").Edge("ask", agent.End)
	prefix := "test:" + uuid.NewString()[:8] + ":"
	var stores []*redis.Store
	var services []*thread.Service
	for range 2 {
		store := openStore(t, func(o *redis.Options) { o.Prefix = prefix })
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		stores = append(stores, store)
		s, err := thread.NewService(thread.Options{Store: store, Agents: []agent.Agent{claims}, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		require.NoError(t, s.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
		services = append(services, s)
	}
	ask := func() thread.Review {
		th, err := services[0].CreateThread(t.Context(), thread.CreateThread{})
		require.NoError(t, err)
		started, err := services[0].StartRun(t.Context(), thread.StartRun{
			ThreadID: th.ID, AssistantID: "claims", Input: json.RawMessage(`{}`), HasInput: true, Principal: "alice",
		})
		require.NoError(t, err)
		_, err = services[0].WaitRun(t.Context(), th.ID, started.Run.ID)
		require.NoError(t, err)
		list, err := services[1].ThreadReviews(t.Context(), th.ID)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	got := func(threadID string) (d agent.Decision) {
		s, err := services[0].State(t.Context(), threadID, thread.StateQuery{})
		require.NoError(t, err)
		v, ok := s.State.Value("got")
		require.True(t, ok)
		require.NoError(t, json.Unmarshal(v.JSON, &d))
		return d
	}
	decided, late := ask(), ask()

	rita := thread.WithActor(t.Context(), thread.Actor{Principal: "rita", Kind: "key"})
	started, after, err := services[1].DecideReview(rita, thread.ReviewDecision{ReviewID: decided.ID, Decision: "approve", Notes: "fine"})
	require.NoError(t, err)
	require.Equal(t, thread.ReviewDecided, after.Status)
	_, err = services[1].WaitRun(t.Context(), decided.ThreadID, started.Run.ID)
	require.NoError(t, err)
	require.Equal(t, "Approve", got(decided.ThreadID).Decision)
	require.Equal(t, "rita", got(decided.ThreadID).Reviewer)
	bob := thread.WithActor(t.Context(), thread.Actor{Principal: "bob", Kind: "key"})
	_, _, err = services[0].DecideReview(bob, thread.ReviewDecision{ReviewID: decided.ID, Decision: "approve"})
	var faster *thread.AlreadyDecidedError
	require.ErrorAs(t, err, &faster)
	require.Equal(t, "rita", faster.Answer.By)

	require.Eventually(t, func() bool {
		r, err := services[0].Review(t.Context(), late.ID)
		return err == nil && r.Status == thread.ReviewExpired
	}, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		th, err := services[0].GetThread(t.Context(), late.ThreadID)
		return err == nil && th.Status == thread.Idle
	}, time.Minute, 20*time.Millisecond)
	require.True(t, got(late.ThreadID).Expired)
	entries, err := stores[0].ThreadAudit(t.Context(), late.ThreadID)
	require.NoError(t, err)
	require.NoError(t, thread.VerifyThreadAudit(entries))
	var actions []string
	for _, e := range entries {
		var b thread.AuditBody
		require.NoError(t, json.Unmarshal(e.Body, &b))
		actions = append(actions, b.Action)
	}
	require.Equal(t, []string{
		thread.AuditRequested, thread.AuditExpiring, thread.AuditEscalated, thread.AuditExpiring, thread.AuditExpired,
	}, actions)
}

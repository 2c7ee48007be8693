package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/thread"
)

// Ten people decide on each of twenty suspensions at once, by two APIs and two replicas: each is decided once, everybody
// else is told who was faster and what they decided, and nothing runs twice (D-102, D-106).
func TestManyReviewersDecideOnce(t *testing.T) {
	t.Parallel()
	const suspensions, people = 20, 10
	w := newWorld()
	agents := []agent.Agent{office(t, w, hitl.Policy{"pay": {Decisions: hitl.All()}}, hitl.Batch, "pay")}
	b := reviewers(t, agents, func(o *setupOptions) { o.world = w })
	other := reviewers(t, agents, sharing(b))
	var list []thread.Review
	for range suspensions {
		list = append(list, b.ask("office", "alice"))
	}
	type result struct {
		who, decision string
		err           error
		run           thread.Run
	}
	results := make([][]result, suspensions)
	var wg sync.WaitGroup
	for i, r := range list {
		results[i] = make([]result, people)
		for n := range people {
			wg.Add(1)
			go func() {
				defer wg.Done()
				svc := []*thread.Service{b.svc, other.svc}[n%2]
				res := &results[i][n]
				res.who, res.decision = fmt.Sprint("reviewer-", n), []string{"approve", "reject"}[n/2%2]
				var started thread.Started
				if n%3 == 0 {
					start := resume(r.ThreadID, "office", `{"decisions":[{"type":"`+res.decision+`"}]}`)
					start.Principal = res.who
					started, res.err = svc.StartRun(as(res.who), start)
				} else {
					started, _, res.err = svc.DecideReview(as(res.who), thread.ReviewDecision{ReviewID: r.ID, Decision: res.decision})
				}
				res.run = started.Run
			}()
		}
	}
	wg.Wait()
	for i, r := range list {
		var winner *result
		for n := range results[i] {
			if res := &results[i][n]; res.err == nil {
				require.Nil(t, winner, "decided once")
				winner = res
			}
		}
		require.NotNil(t, winner)
		b.wait(winner.run)
		for _, res := range results[i] {
			var decided *thread.AlreadyDecidedError
			var refused *agent.ResumeError
			switch {
			case res.err == nil:
			case errors.As(res.err, &decided):
				require.Equal(t, winner.who, decided.Answer.By)
				require.Contains(t, string(decided.Answer.Value), winner.decision)
			default: // a plain answer that named no question
				require.ErrorAs(t, res.err, &refused)
				require.Equal(t, agent.NothingPending, refused.Code)
				var before *thread.DecidedBeforeError
				require.ErrorAs(t, res.err, &before)
				require.Equal(t, winner.who, before.Review.Decided.By)
				require.Equal(t, winner.decision, before.Review.Decided.Decision)
			}
		}
		ran := map[string]int{"approve": 1, "reject": 0}[winner.decision]
		require.Equal(t, ran, w.count("pay Ann "+r.ThreadID))
		now := b.review(r.ID)
		require.Equal(t, thread.ReviewDecided, now.Status)
		require.Equal(t, winner.who, now.Decided.By)
		require.Equal(t, winner.decision, now.Decided.Decision)
		entries, err := b.svc.ReviewStore().ThreadAudit(context.Background(), r.ThreadID)
		require.NoError(t, err)
		require.NoError(t, thread.VerifyThreadAudit(entries))
		count := map[string]int{}
		for _, e := range entries {
			var body thread.AuditBody
			require.NoError(t, json.Unmarshal(e.Body, &body))
			count[body.Action]++
		}
		require.Equal(t, 1, count[thread.AuditDecided])
		require.Equal(t, ran, count[thread.AuditExecuted])
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// Claim is the state of an agent that refunds.
type Claim struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
	Result string `json:"result"`
}

func decide(ctx agent.Context, s Claim) (agent.Update, error) {
	d, err := agent.Review(ctx, agent.ReviewRequest{
		Reason:           "The refund is above the limit.",
		Context:          map[string]any{"claim_id": s.ID, "amount": s.Amount},
		AllowedDecisions: []string{"approve", "reject"},
		Expiry:           &agent.Expiry{After: 48 * time.Hour},
	})
	switch {
	case err != nil:
		return nil, err // suspended until somebody decides
	case d.Expired:
		return agent.Set("result", "nobody decided in time"), nil
	}
	return agent.Set("result", d.Decision+" by "+d.Reviewer), nil
}

func ExampleReview() {
	g := agent.NewGraph[Claim]("refund").Node("decide", decide).Edge(agent.Start, "decide").MustCompile()
	thread := agenttest.New(g)
	if _, err := thread.Run(context.Background(), Claim{ID: "CLM-4821", Amount: 240}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(string(thread.Pending()[0].Value))
	if _, err := thread.Resume(context.Background(), json.RawMessage(`{"decision": "Approve", "reviewer_notes": "fine"}`)); err != nil {
		fmt.Println(err)
	}
	s, err := thread.State(context.Background(), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, _ := s.State.Value("result")
	fmt.Println(string(v.JSON))
	// Output:
	// {"allowed_decisions":["approve","reject"],"amount":240,"claim_id":"CLM-4821","reason":"The refund is above the limit."}
	// "approve by "
}

package server_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// D-108: reviews are listed, approved and rejected on the command line, by the same API as the page's and with the same
// entries in the audit log.
func TestReviewsAreDecidedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	reviewed := agent.NewGraph[state]("reviewed").Node("ask", func(ctx agent.Context, _ state) (agent.Update, error) {
		d, err := agent.Review(ctx, agent.ReviewRequest{Reason: "Above the limit", AllowedDecisions: []string{"Approve", "Reject"}})
		return agent.Values{"answer": d.Decision}, err
	}).Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile()
	k := serveKeyed(t, server.Options{Agents: append(testAgents(), reviewed)})
	starter, owner := k.holder("default", "alice", "operator"), k.holder("default", "olga", "owner")
	_, rita := k.make(apikeys.Request{Name: "rita", Roles: []string{"reviewer"}})
	page := k.as(bearer(rita))
	parley := func(args ...string) (out string, err error) {
		var stdout, stderr bytes.Buffer
		cmd := childCommand(t, []string{"PARLEY_BASE_URL=" + k.url, "PARLEY_API_KEY=" + rita}, args...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		return stdout.String() + stderr.String(), err
	}
	review := func() string {
		threadID := starter.thread()
		starter.post("/threads/"+threadID+"/runs/wait", `{"assistant_id":"reviewed","input":{}}`).ok()
		list := page.get("/api/v1/projects/default/reviews?thread_id=" + threadID).ok().json()["reviews"].([]any)
		require.Len(t, list, 1)
		return list[0].(map[string]any)["review_id"].(string)
	}
	entry := func(id string) map[string]any {
		list := owner.get("/api/v1/projects/default/audit?action=review.decided&review_id=" + id).ok().json()["entries"].([]any)
		require.Len(t, list, 1)
		body := list[0].(map[string]any)["body"].(map[string]any)
		for _, of := range []string{"review_id", "interrupt_id", "run_id", "execution_id"} {
			require.NotEmpty(t, body[of])
			delete(body, of)
		}
		return body
	}
	byPage, approved, rejected := review(), review(), review()
	out, err := parley("reviews", "list", "--json")
	require.NoError(t, err, out)
	var listed []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &listed))
	require.Len(t, listed, 3)

	page.post("/api/v1/projects/default/reviews/"+byPage+"/decide", `{"decision":"approve","reviewer_notes":"known"}`).ok()
	out, err = parley("reviews", "approve", approved, "--notes", "known")
	require.NoError(t, err, out)
	require.Equal(t, entry(byPage), entry(approved))
	out, err = parley("reviews", "reject", rejected, "--notes", "unknown")
	require.NoError(t, err, out)
	require.Equal(t, []any{"Reject", "unknown"}, []any{entry(rejected)["decision"], entry(rejected)["notes"]})
	require.Equal(t, "rita", entry(rejected)["actor"].(map[string]any)["principal"])

	out, err = parley("reviews", "approve", rejected)
	require.Error(t, err)
	require.Contains(t, out, "rita", "who was faster")
	out, err = parley("reviews", "list")
	require.NoError(t, err, out)
	require.Contains(t, out, "No pending reviews.")
}

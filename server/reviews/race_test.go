package reviews_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// dialect is one of the APIs by which a review can be decided. It returns whether the decision was
// accepted, and else who had decided what.
type dialect struct {
	name   string
	decide func(c *client, r object, approve bool) (accepted bool, by, decision string)
}

// word is the decision, which agents take in any casing.
func word(approve bool) string {
	if approve {
		return "approve"
	}
	return "reject"
}

// wire is the decision as the question's answer.
func wire(r object, approve bool) json.RawMessage {
	d := word(approve)
	if r["kind"] == "tool_calls" {
		return json.RawMessage(`{"decisions":[{"type":"` + d + `"}]}`)
	}
	return json.RawMessage(`{"decision":"` + d + `"}`)
}

// decided is the word that an answer as it was stored decides.
func decided(t *testing.T, answer any) string {
	t.Helper()
	b, err := json.Marshal(answer)
	require.NoError(t, err)
	switch text := strings.ToLower(string(b)); {
	case strings.Contains(text, "approve"):
		return "approve"
	case strings.Contains(text, "reject"):
		return "reject"
	}
	require.Fail(t, "no decision in", string(b))
	return ""
}

var dialects = []dialect{
	{"classic", func(c *client, r object, approve bool) (bool, string, string) {
		a := c.do(http.MethodPost, "/threads/"+r.text("thread_id")+"/runs",
			fmt.Sprintf(`{"assistant_id":%q,"command":{"resume":{%q:%s}}}`, r.text("agent"), r.text("interrupt_id"), wire(r, approve)))
		if a.status == http.StatusOK {
			return true, "", ""
		}
		o := a.is(http.StatusConflict).json()
		require.Equal(c.t, "already_decided", o["error"], a.body)
		require.NotEmpty(c.t, o["at"])
		return false, o.text("by"), decided(c.t, o["decision"])
	}},
	{"v2", func(c *client, r object, approve bool) (bool, string, string) {
		o := c.do(http.MethodPost, "/threads/"+r.text("thread_id")+"/commands",
			fmt.Sprintf(`{"id":7,"method":"input.respond","params":{"interrupt_id":%q,"response":%s}}`, r.text("interrupt_id"), wire(r, approve))).ok()
		if o["type"] == "success" {
			return true, "", ""
		}
		require.Equal(c.t, "no_such_interrupt", o["error"], o)
		require.NotEmpty(c.t, o.at("meta")["at"], o)
		return false, o.at("meta").text("by"), decided(c.t, o.at("meta")["decision"])
	}},
	{"executions", func(c *client, r object, approve bool) (bool, string, string) {
		a := c.post("/executions/"+r.text("execution_id")+"/resume?workspace_id=default", fmt.Sprintf(`{"decision":%q}`, word(approve)))
		if a.status == http.StatusOK {
			return true, "", ""
		}
		o := a.is(http.StatusConflict).json().at("decided")
		require.NotEmpty(c.t, o["at"], a.body)
		return false, o.text("by"), decided(c.t, o["decision"])
	}},
	{"reviews", func(c *client, r object, approve bool) (bool, string, string) {
		a := c.post("/reviews/"+r.text("review_id")+"/decide", fmt.Sprintf(`{"decision":%q}`, word(approve)))
		if a.status == http.StatusOK {
			return true, "", ""
		}
		o := a.code(http.StatusConflict, "ALREADY_DECIDED")
		require.NotEmpty(c.t, o["at"])
		return false, o.text("by"), decided(c.t, o["decision"])
	}},
}

// Two hundred decisions at once, by ten reviewers and four APIs, on twenty suspensions: each is decided once, all others
// are told who decided what, nothing is executed twice, and the audit log says the same.
func TestTwoHundredDecisionsOnTwentySuspensions(t *testing.T) {
	t.Parallel()
	const suspensions, reviewers = 20, 10
	on(t, func(t *testing.T, w *world) {
		op, owner := w.person("op", auth.RoleOperator), w.person("owner", auth.RoleOwner)
		var people []*client
		for i := range reviewers {
			people = append(people, w.person(fmt.Sprint("reviewer-", i), auth.RoleReviewer))
		}
		var open []object
		for i := range suspensions {
			agent, message := "refund", "Refund"
			if i%2 == 1 {
				agent, message = "clerk", "pay Ann"
			}
			_, id := op.at(i).question(agent, message)
			open = append(open, owner.get("/reviews/"+id).ok())
		}
		type attempt struct {
			person, dialect string
			approve, ok     bool
			by, decision    string
		}
		all := make([][]attempt, suspensions)
		var start, done sync.WaitGroup
		start.Add(1)
		for i, r := range open {
			all[i] = make([]attempt, reviewers)
			for j, person := range people {
				done.Go(func() {
					start.Wait()
					d, approve := dialects[(i+j)%len(dialects)], j%2 == 0
					a := attempt{person: person.name, dialect: d.name, approve: approve}
					a.ok, a.by, a.decision = d.decide(person.at(j), r, approve)
					all[i][j] = a
				})
			}
		}
		start.Done()
		done.Wait()
		won := map[string]int{}
		for i, r := range open {
			var winner attempt
			for _, a := range all[i] {
				if a.ok {
					require.Empty(t, winner.person, "%s and %s were both accepted on %s", winner.person, a.person, r["agent"])
					winner = a
				}
			}
			require.NotEmpty(t, winner.person, "somebody was accepted")
			won[winner.dialect]++
			decision := word(winner.approve)
			for _, a := range all[i] {
				if !a.ok {
					require.Equal(t, winner.person, a.by, "%s is told who, by %s", a.person, a.dialect)
					require.Equal(t, decision, a.decision, "and what")
				}
			}
			threadID := r.text("thread_id")
			op.idle(threadID)
			approved, rejected := w.effects.count("Approve "+threadID)+w.effects.count("pay Ann "+threadID), w.effects.count("Reject "+threadID)
			if winner.approve {
				require.Equal(t, 1, approved)
				require.Zero(t, rejected)
			} else {
				require.Zero(t, approved)
				require.LessOrEqual(t, rejected, 1)
			}
			got := owner.at(i).get("/reviews/" + r.text("review_id")).ok()
			require.Equal(t, "decided", got["status"])
			require.Equal(t, winner.person, got.at("decided")["by"])
			require.Equal(t, decision, strings.ToLower(got.at("decided").text("decision")))
			runs, err := w.servers[0].Service().ListRuns(t.Context(), threadID, everyRun)
			require.NoError(t, err)
			require.Len(t, runs, 2, "one that asked, one that went on")
			log := owner.at(i).get("/audit?order=asc&action=review.decided,review.requested&thread_id=" + threadID).ok().list("entries")
			require.Equal(t, []string{"review.requested", "review.decided"}, actions(log))
			require.Equal(t, winner.person, log[1]["principal"])
			require.Equal(t, winner.dialect, log[1].at("body").at("actor")["via"])
		}
		t.Logf("accepted by dialect: %v", won)
		for i := range w.urls {
			report := owner.at(i).get("/audit/verify").ok()
			require.Equal(t, true, report["valid"], report)
			require.EqualValues(t, suspensions, report["threads"])
		}
		verified(t, jsonLines(t, owner.get("/audit/export").is(http.StatusOK).body))
	})
}

var everyRun = thread.RunQuery{Limit: 100}

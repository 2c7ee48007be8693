package reviews_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// D-95, D-104: a deadline ends a review by itself, with the default refusal; the suspended run goes on, and
// nobody is said to have refused.
func TestADeadlineReleasesTheRunWithoutAReviewer(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, ann, _ := w.staff()
		threadID, id := op.question("hurry", "Refund")
		require.Equal(t, "reject", ann.get("/reviews/" + id).ok()["on_expiry"])
		answer := op.idle(threadID).at("answer")
		require.Equal(t, true, answer["expired"])
		require.Equal(t, "Nobody was there.", answer["notes"])
		require.NotContains(t, answer, "reviewer")
		require.Equal(t, 1, w.effects.count("expired "+threadID))
		r := ann.at(1).get("/reviews/" + id).ok()
		require.Equal(t, "expired", r["status"], "an outcome of its own")
		require.Nil(t, r.at("decided")["by"])
		require.Equal(t, "expired", r.at("decided")["decision"])
		require.Equal(t, []string{id}, ids(ann.get("/reviews?status=expired").ok()))
		for _, late := range []string{`{"decision":"approve"}`, `{"decision":"reject"}`} {
			e := ann.post("/reviews/"+id+"/decide", late).is(http.StatusConflict).json()
			require.Nil(t, e["by"], e)
			require.Equal(t, "expired", e["decision"], e)
			require.Equal(t, "expired", e["status"], e)
		}
		list := owner.get("/audit?order=asc&thread_id=" + threadID + "&action=review.expired,review.decided").ok().list("entries")
		require.Equal(t, []string{"review.expired"}, actions(list))
		require.Equal(t, "system", list[0].at("body").at("actor")["kind"])
		require.Equal(t, "deadline", list[0].at("body").at("actor")["via"])
		require.NotContains(t, list[0].at("body").at("actor"), "principal")
	})
}

// D-96: without a deadline it waits for ever; with one there is a warning before it, and reviewers can put it off.
func TestDeadlinesAreShownWarnedOfAndPutOff(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, ann, bob := w.staff()
		_, never := op.question("refund", "Refund")
		require.Nil(t, ann.get("/reviews/" + never).ok()["expires_at"])
		ann.post("/reviews/"+never+"/extend", `{"by":"1h"}`).is(http.StatusBadRequest)
		_, id := op.question("patient", "Refund")
		path := "/reviews/" + id
		before, err := time.Parse(time.RFC3339, ann.get(path).ok().text("expires_at"))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(time.Hour), before, time.Minute)
		after, err := time.Parse(time.RFC3339, bob.at(1).post(path+"/extend", `{"by":"2h"}`).ok().text("expires_at"))
		require.NoError(t, err)
		require.Equal(t, 2*time.Hour, after.Sub(before))
		until := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
		require.Equal(t, until.Format("2006-01-02T15:04:05.000Z"), ann.post(path+"/extend", `{"until":"`+until.Format(time.RFC3339)+`"}`).ok()["expires_at"])
		for body, field := range map[string]string{
			`{}`: "by", `{"by":"1h","until":"2030-01-01T00:00:00Z"}`: "by", `{"by":-5}`: "by", `{"until":"tomorrow"}`: "until",
			`{"until":"2020-01-01T00:00:00Z"}`: "until", `{"until":"2500-01-01T00:00:00Z"}`: "until", `{"for":1}`: "for",
		} {
			ann.post(path+"/extend", body).field(http.StatusBadRequest, field)
		}
		op.post(path+"/extend", `{"by":"1h"}`).is(http.StatusForbidden)

		threadID, soon := op.question("hurry", "Refund")
		op.idle(threadID)
		require.Equal(t, []string{"review.requested", "review.expiring", "review.expired"},
			actions(owner.get("/audit?order=asc&review_id="+soon).ok().list("entries")))
		_, extended := op.question("hurry", "Refund")
		ann.post("/reviews/"+extended+"/extend", `{"by":"1h"}`).ok()
		ann.until("its first deadline has passed", func() bool {
			return ann.get("/reviews/" + extended).ok()["waiting_seconds"].(float64) >= 2
		})
		require.Equal(t, "pending", ann.get("/reviews/" + extended).ok()["status"])
		ann.post("/reviews/"+extended+"/decide", `{"decision":"approve"}`).ok()
	})
}

// At its first deadline a review may go to others; only they, and owners, decide then.
func TestEscalation(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, owner, ann, _ := w.staff()
	chief, other := w.person("chief", "reviewer:escalating"), w.person("other", "reviewer:refund")
	threadID, id := op.question("escalating", "Refund")
	ann.until("it is escalated", func() bool { return ann.get("/reviews/" + id).ok()["escalations"] == float64(1) })
	r := chief.get("/reviews/" + id).ok()
	require.Equal(t, "reviewer:escalating", r["role"])
	require.Equal(t, true, r["may_decide"])
	other.get("/reviews/" + id).is(http.StatusNotFound)
	chief.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok()
	op.idle(threadID)
	require.Contains(t, actions(owner.get("/audit?order=asc&review_id="+id).ok().list("entries")), "review.escalated")
}

// D-101: an approval is for what was shown. Who approves one thing and changes it in the same breath doesn't get the other.
func TestAnApprovalIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	threadID, id := op.question("clerk", "pay Ann")
	state := op.do(http.MethodGet, "/threads/"+threadID+"/state", "").ok().at("values")
	messageID := state.list("messages")[1].text("id")
	got := ann.post("/reviews/"+id+"/decide", `{"decision":"approve","update":{"messages":[{"type":"ai","id":"`+messageID+`","content":"",
		"tool_calls":[{"id":"call_a","name":"pay","args":{"to":"Eve"},"type":"tool_call"}]}]}}`)
	if got.status == http.StatusOK {
		op.until("it stops", func() bool { return op.do(http.MethodGet, "/threads/"+threadID, "").ok()["status"] != "busy" })
	}
	require.Zero(t, w.effects.count("pay Eve "+threadID), "nobody was asked about Eve")
	digest := ann.get("/reviews/" + id).ok().text("digest")
	_, same := op.question("clerk", "pay Zoe")
	require.NotEqual(t, digest, ann.get("/reviews/" + same).ok()["digest"])
}

// D-102: who decides is who was authenticated; who asked doesn't decide, and programs never do, by no API.
func TestNobodyForgesAReviewer(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		both := w.person("both", auth.RoleOperator, auth.RoleReviewer)
		bot := w.holder(keys.Request{Name: "bot", Roles: []string{auth.RoleOwner}, Agent: true})
		_, owner, ann, _ := w.staff()
		threadID, id := both.question("refund", "Refund")
		interrupt := ann.get("/reviews/" + id).ok().text("interrupt_id")
		for _, body := range []string{
			`{"decision":"approve","reviewer":"bob"}`, `{"decision":"approve","by":"bob"}`, `{"decision":"approve","decided_by":"bob"}`,
		} {
			ann.post("/reviews/"+id+"/decide", body).code(http.StatusBadRequest, "UNKNOWN_ATTRIBUTE")
		}
		both.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).code(http.StatusForbidden, "SELF_APPROVAL")
		both.post("/reviews/"+id+"/claim", "").code(http.StatusForbidden, "SELF_APPROVAL")
		bot.at(1).post("/reviews/"+id+"/decide", `{"decision":"approve"}`).code(http.StatusForbidden, "AGENT_CANNOT_DECIDE")
		bot.post("/keys", `{"name":"human","roles":["owner"]}`).is(http.StatusForbidden)
		for _, c := range []*client{both, bot} {
			for path, body := range map[string]string{
				"/runs":      `{"assistant_id":"refund","command":{"resume":{"` + interrupt + `":{"decision":"Approve"}}}}`,
				"/runs/wait": `{"assistant_id":"refund","command":{"resume":{"decision":"Approve"}}}`,
				"/commands":  `{"id":1,"method":"input.respond","params":{"interrupt_id":"` + interrupt + `","response":{"decision":"Approve"}}}`,
			} {
				c.do(http.MethodPost, "/threads/"+threadID+path, body).is(http.StatusForbidden)
			}
		}
		require.Equal(t, "pending", ann.get("/reviews/" + id).ok()["status"])
		ann.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok()
		refused := owner.get("/audit?action=review.refused&principal=both").ok().list("entries")
		require.NotEmpty(t, refused, "and the attempts are in the log")
		require.Equal(t, "forbidden", refused[0].at("body")["cause"])
	})
}

// D-103: between the deadline and whoever carries it out, nothing can be approved: the store's clock decides.
func TestNothingIsApprovedBehindItsDeadline(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	store, err := local.Open(t.Context(), local.Options{
		Ephemeral: true, Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	require.NoError(t, err)
	w := empty(t)
	w.start(server.Options{Store: store}, nil)
	op, _, ann, _ := w.staff()
	threadID, id := op.question("patient", "Refund")
	interrupt := ann.get("/reviews/" + id).ok().text("interrupt_id")
	ahead.Store(int64(2 * time.Hour)) // nobody looks at deadlines before an hour has gone by here
	ann.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).code(http.StatusConflict, "REVIEW_EXPIRED")
	ann.post("/reviews/"+id+"/claim", "").code(http.StatusConflict, "REVIEW_EXPIRED")
	ann.post("/reviews/"+id+"/extend", `{"by":"9h"}`).code(http.StatusConflict, "REVIEW_EXPIRED")
	got := ann.do(http.MethodPost, "/threads/"+threadID+"/runs", `{"assistant_id":"patient","command":{"resume":{"`+interrupt+`":{"decision":"Approve"}}}}`)
	require.Equal(t, "review_expired", got.is(http.StatusConflict).json()["error"])
	got = ann.do(http.MethodPost, "/threads/"+threadID+"/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"`+interrupt+`","response":{"decision":"Approve"}}}`)
	require.Equal(t, "no_such_interrupt", got.ok()["error"])
	require.NotEmpty(t, got.json().at("meta")["expired_at"])
	execution := ann.get("/reviews/" + id).ok().text("execution_id")
	ann.post("/executions/"+execution+"/resume?workspace_id=default", `{"decision":"approve"}`).code(http.StatusConflict, "REVIEW_EXPIRED")
	require.Zero(t, w.effects.count("Approve "+threadID))
	require.Equal(t, "interrupted", op.do(http.MethodGet, "/threads/"+threadID, "").ok()["status"])
}

// unwilling is a store that takes no runs, or takes them without saying so.
type unwilling struct {
	*local.Store
	refuse atomic.Pointer[error]
	after  bool // the transition stands all the same
}

func (u *unwilling) AdmitRun(ctx context.Context, a thread.Admission) (thread.Admitted, error) {
	refuse := u.refuse.Load()
	if refuse != nil && !u.after {
		return thread.Admitted{}, *refuse
	}
	admitted, err := u.Store.AdmitRun(ctx, a)
	if refuse != nil && err == nil {
		err = *refuse
	}
	return admitted, err
}

// D-106: 200 comes after the durable commit, and not without it; what stands unconfirmed is found by the repeat.
func TestADecisionIsAcknowledgedOnceItIsStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		after bool
		code  string
	}{
		"store away":  {thread.ErrUnavailable, false, "UNAVAILABLE"},
		"unconfirmed": {thread.ErrUnconfirmed, true, "UNCONFIRMED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := local.Open(t.Context(), local.Options{Ephemeral: true})
			require.NoError(t, err)
			store := &unwilling{Store: s, after: c.after}
			w := empty(t)
			w.start(server.Options{Store: store}, nil)
			op, _, ann, _ := w.staff()
			threadID, id := op.question("refund", "Refund")
			fault := fmt.Errorf("disk: %w", c.err)
			store.refuse.Store(&fault)
			a := ann.post("/reviews/"+id+"/decide", `{"decision":"approve"}`)
			a.code(http.StatusServiceUnavailable, c.code)
			require.NotEmpty(t, a.header.Get("Retry-After"))
			if !c.after {
				require.Equal(t, "pending", ann.get("/reviews/" + id).ok()["status"])
				require.Zero(t, w.effects.count("Approve "+threadID))
			}
			store.refuse.Store(nil)
			require.Equal(t, "ann", ann.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok().at("decided")["by"])
			op.idle(threadID)
			require.Equal(t, 1, w.effects.count("Approve "+threadID))
		})
	}
}

package reviews_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
)

// ids are those of a page, in its order.
func ids(o object) []string {
	list := []string{}
	for _, r := range o.list("reviews") {
		list = append(list, r.text("review_id"))
	}
	return list
}

// A review has everything that decisions 20 names, and nothing of it is cut off (D-105).
func TestAReviewIsCompleteOnTheWire(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, _ := w.staff()
		long := strings.Repeat("Ann & <Bob> \u2028", 4_000) // far beyond any preview
		threadID, id := op.question("clerk", "pay "+long+", mail Bob")
		r := ann.at(1).get("/reviews/" + id).ok()
		require.Equal(t, id, r["review_id"])
		require.Equal(t, threadID, r["thread_id"])
		require.Equal(t, thread.ReviewID(threadID, r.text("interrupt_id"), int64(r["generation"].(float64))), id)
		require.Equal(t, r["run_id"], r["execution_id"])
		require.Equal(t, "clerk", r["agent"])
		require.Equal(t, "pay", r["tool"])
		require.Equal(t, []any{"pay", "mail"}, r["tools"])
		require.Equal(t, "tool_calls", r["kind"])
		require.Equal(t, "pending", r["status"])
		require.Equal(t, "op", r["requester"])
		require.Len(t, r["digest"], 64)
		require.EqualValues(t, 1, r["generation"])
		for _, null := range []string{"assignee", "claimed_until", "expires_at", "on_expiry", "decided", "role", "refusal", "link"} {
			require.Contains(t, r, null)
			require.Nil(t, r[null], null)
		}
		require.Equal(t, []any{}, r["comments"])
		require.NotNil(t, r["payload"])
		require.NotNil(t, r["response_schema"])
		require.Contains(t, r, "namespace")
		require.Equal(t, "pay "+long+", mail Bob", r["message"], "the original message")
		require.Equal(t, long, r.list("actions")[0].at("args")["to"], "complete arguments")
		require.Equal(t, long, r.at("suspend_context").list("action_requests")[0].at("args")["to"])
		require.NotEmpty(t, r["suspend_reason"])
		require.NotNil(t, r.at("input")["messages"])
		require.Less(t, r["waiting_seconds"], float64(60))
		require.GreaterOrEqual(t, r["waiting_seconds"], float64(0))
		require.Equal(t, true, r["may_decide"])
		_, err := time.Parse("2006-01-02T15:04:05.000Z", r.text("created_at"))
		require.NoError(t, err)

		listed := ann.get("/reviews").ok().list("reviews")
		require.Len(t, listed, 1)
		delete(r, "input")
		delete(r, "waiting_seconds")
		delete(listed[0], "waiting_seconds")
		require.Equal(t, r, listed[0], "the list has the same form")
		require.Equal(t, "You started the run that asks: somebody else has to decide (the server's flag --self-approval allows it).",
			w.person("op", auth.RoleOwner).get("/reviews/" + id).ok()["refusal"])
		require.Equal(t, false, op.get("/reviews/" + id).ok()["may_decide"])
	})
}

// The inbox over all threads: filters, paging, and who has what (D-97).
func TestTheInbox(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, bob := w.staff()
		_, pay := op.question("clerk", "pay Zoe")
		_, mail := op.question("clerk", "mail Yan")
		_, refund := op.question("refund", "Order 98765")
		_, plain := op.question("plain", "Something")
		_, late := op.question("patient", "Later")
		ann.post("/reviews/"+refund+"/claim", "").ok()
		ann.post("/reviews/"+plain+"/decide", `{"decision":"yes"}`).ok()
		open := []string{pay, mail, refund, late}
		for query, want := range map[string][]string{
			"":                              append(slices.Clone(open), plain),
			"status=open":                   open,
			"status=pending":                {pay, mail, late},
			"status=claimed":                {refund},
			"status=decided":                {plain},
			"status=decided&status=claimed": {refund, plain},
			"status=claimed,decided":        {refund, plain},
			"status=expired":                {},
			"agent=clerk":                   {pay, mail},
			"agent=clerk&tool=mail":         {mail},
			"tool=pay":                      {pay},
			"assignee=ann&status=open":      {refund},
			"assignee=bob":                  {},
			"q=zoe":                         {pay},
			"q=order+98765":                 {refund},
			"q=nothing+of+that":             {},
			"min_age=0":                     append(slices.Clone(open), plain),
			"min_age=1h":                    {},
			"min_age=3600":                  {},
			"workspace_id=default":          append(slices.Clone(open), plain),
			"workspace_id=other":            {},
		} {
			require.Equal(t, want, ids(bob.at(1).get("/reviews?"+query).ok()), query)
		}
		require.Equal(t, []string{refund}, ids(ann.get("/reviews?assignee=me&status=open").ok()))
		require.Equal(t, []string{}, ids(bob.get("/reviews?assignee=me").ok()))
		execution := bob.get("/reviews/" + mail).ok().text("execution_id")
		require.Equal(t, []string{mail}, ids(bob.get("/reviews?execution_id="+execution).ok()))
		of := bob.get("/reviews/" + mail).ok().text("thread_id")
		require.Equal(t, []string{mail}, ids(bob.get("/reviews?thread_id="+of).ok()))
		require.Equal(t, []string{mail}, ids(bob.get("/reviews?status=open&thread_id="+strings.ToUpper(of)).ok()))
		require.Equal(t, []string{}, ids(bob.get("/reviews?agent=refund&thread_id="+of).ok()))
		require.Equal(t, []string{}, ids(bob.get("/reviews?thread_id=none").ok()))

		var paged []string
		for cursor := ""; ; {
			page := bob.get("/reviews?limit=2&cursor=" + url.QueryEscape(cursor)).ok()
			require.LessOrEqual(t, len(page.list("reviews")), 2)
			paged = append(paged, ids(page)...)
			if page["next_cursor"] == nil {
				break
			}
			cursor = page.text("next_cursor")
			if len(paged) == 2 { // what changes in between moves nothing
				bob.post("/reviews/"+mail+"/comments", `{"text":"hm"}`).ok()
			}
		}
		require.Equal(t, append(slices.Clone(open), plain), paged)
		for query, field := range map[string]string{
			"status=nonsense": "status", "limit=0": "limit", "limit=x": "limit", "limit=100000": "limit", "min_age=-1": "min_age",
			"min_age=soon": "min_age", "min_age=NaN": "min_age", "cursor=nonsense": "cursor",
		} {
			bob.get("/reviews?"+query).field(http.StatusBadRequest, field)
		}
		require.NotNil(t, bob.get("/reviews/" + late).ok()["expires_at"], "the deadline is in the card and the list (D-96)")
	})
}

// Claims are leases: others see them, can't decide meanwhile, and get the review when they are over.
func TestClaims(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, ann, bob := w.staff()
		threadID, id := op.question("refund", "Refund")
		path := "/reviews/" + id
		got := ann.post(path+"/claim", `{"for":"1h"}`).ok()
		require.Equal(t, "claimed", got["status"])
		require.Equal(t, "ann", got["assignee"])
		until, err := time.Parse(time.RFC3339, got.text("claimed_until"))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(time.Hour), until, time.Minute)
		for _, act := range []func() answer{
			func() answer { return bob.at(1).post(path+"/claim", "") },
			func() answer { return bob.at(1).post(path+"/release", "") },
			func() answer { return bob.at(1).post(path+"/decide", `{"decision":"approve"}`) },
			func() answer { return owner.post(path+"/decide", `{"decision":"approve"}`) },
		} {
			e := act().code(http.StatusConflict, "REVIEW_CLAIMED")
			require.Equal(t, "ann", e["assignee"])
		}
		op.post(path+"/claim", "").is(http.StatusForbidden)
		for body, field := range map[string]string{`{"for":0}`: "for", `{"for":"long"}`: "for", `{"for":"25h"}`: "for", `{"to":"bob"}`: "to"} {
			ann.post(path+"/claim", body).field(http.StatusBadRequest, field)
		}
		require.Equal(t, "pending", ann.post(path+"/release", "").ok()["status"])
		require.Equal(t, "pending", ann.post(path+"/release", "").ok()["status"], "releasing nothing is harmless")
		bob.at(1).post(path+"/claim", `{"for":0.3}`).ok()
		ann.until("the claim lapses", func() bool { return ann.get(path).ok()["assignee"] == nil })
		ann.post(path+"/claim", "").ok()
		ann.post(path+"/decide", `{"decision":"reject"}`).ok()
		require.Equal(t, "ann", ann.get(path).ok()["assignee"], "an ended one keeps who had it")
		op.idle(threadID)
		require.Equal(t, 1, w.effects.count("Reject "+threadID))
	})
}

// What reviewers say to each other stays with the review.
func TestComments(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, owner, ann, bob := w.staff()
	_, id := op.question("refund", "Refund")
	ann.post("/reviews/"+id+"/comments", `{"text":"Who knows this customer?"}`).ok()
	got := bob.post("/reviews/"+id+"/comments", `{"text":"=I do"}`).ok()
	require.Len(t, got.list("comments"), 2)
	require.Equal(t, "ann", got.list("comments")[0]["by"])
	require.Equal(t, "=I do", got.list("comments")[1]["text"])
	require.NotEmpty(t, got.list("comments")[1]["at"])
	ann.post("/reviews/"+id+"/comments", `{"text":""}`).field(http.StatusBadRequest, "text")
	ann.post("/reviews/"+id+"/comments", `{"text":7}`).field(http.StatusBadRequest, "text")
	ann.post("/reviews/"+id+"/comments", `{"text":"`+strings.Repeat("x", thread.LongestComment+1)+`"}`).field(http.StatusBadRequest, "text")
	ann.post("/reviews/"+id+"/comments", `{"text":"x","by":"bob"}`).field(http.StatusBadRequest, "by") // D-102
	require.Len(t, owner.get("/audit?action=review.commented").ok().list("entries"), 2)
}

// Reviewers who are bound to agents or tools see and decide theirs alone; viewers see all and decide nothing.
func TestReviewersSeeTheirs(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, _, _ := w.staff()
	_, pay := op.question("clerk", "pay Ann")
	_, both := op.question("clerk", "pay Ann, mail Bob")
	_, refund := op.question("refund", "Refund")
	for name, c := range map[string]struct {
		roles []string
		want  []string
	}{
		"of a tool":         {[]string{"reviewer:clerk/pay"}, []string{pay}},
		"of both tools":     {[]string{"reviewer:clerk/pay", "reviewer:clerk/mail"}, []string{pay, both}},
		"of an agent":       {[]string{"reviewer:clerk"}, []string{pay, both}},
		"of another":        {[]string{"reviewer:other"}, []string{}},
		"of all":            {[]string{"reviewer"}, []string{pay, both, refund}},
		"viewer":            {[]string{"viewer"}, []string{pay, both, refund}},
		"tool, and viewer":  {[]string{"reviewer:clerk/pay", "viewer"}, []string{pay, both, refund}},
		"owner of it all":   {[]string{"owner"}, []string{pay, both, refund}},
		"agent, and refund": {[]string{"reviewer:refund", "reviewer:clerk"}, []string{pay, both, refund}},
	} {
		reader := w.person(name, c.roles...)
		require.Equal(t, c.want, ids(reader.get("/reviews").ok()), name)
		for _, id := range []string{pay, both, refund} {
			seen := slices.Contains(c.want, id)
			if !seen {
				reader.get("/reviews/"+id).code(http.StatusNotFound, "REVIEW_NOT_FOUND")
			}
			if name == "viewer" || !seen {
				got := reader.post("/reviews/"+id+"/decide", `{"decision":"approve"}`)
				require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, got.status, name)
			}
		}
	}
	both2 := w.person("pays and looks", "reviewer:clerk/pay", "viewer")
	both2.post("/reviews/"+both+"/decide", `{"decision":"approve"}`).code(http.StatusForbidden, "NOT_A_REVIEWER")
	w.person("payer", "reviewer:clerk/pay").post("/reviews/"+pay+"/decide", `{"decision":"approve"}`).ok()
}

// A project's reviews are nobody else's, and a workspace's only those of its holders.
func TestProjectsAndWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	w := single(t)
	holder := func(name, project, workspace string, roles ...string) *client {
		return w.holder(keys.Request{Name: name, Project: project, Workspace: workspace, Roles: roles})
	}
	op := holder("op", "acme", "claims", auth.RoleOperator)
	_, id := op.question("refund", "Refund")
	inside := []*client{holder("a", "acme", "", auth.RoleReviewer), holder("b", "acme", "claims", auth.RoleReviewer)}
	outside := []*client{
		holder("c", "acme", "other", auth.RoleOwner), holder("d", "", "", auth.RoleOwner), holder("e", "acme2", "", auth.RoleOwner),
	}
	for _, c := range outside {
		require.Empty(t, ids(c.get("/reviews").ok()))
		for _, path := range []string{"", "/decide", "/claim", "/release", "/extend", "/comments"} {
			method := http.MethodPost
			if path == "" {
				method = http.MethodGet
			}
			for _, base := range []string{c.base, "/api/v1/projects/acme"} {
				c.do(method, base+"/reviews/"+id+path, `{}`).is(http.StatusNotFound)
			}
		}
	}
	for _, path := range []string{"/reviews", "/reviews/stream", "/audit", "/audit/export", "/audit/verify", "/deliveries?dead=1"} {
		outside[1].do(http.MethodGet, "/api/v1/projects/acme"+path, "").is(http.StatusNotFound)
	}
	for _, path := range []string{"/audit", "/audit/export", "/audit/verify"} {
		outside[0].get(path).code(http.StatusForbidden, "BOUND_TO_WORKSPACE")
	}
	for _, c := range inside {
		require.Equal(t, []string{id}, ids(c.get("/reviews").ok()))
		require.Equal(t, "acme", c.get("/reviews/" + id).ok()["project_id"])
	}
	inside[1].post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok()
}

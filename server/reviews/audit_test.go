package reviews_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
)

// actions are what entries are about, in their order.
func actions(list []object) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.text("action")
	}
	return out
}

// Who decided what, when, and on which content (D-98).
func TestTheAuditLogSaysWhoDecidedWhatOnWhichContent(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, ann, bob := w.staff()
		threadID, id := op.question("refund", "Refund <b>&</b>")
		shown := ann.get("/reviews/" + id).ok()
		ann.post("/reviews/"+id+"/claim", "").ok()
		bob.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).is(http.StatusConflict)
		ann.with("X-Request-Id", "req-1").post("/reviews/"+id+"/decide", `{"decision":"approve","reviewer_notes":"I know her"}`).ok()
		op.idle(threadID)
		list := owner.at(1).get("/audit?order=asc&thread_id=" + threadID).ok().list("entries")
		require.Equal(t, []string{"review.requested", "review.claimed", "review.refused", "review.decided"}, actions(list))
		decided := list[3]
		require.Equal(t, "ann", decided["principal"])
		require.Equal(t, id, decided["review_id"])
		require.Equal(t, shown["execution_id"], decided["execution_id"])
		require.Equal(t, "refund", decided["agent"])
		require.Equal(t, "Approve", decided["decision"])
		b := decided.at("body")
		require.Equal(t, "I know her", b["notes"])
		require.Equal(t, shown["digest"], b["digest"])
		require.Equal(t, shown["payload"], b["shown"])
		require.Equal(t, shown["generation"], b["generation"])
		require.Equal(t, "key", b.at("actor")["kind"])
		require.Equal(t, []any{"reviewer"}, b.at("actor")["roles"])
		require.Equal(t, "req-1", b.at("actor")["request_id"])
		require.Equal(t, "reviews", b.at("actor")["via"])
		require.Equal(t, "127.0.0.1", b.at("actor")["address"])
		require.Equal(t, "bob", list[2]["principal"], "also who was refused")
		require.Equal(t, "claimed", list[2].at("body")["cause"])
	})
}

// Filters, both orders, and paging while the log grows.
func TestTheAuditLogIsSearched(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, ann, bob := w.staff()
		one, first := op.question("refund", "1")
		two, second := op.question("plain", "2")
		ann.post("/reviews/"+first+"/decide", `{"decision":"approve"}`).ok()
		bob.post("/reviews/"+second+"/decide", `{"decision":"no"}`).ok()
		op.idle(one)
		op.idle(two)
		all := owner.get("/audit?order=asc&limit=200").ok().list("entries")
		at := func(of, action string) string {
			for _, e := range all {
				if e.text("thread_id") == of && e.text("action") == action {
					return e.text("at")
				}
			}
			require.Fail(t, "no entry")
			return ""
		}
		count := func(query string) int { return len(owner.get("/audit?" + query).ok().list("entries")) }
		keys := len(w.people) + 4
		require.Len(t, all, keys+4)
		for query, want := range map[string]int{
			"thread_id=" + one: 2, "thread_id=" + strings.ToUpper(one): 2, "review_id=" + second: 2, "agent=refund": 2, "agent=nobody": 0, "principal=ann": 1,
			"action=review.decided": 2, "action=review.decided,key.created": 2 + keys, "action=review.decided&action=review.requested": 4,
			"execution_id=" + ann.get("/reviews/"+first).ok().text("execution_id"): 2,
			"since=" + at(two, "review.decided"):                                   1,
			"until=" + at(two, "review.requested") + "&action=review.requested":    1,
			"since=2030-01-01T00:00:00Z":                                           0, "until=2020-01-01T00:00:00Z": 0,
			"until=" + url.QueryEscape("2030-01-01T00:00:00+02:00"): keys + 4,
		} {
			require.Equal(t, want, count(query), query)
		}
		for _, order := range []string{"asc", "desc"} {
			var paged []object
			for cursor := ""; ; {
				page := owner.at(1).get("/audit?limit=3&order=" + order + "&cursor=" + cursor).ok()
				paged = append(paged, page.list("entries")...)
				if cursor == "" {
					op.question("plain", "more") // it grows meanwhile
				}
				if cursor = page.text("next_cursor"); page["next_cursor"] == nil {
					break
				}
			}
			want := slices.Clone(all)
			if order == "desc" {
				slices.Reverse(want)
				require.Equal(t, want, paged[len(paged)-len(want):], "newest first, what came later isn't seen")
			} else {
				require.Equal(t, want, paged[:len(want)])
			}
			all = owner.get("/audit?order=asc&limit=200").ok().list("entries")
		}
		for query, field := range map[string]string{
			"action=bananas": "action", "action=review.decided,bananas": "action", "limit=0": "limit", "cursor=x": "cursor", "cursor=-1": "cursor", "since=yesterday": "since", "until=0": "until", "order=up": "order",
		} {
			owner.get("/audit?"+query).field(http.StatusBadRequest, field)
		}
		for _, c := range []*client{op, ann} {
			for _, path := range []string{"/audit", "/audit/export", "/audit/verify"} {
				c.get(path).code(http.StatusForbidden, "MISSING_ROLE")
			}
		}
	}, withoutPolicies)
}

// verified checks an export as somebody without this program would, by docs/reviews.md alone.
func verified(t *testing.T, lines []object) {
	t.Helper()
	sha := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
		return hex.EncodeToString(sum[:])
	}
	num := func(o object, key string) string { return strconv.FormatInt(int64(o[key].(float64)), 10) }
	last, prevOf := "", map[string]string{}
	for i, e := range lines {
		require.EqualValues(t, i+1, e["seq"])
		require.Equal(t, prevOf[e.text("thread_id")], e["prev"])
		require.Equal(t, sha(e.text("prev"), num(e, "thread_seq"), num(e, "at_us"), sha(e.text("body"))), e["hash"])
		require.Equal(t, sha(last, num(e, "seq"), e.text("thread_id"), e.text("hash")), e["seal"])
		if last = e.text("seal"); e["thread_id"] != nil {
			prevOf[e.text("thread_id")] = e.text("hash")
		}
	}
}

func jsonLines(t *testing.T, body string) (list []object) {
	t.Helper()
	in := bufio.NewScanner(strings.NewReader(body))
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var o object
		require.NoError(t, json.Unmarshal(in.Bytes(), &o))
		list = append(list, o)
	}
	return list
}

// An export is complete, stable, and can be verified without this program.
func TestExports(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, ann, _ := w.staff()
		var threads []string
		for i := range 5 {
			threadID, id := op.question("refund", fmt.Sprint("Refund ", i))
			note, err := json.Marshal(map[string]string{"decision": "approve", "notes": "=HYPERLINK(\"x\")\r\n\"quoted\", <b>&\u2028ü"})
			require.NoError(t, err)
			ann.post("/reviews/"+id+"/decide", string(note)).ok()
			threads = append(threads, threadID)
		}
		for _, id := range threads {
			op.idle(id)
		}
		a := owner.at(1).get("/audit/export?format=jsonl")
		require.Equal(t, "application/x-ndjson", a.header.Get("Content-Type"))
		require.Contains(t, a.header.Get("Content-Disposition"), `filename="audit-default.jsonl"`)
		lines := jsonLines(t, a.is(http.StatusOK).body)
		require.Len(t, lines, 4+10)
		verified(t, lines)
		require.Equal(t, a.body, owner.get("/audit/export").body, "the same again, on any server")
		listed := owner.get("/audit?order=asc&limit=200").ok().list("entries")
		for i, e := range lines {
			var body any
			require.NoError(t, json.Unmarshal([]byte(e.text("body")), &body))
			require.Equal(t, listed[i]["body"], body)
		}
		require.Len(t, jsonLines(t, owner.get("/audit/export?action=review.decided&thread_id="+threads[0]).is(http.StatusOK).body), 1)
		op.question("refund", "one more")
		require.True(t, strings.HasPrefix(owner.get("/audit/export").body, a.body), "what was is what begins it")

		a = owner.get("/audit/export?format=csv&until=" + listed[len(listed)-1].text("at"))
		require.Equal(t, "text/csv; charset=utf-8", a.header.Get("Content-Type"))
		all, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		require.NoError(t, err)
		require.Len(t, all, 1+len(lines)-1)
		notes := slices.Index(all[0], "notes")
		for i, row := range all[1:] {
			require.Equal(t, lines[i]["hash"], row[slices.Index(all[0], "hash")])
			require.Equal(t, lines[i]["body"], row[slices.Index(all[0], "body")], "to the byte")
			for _, cell := range row {
				require.NotContains(t, "=+-@\t\r|%", (cell + " ")[:1], "a spreadsheet would run it")
			}
			if row[slices.Index(all[0], "action")] == "review.decided" {
				require.True(t, strings.HasPrefix(row[notes], "'=HYPERLINK"), row[notes])
			}
		}
		require.Empty(t, owner.get("/audit/export?principal=nobody").is(http.StatusOK).body)
		require.Len(t, strings.Split(strings.TrimSpace(owner.get("/audit/export?format=csv&principal=nobody").is(http.StatusOK).body), "\n"), 1)
		owner.get("/audit/export?format=xml").field(http.StatusBadRequest, "format")
	}, withoutPolicies)
}

// The program of docs/reviews.md verifies an export, and finds what was changed in one.
func TestTheDocumentedVerifier(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("install python3 to check the verifier of docs/reviews.md")
	}
	doc, err := os.ReadFile("../../docs/reviews.md")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(doc), "```python\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "```")
	w := single(t, withoutPolicies)
	op, owner, ann, _ := w.staff()
	threadID, id := op.question("refund", "Ünïcode \u2028 <&>")
	ann.post("/reviews/"+id+"/decide", `{"decision":"approve","notes":"ü"}`).ok()
	op.idle(threadID)
	op.do(http.MethodDelete, "/threads/"+threadID, "").is(http.StatusNoContent)
	again := op.do(http.MethodPost, "/threads", `{"thread_id":"`+threadID+`"}`).ok()
	require.Equal(t, threadID, again["thread_id"])
	op.do(http.MethodPost, "/threads/"+threadID+"/runs/wait", `{"assistant_id":"refund","input":{}}`).is(http.StatusOK)
	export := owner.get("/audit/export").is(http.StatusOK).body
	run := func(export string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, "-c", program)
		cmd.Stdin = strings.NewReader(export)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(export)
	require.NoError(t, err, out)
	require.Contains(t, out, "8 entries")
	lines := strings.SplitAfter(export, "\n")
	for name, bent := range map[string]string{
		"a changed decision": strings.Replace(export, `\"decision\":\"Approve\"`, `\"decision\":\"Reject\"`, 1),
		"a changed time":     strings.Replace(export, `"at_us":1`, `"at_us":2`, 1),
		"an entry left out":  strings.Join(slices.Delete(slices.Clone(lines), 4, 5), ""),
		"entries exchanged":  strings.Join(append(append(slices.Clone(lines[:4]), lines[5], lines[4]), lines[6:]...), ""),
	} {
		require.NotEqual(t, export, bent, name)
		out, err := run(bent)
		require.Error(t, err, name+out)
	}
}

// Deleting a thread leaves its audit entries, and says who did it.
func TestTheLogOutlivesThreads(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, _, _ := w.staff()
		threadID, id := op.question("refund", "Refund")
		op.do(http.MethodDelete, "/threads/"+threadID, "").is(http.StatusNoContent)
		list := owner.at(1).get("/audit?order=asc&thread_id=" + threadID).ok().list("entries")
		require.Equal(t, []string{"review.requested", "review.superseded", "thread.deleted"}, actions(list))
		require.Equal(t, "op", list[2]["principal"])
		require.Equal(t, true, owner.get("/audit/verify").ok()["valid"])
		owner.get("/reviews/"+id).code(http.StatusNotFound, "REVIEW_NOT_FOUND")
	})
}

// Keys that are made and revoked are audited; the chain verifies.
func TestKeysAreAudited(t *testing.T) {
	t.Parallel()
	w := single(t)
	owner := w.person("owner", auth.RoleOwner)
	made := owner.post("/keys", `{"name":"carl","roles":["reviewer:refund"]}`).is(http.StatusCreated).json()
	require.NotEmpty(t, made["key"])
	owner.do(http.MethodDelete, owner.base+"/keys/"+made.text("id"), "").is(http.StatusOK)
	list := owner.get("/audit?order=asc&principal=owner").ok().list("entries")
	require.Equal(t, []string{"key.created", "key.revoked"}, actions(list))
	require.Equal(t, made["id"], list[0].at("body").at("detail")["id"])
	require.NotContains(t, owner.get("/audit/export").body, made.text("key")[20:], "no secret in the log")
	require.Equal(t, true, owner.get("/audit/verify").ok()["valid"])
}

// An export that breaks off is told from a complete one.
func TestABrokenExportIsNoCompleteOne(t *testing.T) {
	t.Parallel()
	w := empty(t)
	store := bentStore(t)
	w.start(store.options(), nil)
	owner := w.person("owner", auth.RoleOwner)
	for range 700 { // more than are read at once
		require.NoError(t, store.AppendAudit(t.Context(), "", "", auditNote("x")))
	}
	store.failAfter.Store(500)
	res := owner.open(t.Context(), http.MethodGet, owner.base+"/audit/export", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	_, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, res.Body.Close())
}

package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReviewOfSeveralCallsNamesAllOfThem(t *testing.T) {
	t.Parallel()
	var r review
	require.NoError(t, json.Unmarshal([]byte(`{"review_id": "r", "tool": "delete_record", "allowed_decisions": ["approve", "reject"], "actions": [
		{"name": "delete_record", "allowed_decisions": ["approve", "reject"]},
		{"name": "delete_record", "allowed_decisions": ["approve", "reject"]},
		{"name": "transfer_money", "allowed_decisions": ["approve", "edit", "reject"]}]}`), &r))
	require.Equal(t, "delete_record, transfer_money", r.what())
	require.Contains(t, r.decisions(), "for all together: approve, reject; by --decisions:\n  delete_record: approve, reject\n")
	require.Contains(t, r.decisions(), "  transfer_money: approve, edit, reject\n")
	r.Actions = r.Actions[2:]
	require.Equal(t, "Allowed decisions: approve, edit, reject\n", r.decisions())
}

func TestAuditListSaysWhoAndAboutWhat(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string][2]string{
		`{"action": "tool.executed", "principal": "rita", "agent": "a", "body": {"actor": {"kind": "agent"}, "tool": "pay"}}`:                      {"rita", "pay"},
		`{"action": "review.requested", "principal": null, "agent": "a", "review_id": "r", "body": {"actor": {"kind": "agent"}, "tool": "pay"}}`:   {"a", "r"},
		`{"action": "key.created", "principal": null, "agent": null, "body": {"actor": {"kind": "anonymous"}, "detail": {"id":"k","name":"ann"}}}`: {"anonymous", "key k of ann"},
		`{"action": "review.expired", "principal": null, "agent": "a", "review_id": "r", "body": {"actor": {"kind": "system"}}}`:                   {"the system", "r"},
	} {
		var e auditEntry
		require.NoError(t, json.Unmarshal([]byte(entry), &e))
		require.Equal(t, want, [2]string{e.by(), e.about()}, entry)
	}
}

func TestWithoutAKeyItIsSaidWhereOneGoes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"detail": "Say who you are: Authorization: Bearer KEY, or x-api-key: KEY."}`))
	}))
	defer server.Close()
	list := listReviews{Connection: Connection{BaseURL: server.URL}, Status: []string{"open"}, Limit: 1}
	require.ErrorContains(t, list.Run(&Streams{Out: &bytes.Buffer{}}), "PARLEY_API_KEY")
	list.Key = "pk_wrong"
	require.ErrorContains(t, list.Run(&Streams{Out: &bytes.Buffer{}}), "it came from PARLEY_API_KEY")
}

func TestReviewsOfAThreadAreAskedForByItsID(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0190", (&listReviews{Thread: "0190"}).query("").Get("thread_id"))
	require.False(t, (&listReviews{}).query("").Has("thread_id"))
}

func TestWhoeverIsUnknownIsNotTheDeadline(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"review_id": "r", "agent": "a", "tool": "pay", "status": "decided", "decided": {"by": null, "decision": "approve"}}`:       "(approve by anonymous)",
		`{"review_id": "r", "agent": "a", "tool": "pay", "status": "decided", "decided": {"by": "ada", "decision": "approve"}}`:      "(approve by ada)",
		`{"review_id": "r", "agent": "a", "tool": "pay", "status": "expired", "decided": {"by": null, "decision": "expired"}}`:       "(expired by the deadline)",
		`{"review_id": "r", "agent": "a", "tool": "pay", "status": "pending", "role": "finance", "expires_at": "2026-11-30T00:00Z"}`: "(for the role finance)",
	} {
		var r review
		require.NoError(t, json.Unmarshal([]byte(in), &r))
		var line bytes.Buffer
		require.NoError(t, (&watchReviews{}).line(&line, &r))
		require.Contains(t, line.String(), want)
	}
}

func TestSeveralCallsAreDecidedEach(t *testing.T) {
	t.Parallel()
	for suspension, want := range map[string]bool{
		`{"action_requests": [{}, {}], "allowed_decisions": ["approve", "reject"]}`: false,
		`{"action_requests": [{}], "allowed_decisions": ["approve", "Edit"]}`:       false,
		`{"action_requests": [{}], "allowed_decisions": ["approve", "reject"]}`:     true,
		`{"claim_id": "CLM-1", "allowed_decisions": ["approve"]}`:                   true,
		`null`: true,
	} {
		require.Equal(t, want, oneDecision(json.RawMessage(suspension)), suspension)
	}
}

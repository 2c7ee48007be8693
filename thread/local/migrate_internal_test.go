package local

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// undoV4 makes a database what it was before schema 4.
const undoV4 = `
ALTER TABLE tasks DROP COLUMN run; ALTER TABLE tasks DROP COLUMN replaced;
DROP TABLE reviews; DROP TABLE review_ids; DROP TABLE audit; DROP TABLE api_keys;
DROP INDEX runs_executions; DROP INDEX outbox_due; DROP INDEX outbox_dead;
ALTER TABLE interrupts DROP COLUMN review;
ALTER TABLE heads DROP COLUMN cancelled_by;
ALTER TABLE runs DROP COLUMN project;
ALTER TABLE outbox DROP COLUMN event; ALTER TABLE outbox DROP COLUMN interrupt; ALTER TABLE outbox DROP COLUMN dead;
CREATE INDEX outbox_due ON outbox(due);
PRAGMA user_version=3;
`

func schemaOf(t *testing.T, c *conn) map[string]string {
	t.Helper()
	all := map[string]string{}
	r := c.query(`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL`)
	for r.next() {
		all[r.text(0)] = strings.Join(strings.Fields(r.text(1)), " ")
	}
	require.NoError(t, r.close())
	return all
}

// TestWhatWasAskedBeforeReviewsCanBeAnswered: a directory of the third schema is migrated in place.
func TestWhatWasAskedBeforeReviewsCanBeAnswered(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Dir: dir})
	require.NoError(t, err)
	var runs []string
	questions := map[string]string{"a": "0123456789abcdef0123456789abcdef", "b": "1123456789abcdef0123456789abcdef"}
	for i, id := range []string{"a", "b"} {
		admitted, err := s.AdmitRun(ctx, thread.Admission{CreateThread: &thread.Thread{ID: id}, Run: thread.Run{ID: "run-" + id, ThreadID: id, CreatedAt: time.Unix(int64(i+1), 0)},
			Claim: &thread.Claim{Worker: "w", Lease: time.Hour}})
		require.NoError(t, err)
		runs = append(runs, admitted.Run.ID)
		_, err = s.Commit(ctx, *admitted.Lease, thread.Commit{ID: "c/1",
			Checkpoints: []agent.CheckpointRecord{{ID: "1", Metadata: []byte("{}"), State: []byte("{}")}},
			Tasks:       []agent.TaskRecord{{CheckpointID: "1", TaskID: "t", Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{{ID: questions[id], Value: json.RawMessage("1")}}}},
			Finish: &thread.Finish{Status: thread.RunSuccess, Suspended: true, HasNext: true, At: time.Now(),
				Webhook: &thread.Delivery{ID: "d-" + id, ThreadID: id, RunID: admitted.Run.ID, URL: "/u"}}})
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())

	c, err := openConn(filepath.Join(dir, File), false)
	require.NoError(t, err)
	require.NoError(t, c.run(undoV4))
	before := schemaOf(t, c)
	fresh, err := openConn(":memory:", false)
	require.NoError(t, err)
	require.NoError(t, migrateBy(fresh, migrations[:3]))
	for name, sql := range schemaOf(t, fresh) {
		require.Equal(t, sql, before[name], "%s is as it was", name)
	}
	fresh.close()
	c.close()

	s, err = Open(ctx, Options{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	list, err := s.ListExecutions(ctx, thread.ExecutionQuery{Project: thread.DefaultProject})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, runs, []string{list[1].ID, list[0].ID})
	due, err := s.DueDeliveries(ctx, time.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	none, err := s.ThreadReviews(ctx, "a")
	require.NoError(t, err)
	require.Empty(t, none)

	answer := &thread.ResumeAdmission{Answers: []agent.Answer{{InterruptID: questions["a"], Value: json.RawMessage("1"), By: "ann"}}, RespectClaims: true}
	_, err = s.AdmitRun(ctx, thread.Admission{Run: thread.Run{ID: "resume", ThreadID: "a"}, Resume: answer})
	require.NoError(t, err)
	none, err = s.ThreadReviews(ctx, "a")
	require.NoError(t, err)
	require.Empty(t, none, "what was asked before has no review")

	admitted, err := s.AdmitRun(ctx, thread.Admission{Run: thread.Run{ID: "again", ThreadID: "b"}, Claim: &thread.Claim{Worker: "w", Lease: time.Hour}})
	require.NoError(t, err)
	_, err = s.Commit(ctx, *admitted.Lease, thread.Commit{ID: "c/2", Reviews: []thread.ReviewDraft{{InterruptID: questions["b"], Agent: "g"}},
		Tasks: []agent.TaskRecord{{CheckpointID: "1", TaskID: "t", Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{{ID: questions["b"], Value: json.RawMessage("1")}}}}})
	require.NoError(t, err)
	reviews, err := s.ThreadReviews(ctx, "b")
	require.NoError(t, err)
	require.Len(t, reviews, 1, "asked again it has one")
	require.Equal(t, thread.ReviewPending, reviews[0].Status)
}

// TestListsGoByTheirIndexes: what is read again and again doesn't scan, or sort, all there is.
func TestListsGoByTheirIndexes(t *testing.T) {
	t.Parallel()
	c, err := openConn(":memory:", false)
	require.NoError(t, err)
	defer c.close()
	require.NoError(t, migrate(c))
	for sql, index := range map[string]string{
		searchOpenOf:  "reviews_open",
		searchEndedOf: "reviews_ended",
		selectReviews + ` WHERE r.due IS NOT NULL AND r.due<=? ORDER BY r.due, r.k LIMIT ?`: "reviews_due",
		selectReviews + ` WHERE r.thread=? ORDER BY r.created, r.k`:                         "reviews_thread",
		selectExecutions: "runs_executions",
		selectAudit + ` WHERE chain=? ORDER BY thread_seq DESC LIMIT 1`:                                "audit_chain",
		selectAudit + ` WHERE project=? AND seq>? ORDER BY seq LIMIT ?`:                                "audit_seq",
		`SELECT seq, seal FROM audit WHERE project=? ORDER BY seq DESC LIMIT 1`:                        "audit_seq",
		`SELECT max(seq) FROM audit WHERE project=?`:                                                   "audit_seq",
		`SELECT min(due) FROM reviews WHERE due IS NOT NULL`:                                           "reviews_due",
		`SELECT id FROM outbox WHERE dead=0 AND due<=? ORDER BY due LIMIT ?`:                           "outbox_due",
		`SELECT id FROM outbox WHERE dead=1 ORDER BY due DESC LIMIT ?`:                                 "outbox_dead",
		`SELECT review FROM interrupts WHERE thread=? AND status=0 AND review<>0 ORDER BY created, id`: "PRIMARY KEY",
		`DELETE FROM review_ids WHERE review IN (SELECT k FROM reviews WHERE thread=?)`:                "review_ids_review",
	} {
		var plan []string
		r := c.query("EXPLAIN QUERY PLAN " + sql)
		for r.next() {
			plan = append(plan, r.text(3))
		}
		require.NoError(t, r.close(), sql)
		text := strings.Join(plan, "; ")
		require.Contains(t, text, index, sql)
		require.NotContains(t, text, "SCAN reviews", sql)
		if index != "reviews_thread" && index != "PRIMARY KEY" {
			require.NotContains(t, text, "TEMP B-TREE", sql)
		}
	}
}

package local

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// The statuses of a review as stored; whether an open one is claimed is a matter of time.
var reviewStatuses = []thread.ReviewStatus{thread.ReviewPending, thread.ReviewDecided, thread.ReviewExpired, thread.ReviewSuperseded}

const reviewOpen = 0

func reviewCode(s thread.ReviewStatus) int64 {
	for i, v := range reviewStatuses {
		if v == s {
			return int64(i)
		}
	}
	return reviewOpen // claimed
}

// reviewRow is a row of reviews with its question. Terms are as they were stored.
type reviewRow struct {
	k      int64
	thread int64
	thread.Review
}

const (
	reviewColumns = `r.k, r.thread, r.interrupt, r.status, r.created, r.updated, r.version, r.assignee, r.claimed, r.expires, r.warn,
		r.role, r.escalations, r.draft, r.comments, r.outcome, i.ns, i.checkpoint, i.run, i.generation, i.value, i.schema, t.id`
	selectReviews   = `SELECT ` + reviewColumns + ` FROM reviews r JOIN interrupts i ON i.thread=r.thread AND i.id=r.interrupt JOIN threads t ON t.k=r.thread`
	selectReviewByK = selectReviews + ` WHERE r.k=?`
	putReviewRow    = `INSERT OR REPLACE INTO reviews(k, thread, interrupt, status, project, workspace, execution, agent, tools, created, updated,
		version, assignee, claimed, expires, warn, due, role, escalations, draft, comments, outcome)
		VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
)

func readReview(r *rows) (w reviewRow, err error) {
	w.k, w.thread = r.int(0), r.int(1)
	doc := transfer.Review{Interrupt: r.text(2), Status: string(reviewStatuses[r.int(3)]), Created: r.int(4), Updated: r.int(5), Version: r.int(6),
		Assignee: r.text(7), ClaimedUntil: r.int(8), Expires: r.int(9), Warn: r.int(10), Role: r.text(11), Escalations: r.int(12),
		Draft: r.view(13), Comments: r.view(14), Outcome: r.view(15)}
	if err := doc.Take(&w.Review); err != nil {
		return w, fmt.Errorf("local: %w", err)
	}
	w.NS, w.CheckpointID, w.RunID, w.Generation = r.text(16), r.id(17), r.id(18), r.int(19)
	w.Payload, w.ResponseSchema, w.ThreadID = r.blob(20), r.blob(21), r.id(22)
	w.ID = thread.ReviewID(w.ThreadID, w.InterruptID, w.Generation)
	return w, nil
}

// loadReview reads the review with key k.
func loadReview(c *conn, k int64) (w reviewRow, err error) {
	ok, err2 := c.one(func(r *rows) { w, err = readReview(r) }, selectReviewByK, k)
	if err == nil && err2 == nil && !ok {
		err = fmt.Errorf("local: no review %d", k)
	}
	return w, errorsFirst(err, err2)
}

// store writes the row; one of key 0 gets a new key.
func (w *reviewRow) store(c *conn) error {
	doc, err := transfer.ReviewOf(w.Review, nil)
	if err != nil {
		return err
	}
	_, err = c.exec(putReviewRow, orNull(w.k), w.thread, w.InterruptID, reviewCode(w.Status), w.Project, w.Workspace, w.ExecutionID, w.Agent,
		toolNames(w.Review), doc.Created, doc.Updated, doc.Version, doc.Assignee, doc.ClaimedUntil, doc.Expires, doc.Warn, orNull(micros(w.Due())),
		doc.Role, doc.Escalations, json.RawMessage(doc.Draft), json.RawMessage(doc.Comments), json.RawMessage(doc.Outcome))
	if err == nil && w.k == 0 {
		w.k = c.lastRowID()
	}
	return err
}

// toolNames lets a statement look for one of the tools.
func toolNames(r thread.Review) string {
	names := append([]string{"", r.Tool}, r.Tools...)
	return strings.Join(append(names, ""), "\n")
}

// nameReview notes that a review has, or had, that id.
func nameReview(c *conn, review int64, id string) error {
	b, err := hex.DecodeString(id)
	if err != nil {
		return fmt.Errorf("local: review id %q: %w", id, err)
	}
	_, err = c.exec(`INSERT OR IGNORE INTO review_ids(id, review) VALUES(?,?)`, b, review)
	return err
}

// reviewKey finds a review by an id; 0 for none.
func reviewKey(c *conn, id string) (k int64, err error) {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) == 0 {
		return 0, nil //nolint:nilerr // no review has such an id
	}
	_, err = c.one(func(r *rows) { k = r.int(0) }, `SELECT review FROM review_ids WHERE id=?`, b)
	return k, err
}

// dropReviews removes the reviews of a thread.
func dropReviews(c *conn, k int64) error {
	if _, err := c.exec(`DELETE FROM review_ids WHERE review IN (SELECT k FROM reviews WHERE thread=?)`, k); err != nil {
		return err
	}
	_, err := c.exec(`DELETE FROM reviews WHERE thread=?`, k)
	return err
}

// storeTime is a time as the store can keep it.
func storeTime(t time.Time) time.Time { return timeOf(micros(t)) }

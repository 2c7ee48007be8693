package local

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

func (d dump) apiKeys() error {
	return d.each(func(r *rows) error {
		k := readKey(r)
		return d.emit(&transfer.Record{APIKey: &k})
	}, selectKeys+` ORDER BY id`)
}

// audit are the entries of no thread that is left.
func (d dump) audit() error {
	return d.entries(`chain IS NULL ORDER BY project, seq`)
}

func (d dump) auditOf(k int64) error { return d.entries(`chain=? ORDER BY thread_seq`, k) }

func (d dump) entries(where string, args ...any) error {
	return d.each(func(r *rows) error { return d.emit(&transfer.Record{Audit: transfer.AuditOf(readAudit(r))}) }, selectAudit+` WHERE `+where, args...)
}

func (d dump) reviews(k int64) error {
	var list []reviewRow
	err := d.each(func(r *rows) error {
		w, err := readReview(r)
		list = append(list, w)
		return err
	}, selectReviews+` WHERE r.thread=? ORDER BY r.k`, k)
	for _, w := range list {
		if err != nil {
			return err
		}
		var ids []string
		err = d.each(func(r *rows) error { ids = append(ids, hex.EncodeToString(r.view(0))); return nil }, `SELECT id FROM review_ids WHERE review=?`, w.k)
		slices.Sort(ids)
		var out *transfer.Review
		if err == nil {
			out, err = transfer.ReviewOf(w.Review, ids)
		}
		if err == nil {
			err = d.emit(&transfer.Record{Review: out})
		}
	}
	return err
}

// putReview stores a review; its question is there.
func (l *Target) putReview(c *conn, v *transfer.Review) error {
	if !slices.Contains(reviewStatuses, thread.ReviewStatus(v.Status)) {
		return fmt.Errorf("local: no status %q of a review", v.Status)
	}
	w := reviewRow{thread: l.k}
	if err := v.Take(&w.Review); err != nil {
		return err
	}
	if err := w.store(c); err != nil {
		return err
	}
	for _, id := range v.IDs {
		if err := nameReview(c, w.k, id); err != nil {
			return err
		}
	}
	n, err := c.exec(`UPDATE interrupts SET review=? WHERE thread=? AND id=?`, w.k, l.k, v.Interrupt)
	if err == nil && n == 0 {
		err = fmt.Errorf("local: review of %s, which nobody asked", v.Interrupt)
	}
	return err
}

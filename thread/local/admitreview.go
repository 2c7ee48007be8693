package local

import (
	"fmt"

	"github.com/parley-dev/parley/thread"
)

// checkOutcomes refuses outcomes that can't be audited, before anything is written.
func checkOutcomes(re *thread.ResumeAdmission) error {
	if re == nil {
		return nil
	}
	if len(re.Outcomes) > len(re.Answers) {
		return fmt.Errorf("local: %d outcomes of %d answers", len(re.Outcomes), len(re.Answers))
	}
	for _, o := range re.Outcomes {
		if _, err := o.Audit.Canonical(); err != nil {
			return err
		}
	}
	return nil
}

// checkReviews reads the reviews of the questions that are answered, and compares
// deadlines and claims with the time (D-103).
func (ad *admission) checkReviews(list []question) error {
	ad.reviews = make([]reviewRow, len(list))
	for i, q := range list {
		if q.review == 0 {
			if ad.a.Resume.Expired {
				return fmt.Errorf("interrupt %s has no deadline: %w", q.ID, thread.ErrConflict)
			}
			continue
		}
		w, err := loadReview(ad.t.conn, q.review)
		if err != nil {
			return err
		}
		if err := ad.a.Resume.Check(w.Review, ad.a.Resume.Answers[i], storeTime(ad.at)); err != nil {
			return err
		}
		ad.reviews[i] = w
	}
	return nil
}

// decide stores the outcome of question i for its review.
func (ad *admission) decide(i int) error {
	w := &ad.reviews[i]
	if w.k == 0 {
		return nil
	}
	var b thread.AuditBody
	w.Review, b = ad.a.Resume.Decide(w.Review, i, ad.a.Run.ID, ad.head.doing.now)
	return ad.head.change(ad.t.conn, w, b)
}

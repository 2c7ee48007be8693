package local

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/parley-dev/parley/thread"
)

var _ thread.ReviewStore = (*Store)(nil)

// GetReview implements thread.Reviews.
func (s *Store) GetReview(ctx context.Context, id string) (out thread.Review, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := reviewKey(c, id)
		if err != nil {
			return err
		}
		if k == 0 {
			return &thread.NotFoundError{Kind: notFoundReview, ID: id}
		}
		w, err := loadReview(c, k)
		out = w.AsOf(s.now())
		return err
	})
	return out, err
}

// listReviews reads the reviews that a query selects while take, which is told of each, says so.
func (s *Store) listReviews(c *conn, take func(reviewRow) bool, sql string, args ...any) error {
	r := c.query(sql, args...)
	for r.next() {
		w, err := readReview(r)
		if err != nil {
			return errorsFirst(err, r.close())
		}
		if !take(w) {
			break
		}
	}
	return r.close()
}

// ThreadReviews implements thread.Reviews.
func (s *Store) ThreadReviews(ctx context.Context, threadID string) (list []thread.Review, err error) {
	now := s.now()
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		return s.listReviews(c, func(w reviewRow) bool { list = append(list, w.AsOf(now)); return true },
			selectReviews+` WHERE r.thread=? ORDER BY r.created, r.k`, k)
	})
	return list, err
}

// The order of a search: open reviews, then ended ones.
const (
	wanted      = ` AND (?1='' OR r.project=?1) AND (?2='' OR r.workspace=?2) AND (?3='' OR r.agent=?3) AND (?4='' OR r.execution=?4) AND (?5='' OR instr(r.tools, ?5)>0)`
	searchOpen  = selectReviews + ` WHERE r.status=0` + wanted + ` AND r.created>=?6 AND (r.created, r.k)>(?6, ?7) ORDER BY r.created, r.k`
	searchEnded = selectReviews + ` WHERE r.status<>0` + wanted + ` AND r.created<=?6 AND (r.created, r.k)<(?6, ?7) ORDER BY r.created DESC, r.k DESC`
	// Of one thread, by the index.
	searchOpenIn  = selectReviews + ` WHERE r.thread=?8 AND r.status=0` + wanted + ` AND (r.created, r.k)>(?6, ?7) ORDER BY r.created, r.k`
	searchEndedIn = selectReviews + ` WHERE r.thread=?8 AND r.status<>0` + wanted + ` AND (r.created, r.k)<(?6, ?7) ORDER BY r.created DESC, r.k DESC`
	// Of one project, by the indexes.
	searchOpenOf  = selectReviews + ` WHERE r.project=?1 AND r.status=0` + wanted + ` AND r.created>=?6 AND (r.created, r.k)>(?6, ?7) ORDER BY r.created, r.k`
	searchEndedOf = selectReviews + ` WHERE r.project=?1 AND r.status<>0` + wanted + ` AND r.created<=?6 AND (r.created, r.k)<(?6, ?7) ORDER BY r.created DESC, r.k DESC`
)

// reviewCursor is a place in a search.
type reviewCursor struct {
	ended      bool
	created, k int64
}

func (p reviewCursor) text() string {
	phase := 0
	if p.ended {
		phase = 1
	}
	return base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%d %d %d", phase, p.created, p.k)))
}

const beyond = int64(1) << 62 // all times and keys

func parseCursor(s string) (p reviewCursor, err error) {
	if s == "" {
		return reviewCursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	phase := 0
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d %d %d", &phase, &p.created, &p.k)
	}
	if err != nil || phase < 0 || phase > 1 {
		return p, &thread.InvalidInputError{Path: []string{"cursor"}, Message: "the cursor isn't one of this list"}
	}
	p.ended = phase == 1
	return p, nil
}

const defaultReviews = 50

// SearchReviews implements thread.Reviews.
func (s *Store) SearchReviews(ctx context.Context, q thread.ReviewQuery) (list []thread.Review, next string, err error) {
	at, err := parseCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	if q.Limit <= 0 {
		q.Limit = defaultReviews
	}
	now := s.now()
	open, ended := phases(q.Statuses)
	err = s.readAll(ctx, func(c *conn) error {
		list, next = nil, ""
		var last reviewCursor
		take := func(w reviewRow) bool {
			if !q.Matches(w.Review, now) {
				return ctx.Err() == nil
			}
			if len(list) == q.Limit {
				next = last.text()
				return false
			}
			list = append(list, w.AsOf(now))
			last = reviewCursor{ended: !w.Status.Open(), created: micros(w.CreatedAt), k: w.k}
			return true
		}
		tool := ""
		if q.Tool != "" {
			tool = "\n" + q.Tool + "\n"
		}
		args := []any{q.Project, q.Workspace, q.Agent, q.ExecutionID, tool}
		var of []any
		openSQL, endedSQL := searchOpen, searchEnded
		switch {
		case q.ThreadID != "":
			k, err := threadKey(c, q.ThreadID)
			if isNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			openSQL, endedSQL, of = searchOpenIn, searchEndedIn, []any{k}
		case q.Project != "":
			openSQL, endedSQL = searchOpenOf, searchEndedOf
		}
		search := func(sql string, from reviewCursor) error {
			return s.listReviews(c, take, sql, slices.Concat(args, []any{from.created, from.k}, of)...)
		}
		if open && !at.ended {
			if err := search(openSQL, at); err != nil || next != "" {
				return err
			}
		}
		if !ended {
			return ctx.Err()
		}
		if !at.ended {
			at = reviewCursor{created: beyond, k: beyond}
		}
		return errorsFirst(search(endedSQL, at), ctx.Err())
	})
	return list, next, err
}

// phases tells whether open and ended reviews are looked for.
func phases(statuses []thread.ReviewStatus) (open, ended bool) {
	for _, st := range statuses {
		open = open || st.Open()
		ended = ended || !st.Open()
	}
	return open || len(statuses) == 0, ended || len(statuses) == 0
}

// ChangeReview implements thread.Reviews.
func (s *Store) ChangeReview(ctx context.Context, ch thread.ReviewChange) (out thread.Review, err error) {
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, true, func(t *tx) error {
		missing := &thread.NotFoundError{Kind: notFoundReview, ID: ch.InterruptID}
		k, err := threadKey(t.conn, ch.ThreadID)
		if isNotFound(err) {
			return missing
		}
		if err != nil {
			return err
		}
		q, ok, err := loadQuestion(t.conn, k, ch.InterruptID)
		if err != nil {
			return err
		}
		if !ok || q.review == 0 {
			return missing
		}
		w, err := loadReview(t.conn, q.review)
		if err != nil {
			return err
		}
		h := &head{k: k}
		h.do(actor, s.now())
		if w.Review, err = ch.Apply(w.Review, h.doing.now); err != nil {
			return err
		}
		if err := h.change(t.conn, &w, ch.Audit.About(w.Review)); err != nil {
			return err
		}
		w, err = loadReview(t.conn, w.k)
		out = w.AsOf(h.doing.now)
		return err
	})
	return out, err
}

// DueReviews implements thread.Reviews.
func (s *Store) DueReviews(ctx context.Context, limit int) (list []thread.Review, err error) {
	now := s.now()
	err = s.readAll(ctx, func(c *conn) error {
		return s.listReviews(c, func(w reviewRow) bool { list = append(list, w.AsOf(now)); return true },
			selectReviews+` WHERE r.due IS NOT NULL AND r.due<=? ORDER BY r.due, r.k LIMIT ?`, micros(now), limit)
	})
	return list, err
}

// NextReviewDue implements thread.Reviews.
func (s *Store) NextReviewDue(ctx context.Context) (time.Time, error) {
	var due int64
	err := s.read(ctx, func(c *conn) error {
		_, err := c.one(func(r *rows) { due = r.int(0) }, `SELECT min(due) FROM reviews WHERE due IS NOT NULL`)
		return err
	})
	return timeOf(due), err
}

package local

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// PutCron implements thread.Crons.
func (s *Store) PutCron(ctx context.Context, c thread.Cron) error {
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.write(ctx, true, func(t *tx) error {
		_, err := t.exec(`INSERT OR REPLACE INTO crons(id, assistant, thread, enabled, next, created, updated, doc) VALUES(?,?,?,?,?,?,?,?)`,
			c.ID, c.AssistantID, c.ThreadID, c.Enabled, micros(c.NextRun), micros(c.CreatedAt), micros(c.UpdatedAt), json.RawMessage(doc))
		return err
	})
}

func readCron(r *rows) (c thread.Cron, err error) {
	err = json.Unmarshal(r.view(0), &c)
	c.NextRun = timeOf(r.int(1)) // FireCron moves it
	return c, err
}

// GetCron implements thread.Crons.
func (s *Store) GetCron(ctx context.Context, id string) (c thread.Cron, err error) {
	err = s.read(ctx, func(cn *conn) error {
		var bad error
		ok, err := cn.one(func(r *rows) { c, bad = readCron(r) }, `SELECT doc, next FROM crons WHERE id=?`, id)
		if err == nil && !ok {
			err = &thread.NotFoundError{Kind: notFoundCron, ID: id}
		}
		return errorsFirst(err, bad)
	})
	return c, err
}

// DeleteCron implements thread.Crons.
func (s *Store) DeleteCron(ctx context.Context, id string) error {
	return s.write(ctx, true, func(t *tx) error {
		n, err := t.exec(`DELETE FROM crons WHERE id=?`, id)
		if err == nil && n == 0 {
			err = &thread.NotFoundError{Kind: notFoundCron, ID: id}
		}
		return err
	})
}

// SearchCrons implements thread.Crons.
func (s *Store) SearchCrons(ctx context.Context, q thread.CronQuery) (list []thread.Cron, total int, err error) {
	err = s.read(ctx, func(c *conn) error {
		list = nil
		r := c.query(`SELECT doc, next FROM crons ORDER BY created DESC, id`)
		for r.next() {
			cron, err := readCron(r)
			if err != nil {
				return errorsFirst(err, r.close())
			}
			if query.CronMatches(q, cron) {
				list = append(list, cron)
			}
		}
		return r.close()
	})
	if err != nil {
		return nil, 0, err
	}
	query.SortCrons(list, q.SortBy, q.SortAsc)
	return query.Page(list, q.Limit, q.Offset), len(list), nil
}

// FireCron implements thread.Crons.
func (s *Store) FireCron(ctx context.Context, id string, due, next time.Time) (fired bool, err error) {
	err = s.write(ctx, true, func(t *tx) error {
		n, err := t.exec(`UPDATE crons SET next=? WHERE id=? AND next=? AND enabled=1`, micros(next), id, micros(due))
		fired = n == 1
		return err
	})
	return fired, err
}

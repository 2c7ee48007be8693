package redis

import (
	"context"
	"encoding/json"
	"sort"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// cron runs one of the script's transitions.
func (s *Store) cron(ctx context.Context, args ...any) reply {
	op := newOp()
	return s.eval(ctx, "cron", append(s.keys.crons(), s.keys.cronsOp(op)), append([]any{op}, args...)...)
}

// PutCron implements thread.Crons.
func (s *Store) PutCron(ctx context.Context, c thread.Cron) error {
	doc, err := encodeJSON(c)
	if err != nil {
		return err
	}
	r := s.cron(ctx, "put", c.ID, micros(c.NextRun), c.Enabled, []byte(doc))
	return r.err
}

// readCrons reads one cron, or (id "") all, or all that are due until a time.
func (s *Store) readCrons(ctx context.Context, id string, until time.Time) (list []thread.Cron, err error) {
	r := s.eval(ctx, "crons", s.keys.crons(), id, micros(until))
	for r.more() {
		next, doc := r.int(), r.blob()
		if r.err != nil {
			break
		}
		var c thread.Cron
		if err := json.Unmarshal(doc, &c); err != nil {
			return nil, err
		}
		c.NextRun = timeOf(next) // FireCron moves it
		list = append(list, c)
	}
	return list, r.err
}

// GetCron implements thread.Crons.
func (s *Store) GetCron(ctx context.Context, id string) (thread.Cron, error) {
	list, err := s.readCrons(ctx, id, time.Time{})
	if err == nil && len(list) == 0 || id == "" {
		err = &thread.NotFoundError{Kind: notFoundCron, ID: id}
	}
	if err != nil {
		return thread.Cron{}, err
	}
	return list[0], nil
}

// DeleteCron implements thread.Crons.
func (s *Store) DeleteCron(ctx context.Context, id string) error {
	r := s.cron(ctx, "delete", id)
	if r.err == nil && r.status() == "GONE" {
		return &thread.NotFoundError{Kind: notFoundCron, ID: id}
	}
	return r.err
}

// SearchCrons implements thread.Crons.
func (s *Store) SearchCrons(ctx context.Context, q thread.CronQuery) (list []thread.Cron, total int, err error) {
	var until time.Time
	if q.Enabled != nil && *q.Enabled {
		until = q.DueBefore // those are indexed: the loop that fires crons reads only what is due
	}
	all, err := s.readCrons(ctx, "", until)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range all {
		if query.CronMatches(q, c) {
			list = append(list, c)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if c := list[j].CreatedAt.Compare(list[i].CreatedAt); c != 0 {
			return c < 0
		}
		return list[i].ID < list[j].ID
	})
	query.SortCrons(list, q.SortBy, q.SortAsc)
	return query.Page(list, q.Limit, q.Offset), len(list), nil
}

// FireCron implements thread.Crons.
func (s *Store) FireCron(ctx context.Context, id string, due, next time.Time) (bool, error) {
	r := s.cron(ctx, "fire", id, micros(due), micros(next))
	if r.err != nil {
		return false, r.err
	}
	return r.status() == "OK", r.err
}

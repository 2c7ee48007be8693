package redis

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

var _ thread.ReviewStore = (*Store)(nil)

// storedReview is a review as it is stored, with all its ids.
type storedReview struct {
	thread.Review
	ids []string
}

// comment is a thread.Comment as it is stored: its time is in microseconds, so that
// scripts can fill it in.
type comment struct {
	By   string `json:"by"`
	At   int64  `json:"at"`
	Text string `json:"text"`
}

// takeReview reads a review as scripts tell it.
func takeReview(threadID string, r *reply) (storedReview, error) {
	in := r.inner()
	v := storedReview{Review: thread.Review{ThreadID: threadID, InterruptID: in.text()}}
	ids := in.inner()
	v.ids = slices.Clone(ids.texts())
	if len(v.ids) > 0 {
		v.ID = v.ids[len(v.ids)-1]
	}
	v.Status, v.Version = reviewStatuses[in.text()], in.int()
	v.CreatedAt, v.UpdatedAt, v.Generation = timeOf(in.int()), timeOf(in.int()), in.int()
	v.RunID, v.NS, v.CheckpointID = in.text(), in.text(), in.text()
	v.Assignee, v.ClaimedUntil, v.ExpiresAt, v.WarnAt = in.text(), timeOf(in.int()), timeOf(in.int()), timeOf(in.int())
	v.Role, v.Escalations = in.text(), int(in.int())
	comments := in.blob()
	o := thread.Outcome{By: in.text(), At: timeOf(in.int()), Decision: in.text(), Notes: in.text(), RunID: in.text()}
	draft, question := in.blob(), in.blob()
	o.Answer = in.blob()
	if err := errorsFirst(in.err, ids.err); err != nil {
		return v, err
	}
	if v.Status == thread.ReviewDecided || v.Status == thread.ReviewExpired {
		v.Decided = &o
	}
	var info agent.InterruptInfo
	err := errorsFirst(json.Unmarshal(draft, &v.ReviewDraft), decodeQuestion(question, &info))
	v.Payload, v.ResponseSchema = info.Value, info.ResponseSchema
	if err == nil {
		v.Comments, err = decodeComments(comments)
	}
	return v, err
}

func decodeComments(b []byte) (list []thread.Comment, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	var stored []comment
	err = json.Unmarshal(b, &stored)
	for _, c := range stored {
		list = append(list, thread.Comment{By: c.By, At: timeOf(c.At), Text: c.Text})
	}
	return list, err
}

// asked is what a transition that asks or answers questions has to know.
type asked struct {
	now time.Time
	// byEdit and byRun are the generations that questions get which an edit, or the running run, asks next.
	byEdit, byRun int64
	reviews       map[string]storedReview // by interrupt
}

// reading is the call that reads reviews of a thread; without ids all of them.
func (s *Store) reading(threadID string, ids ...string) *call {
	c := &call{script: "reviews", keys: s.keys.thread(threadID)}
	for _, id := range ids {
		c.args = append(c.args, id)
	}
	return c
}

// takeAsked reads the reply of reading.
func takeAsked(threadID string, r *reply) (a asked, list []storedReview, err error) {
	if r.status() == "GONE" {
		return a, nil, noThread(threadID)
	}
	a = asked{now: timeOf(r.int()), byEdit: r.int(), byRun: r.int(), reviews: map[string]storedReview{}}
	for r.more() {
		v, err := takeReview(threadID, r)
		if err != nil {
			return a, nil, err
		}
		a.reviews[v.InterruptID] = v
		list = append(list, v)
	}
	return a, list, r.err
}

func (s *Store) readReviews(ctx context.Context, threadID string, ids ...string) (asked, []storedReview, error) {
	c := s.reading(threadID, ids...)
	if err := s.evalAll(ctx, c); err != nil {
		return asked{}, nil, err
	}
	return takeAsked(threadID, &c.reply)
}

// ThreadReviews implements thread.Reviews.
func (s *Store) ThreadReviews(ctx context.Context, threadID string) (list []thread.Review, err error) {
	a, stored, err := s.readReviews(ctx, threadID)
	for _, v := range stored {
		list = append(list, v.AsOf(a.now))
	}
	sort.Slice(list, func(i, j int) bool {
		if c := list[i].CreatedAt.Compare(list[j].CreatedAt); c != 0 {
			return c < 0
		}
		return list[i].InterruptID < list[j].InterruptID
	})
	return list, err
}

func noReview(id string) error { return &thread.NotFoundError{Kind: notFoundReview, ID: id} }

// GetReview implements thread.Reviews.
func (s *Store) GetReview(ctx context.Context, id string) (thread.Review, error) {
	fields, err := s.partFields(ctx, id)
	if err != nil {
		return thread.Review{}, err
	}
	owner, kind, interrupt := splitField(fields[id])
	if kind != partReview {
		return thread.Review{}, noReview(id)
	}
	a, list, err := s.readReviews(ctx, owner, interrupt)
	switch {
	case err == nil && len(list) == 1 && slices.Contains(list[0].ids, id):
		return list[0].AsOf(a.now), nil
	case err != nil && !isNotFound(err):
		return thread.Review{}, err
	}
	s.repair(ctx, owner)
	return thread.Review{}, noReview(id)
}

// partFields finds parts by ids: each shard knows those of its threads.
func (s *Store) partFields(ctx context.Context, ids ...string) (map[string]string, error) {
	cmds := make([]*rds.SliceCmd, s.keys.shards)
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for n := range cmds {
			cmds[n] = p.HMGet(ctx, s.keys.partIDs(n), ids...)
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	fields := map[string]string{}
	for _, cmd := range cmds {
		for i, v := range cmd.Val() {
			if field, ok := v.(string); ok {
				fields[ids[i]] = field
			}
		}
	}
	return fields, nil
}

// reviewsAt reads the reviews that fields of shards name, in their order; nil for those
// that aren't there.
func (s *Store) reviewsAt(ctx context.Context, fields []string) (list []*storedReview, now time.Time, err error) {
	calls := make([]*call, len(fields))
	for i, field := range fields {
		owner, _, interrupt := splitField(field)
		calls[i] = s.reading(owner, interrupt)
	}
	if err := s.evalAll(ctx, calls...); err != nil {
		return nil, now, err
	}
	for i, c := range calls {
		owner, _, _ := splitField(fields[i])
		a, found, err := takeAsked(owner, &c.reply)
		switch {
		case isNotFound(err) || err == nil && len(found) == 0:
			list = append(list, nil)
			continue
		case err != nil:
			return nil, now, err
		}
		list = append(list, &found[0])
		now = a.now
	}
	return list, now, nil
}

// DueReviews implements thread.Reviews.
func (s *Store) DueReviews(ctx context.Context, limit int) (due []thread.Review, err error) {
	now, err := s.storeTime(ctx)
	if err != nil {
		return nil, err
	}
	fields, _, err := s.earliest(ctx, s.keys.partDue, now, 0, limit)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	list, now, err := s.reviewsAt(ctx, fields)
	if err != nil {
		return nil, err
	}
	for i, v := range list {
		if v != nil && v.Status.Open() && !v.Due().IsZero() && !v.Due().After(now) {
			due = append(due, v.AsOf(now))
			continue
		}
		owner, _, _ := splitField(fields[i])
		s.repair(ctx, owner)
		if v == nil || !v.Status.Open() { // whatever the thread's entry says: it must not come up again and again
			s.client.ZRem(ctx, s.keys.partDue(s.keys.shardOf(owner)), fields[i])
		}
	}
	return due, nil
}

// NextReviewDue implements thread.Reviews. An entry may be too early, never too late.
func (s *Store) NextReviewDue(ctx context.Context) (next time.Time, err error) {
	cmds := make([]*rds.ZSliceCmd, s.keys.shards)
	_, err = s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for n := range cmds {
			cmds[n] = p.ZRangeWithScores(ctx, s.keys.partDue(n), 0, 0)
		}
		return nil
	})
	if err != nil && !errors.Is(err, rds.Nil) {
		return next, unavailable(err)
	}
	for _, cmd := range cmds {
		if first := cmd.Val(); len(first) > 0 {
			if at := timeOf(int64(first[0].Score)); next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next, nil
}

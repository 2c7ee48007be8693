package redis

import (
	"context"
	"slices"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// DueDeliveries implements thread.Outbox.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time, limit int) ([]thread.Delivery, error) {
	ids, _, err := s.earliest(ctx, s.keys.deliveries, now, 0, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	owners, err := s.deliveryOwners(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var threads []string
	for _, id := range ids {
		if owner := owners[id]; owner != "" && !slices.Contains(threads, owner) {
			threads = append(threads, owner)
		}
	}
	all, err := s.outboxes(ctx, threads, false)
	if err != nil {
		return nil, err
	}
	var list []thread.Delivery
	for _, id := range ids {
		i := slices.IndexFunc(all, func(d thread.Delivery) bool { return d.ID == id })
		switch {
		case i < 0:
			if owners[id] != "" {
				s.repair(ctx, owners[id])
			}
		case !all[i].Due.After(now):
			list = append(list, all[i])
		}
	}
	return list, nil
}

// deliveryOwners finds the threads of webhooks: each shard knows those of its threads.
func (s *Store) deliveryOwners(ctx context.Context, ids ...string) (map[string]string, error) {
	cmds := make([]*rds.SliceCmd, 2*s.keys.shards)
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for n := range s.keys.shards {
			cmds[2*n] = p.HMGet(ctx, s.keys.owners(n), ids...)
			cmds[2*n+1] = p.HMGet(ctx, s.keys.partIDs(n), ids...) // of those that are dead
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	owners := map[string]string{}
	for n, cmd := range cmds {
		for i, v := range cmd.Val() {
			owner, ok := v.(string)
			if ok && n%2 == 1 {
				owner, _, _ = splitField(owner)
			}
			if ok {
				owners[ids[i]] = owner
			}
		}
	}
	return owners, nil
}

// RetryDelivery implements thread.Outbox.
func (s *Store) RetryDelivery(ctx context.Context, id string, due time.Time, lastError string) error {
	return s.changeDelivery(ctx, id, "retry", max(micros(due), 1), lastError)
}

// FinishDelivery implements thread.Outbox. A delivery that is gone is finished.
func (s *Store) FinishDelivery(ctx context.Context, id string) error {
	err := s.changeDelivery(ctx, id, "finish", 0, "")
	if isNotFound(err) {
		return nil
	}
	return err
}

// FailDelivery implements thread.DeadLetters.
func (s *Store) FailDelivery(ctx context.Context, id, lastError string) error {
	return s.changeDelivery(ctx, id, "fail", 0, lastError)
}

// DeadDeliveries implements thread.DeadLetters.
func (s *Store) DeadDeliveries(ctx context.Context, limit int) (list []thread.Delivery, err error) {
	low, high := deadLetters().bounds()
	for len(list) < limit {
		members, err := s.merged(ctx, s.keys.partIndex, low, high, false, limit)
		if err != nil || len(members) == 0 {
			return list, err
		}
		var threads []string
		for _, m := range members {
			_, field := deadLetters().split(m)
			if owner, _, _ := splitField(field); !slices.Contains(threads, owner) {
				threads = append(threads, owner)
			}
		}
		all, err := s.outboxes(ctx, threads, true)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			_, field := deadLetters().split(m)
			owner, _, id := splitField(field)
			if i := slices.IndexFunc(all, func(d thread.Delivery) bool { return d.ID == id }); i >= 0 {
				list = append(list, all[i])
			} else {
				s.repair(ctx, owner)
			}
		}
		high = "(" + members[len(members)-1]
	}
	return list[:min(limit, len(list))], nil
}

func (s *Store) changeDelivery(ctx context.Context, id, what string, due int64, lastError string) error {
	owners, err := s.deliveryOwners(ctx, id)
	if err != nil {
		return err
	}
	gone := &thread.NotFoundError{Kind: notFoundDelivery, ID: id}
	if owners[id] == "" {
		return gone
	}
	_, err = s.change(ctx, owners[id], "delivery", []any{newOp(), id, what, due, lastError}, derived{})
	if isNotFound(err) {
		return gone
	}
	return err
}

// outboxes reads the webhooks of threads: those that are tried no more, or the others.
func (s *Store) outboxes(ctx context.Context, ids []string, dead bool) (list []thread.Delivery, err error) {
	calls := make([]*call, len(ids))
	for i, id := range ids {
		calls[i] = &call{script: "deliveries", keys: s.keys.thread(id), args: []any{dead}}
	}
	if err := s.evalAll(ctx, calls...); err != nil {
		return nil, err
	}
	for i, c := range calls {
		for c.reply.more() {
			in := c.reply.inner()
			d := thread.Delivery{ThreadID: ids[i], ID: in.text(), RunID: in.text(), URL: in.text(), Attempt: int(in.int()), Due: timeOf(in.int()),
				Event: in.text(), InterruptID: in.text(), LastError: in.text(), Dead: dead}
			if in.err != nil {
				return nil, in.err
			}
			list = append(list, d)
		}
	}
	return list, nil
}

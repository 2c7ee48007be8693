package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"sort"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// defaultPage is how many rows a list has when its caller names no limit.
const defaultPage = 50

// executionsOf is what the places of a project's executions in their order begin with.
func executionsOf(project string) prefix {
	if project == "" {
		project = thread.DefaultProject
	}
	p := binary.BigEndian.AppendUint16(nil, uint16(len(project)))
	return prefix(append(p, project...))
}

// placeOf is a run's place in the order of executions; "" for one that begins none.
func placeOf(run thread.Run) string {
	if run.ExecutionID != run.ID {
		return ""
	}
	return executionsOf(run.Project).member(micros(orNow(run.CreatedAt)), run.ID)
}

// ListExecutions implements thread.Executions. Each run's shard has its place in the order,
// written before the run is admitted and removed behind it, like its thread.
func (s *Store) ListExecutions(ctx context.Context, q thread.ExecutionQuery) (list []thread.Run, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	of := executionsOf(q.Project)
	low, high := of.bounds()
	if q.Before != "" {
		place, err := s.client.HGet(ctx, s.keys.executions(s.keys.shardOf(q.Before)), q.Before).Result()
		if errors.Is(err, rds.Nil) {
			return nil, noRun(q.Before)
		}
		if err != nil {
			return nil, unavailable(err)
		}
		high = "(" + place
	}
	for len(list) < limit {
		places, err := s.merged(ctx, s.keys.executionOrder, low, high, false, limit)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, place := range places {
			_, id := of.split(place)
			ids = append(ids, id)
		}
		runs, err := s.findRuns(ctx, ids)
		if err != nil {
			return nil, err
		}
		list = append(list, runs...)
		if len(places) < limit {
			break
		}
		high = "(" + places[len(places)-1]
	}
	return list[:min(limit, len(list))], nil
}

// merged is a range of members of a sorted set per shard, of all shards in their order,
// at most limit.
func (s *Store) merged(ctx context.Context, key func(int) string, low, high string, asc bool, limit int) ([]string, error) {
	cmds := make([]*rds.StringSliceCmd, s.keys.shards)
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for n := range cmds {
			a := rds.ZRangeArgs{Key: key(n), ByLex: true, Start: low, Stop: high, Rev: !asc, Count: int64(limit)}
			if a.Rev {
				a.Start, a.Stop = high, low
			}
			cmds[n] = p.ZRangeArgs(ctx, a)
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	var list []string
	for _, cmd := range cmds {
		list = append(list, cmd.Val()...)
	}
	sort.Slice(list, func(i, j int) bool { return (list[i] < list[j]) == asc && list[i] != list[j] })
	return list[:min(limit, len(list))], nil
}

// findRuns reads runs of any threads; those that are gone, or just being admitted, are left out.
func (s *Store) findRuns(ctx context.Context, ids []string) (list []thread.Run, err error) {
	owners := make([]*rds.StringCmd, len(ids))
	_, err = s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for i, id := range ids {
			owners[i] = p.HGet(ctx, s.keys.runs(id), id)
		}
		return nil
	})
	if err != nil && !errors.Is(err, rds.Nil) {
		return nil, unavailable(err)
	}
	var calls []*call
	var threads []string
	for i, id := range ids {
		switch owner, err := owners[i].Result(); {
		case errors.Is(err, rds.Nil):
		case err != nil:
			return nil, unavailable(err)
		default:
			calls = append(calls, &call{script: "run", keys: s.keys.thread(owner), args: []any{"id", id}})
			threads = append(threads, owner)
		}
	}
	if err := s.evalAll(ctx, calls...); err != nil {
		return nil, err
	}
	for i, c := range calls {
		if c.reply.status() == "GONE" {
			continue
		}
		runs, err := takeRuns(threads[i], &c.reply)
		if err != nil {
			return nil, err
		}
		list = append(list, runs...)
	}
	return list, nil
}

// storeTime is the server's time.
func (s *Store) storeTime(ctx context.Context) (time.Time, error) {
	at, err := s.client.Time(ctx).Result()
	if err != nil {
		err = unavailable(err)
	}
	return at.UTC(), err
}

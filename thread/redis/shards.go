package redis

import (
	"context"
	"sort"
	"time"

	rds "github.com/redis/go-redis/v9"
)

// earliest merges the members of a sorted set per shard whose score is a time
// that has come: those from skip on, at most limit. more tells of others behind them.
func (s *Store) earliest(ctx context.Context, key func(int) string, until time.Time, skip, limit int) (ids []string, more bool, err error) {
	cmds := make([]*rds.ZSliceCmd, s.keys.shards)
	_, err = s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for n := range cmds {
			cmds[n] = p.ZRangeArgsWithScores(ctx, rds.ZRangeArgs{
				Key: key(n), ByScore: true, Start: "-inf", Stop: micros(until), Count: int64(skip + limit + 1),
			})
		}
		return nil
	})
	if err != nil {
		return nil, false, unavailable(err)
	}
	var all []rds.Z
	for _, cmd := range cmds {
		all = append(all, cmd.Val()...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Score < all[j].Score })
	for _, z := range all[min(skip, len(all)):min(skip+limit, len(all))] {
		ids = append(ids, z.Member.(string))
	}
	return ids, len(all) > skip+limit, nil
}

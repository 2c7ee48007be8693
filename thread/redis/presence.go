package redis

import (
	"context"
	"strconv"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

var _ thread.Presence = (*Store)(nil)

// Look implements thread.Presence: a hash of who looks at the thing and until when, which is gone when nobody
// does. Nothing of it is worth a transition.
func (s *Store) Look(ctx context.Context, thing, who string, now time.Time, ttl time.Duration, limit int) ([]string, error) {
	key := s.keys.presence(thing)
	var all *rds.MapStringStringCmd
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		if ttl > 0 {
			p.HSet(ctx, key, who, now.Add(ttl).UnixMilli())
			p.PExpire(ctx, key, ttl)
		} else {
			p.HDel(ctx, key, who)
		}
		all = p.HGetAll(ctx, key)
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	var list, gone []string
	for other, until := range all.Val() {
		if ms, err := strconv.ParseInt(until, 10, 64); err != nil || ms <= now.UnixMilli() {
			gone = append(gone, other)
		} else {
			list = append(list, other)
		}
	}
	if len(list) > limit { // whoever is too many isn't noted
		gone = append(gone, who)
		list = list[:limit]
	}
	if len(gone) == 0 {
		return list, nil
	}
	return list, unavailable(s.client.HDel(ctx, key, gone...).Err())
}

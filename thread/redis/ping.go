package redis

import (
	"context"
	"fmt"

	rds "github.com/redis/go-redis/v9"
)

// Ping tells whether Redis answers: in a cluster, whether each master does.
func (s *Store) Ping(ctx context.Context) error {
	ping := func(ctx context.Context, c *rds.Client) error { return c.Ping(ctx).Err() }
	var err error
	if cluster, ok := s.client.(*rds.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, ping)
	} else {
		err = s.client.Ping(ctx).Err()
	}
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

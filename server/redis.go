package server

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// redisFlags are the flags of servers that share their data.
type redisFlags struct {
	Redis      string `help:"Keep everything in Redis, which any number of servers may share: redis://, rediss://, redis+sentinel:// or redis+cluster://." env:"PARLEY_REDIS" placeholder:"URL"`
	Durability string `help:"What an acknowledged decision survives in Redis: none, everysec (default), always (a crash) or replicated (a fail-over)." env:"PARLEY_DURABILITY" placeholder:"LEVEL"`
}

// apply takes the flags over.
func (f redisFlags) apply(o *Options) {
	if f.Redis != "" {
		o.Redis.URL, o.Redis.Client = f.Redis, nil
	}
	if f.Durability != "" {
		o.Redis.Durability = redis.Durability(f.Durability)
	}
}

// redis reports whether the data is in Redis.
func (o Options) redis() bool { return o.Redis.URL != "" || o.Redis.Client != nil }

// redisStart is how long the connection to Redis may take when a server starts.
const redisStart = 15 * time.Second

func openRedis(o Options) (thread.Store, error) {
	ro := o.Redis
	if ro.Logger == nil {
		ro.Logger = o.Logger
	}
	ctx, cancel := context.WithTimeout(context.Background(), redisStart)
	defer cancel()
	store, err := redis.Open(ctx, ro)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return store, nil
}

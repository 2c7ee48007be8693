package redis_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
	"github.com/parley-dev/parley/thread/storetest"
)

func TestStoreOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster of three masters")
	}
	c := redistest.StartCluster(t, 3, 0)
	storetest.Run(t, func(t *testing.T) thread.Store {
		s, err := redis.Open(context.Background(), redis.Options{Logger: quiet, URL: c.URL(), Prefix: "test:" + uuid.NewString()[:8] + ":"})
		require.NoError(t, err)
		return s
	})
}

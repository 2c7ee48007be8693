package redis_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// shared is the server of all tests that need none of their own.
var shared struct {
	once sync.Once
	dir  string
	s    *redistest.Server
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.s != nil {
		shared.s.Stop()
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

func sharedServer(t testing.TB) *redistest.Server {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "parley-redis"); shared.err == nil {
			shared.s, shared.err = redistest.New(shared.dir)
		}
	})
	if errors.Is(shared.err, exec.ErrNotFound) {
		t.Skip("redis-server is missing: install Redis 6.2 or later (Debian: apt-get install redis-server)")
	}
	require.NoError(t, shared.err)
	return shared.s
}

// quiet is the logger of stores whose warnings are part of the test.
var quiet = slog.New(slog.DiscardHandler)

// openStore opens a store with keys of its own on the shared server.
func openStore(t testing.TB, change ...func(*redis.Options)) *redis.Store {
	t.Helper()
	o := redis.Options{Logger: quiet, URL: sharedServer(t).URL(), Prefix: "test:" + uuid.NewString()[:8] + ":"}
	for _, f := range change {
		f(&o)
	}
	s, err := redis.Open(context.Background(), o)
	require.NoError(t, err)
	return s
}

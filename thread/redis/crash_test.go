package redis_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/storetest"
)

// crashURL names the server to the processes that will be killed.
const crashURL = "PARLEY_TEST_REDIS"

// TestCrashes kills processes that work on the store; the server lives.
func TestCrashes(t *testing.T) {
	if os.Getenv(crashURL) == "" {
		t.Setenv(crashURL, sharedServer(t).URL())
	}
	storetest.Crash(t, func(dir string) (thread.Store, error) {
		o := redis.Options{Logger: quiet, URL: os.Getenv(crashURL), Prefix: "crash:" + filepath.Base(filepath.Dir(dir)) + ":"}
		return redis.Open(context.Background(), o)
	})
}

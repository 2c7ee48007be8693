package redis_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// TestNobodyWaitsForAServerThatIsAway: a server that hangs costs the first callers their
// timeout; then calls fail at once, until the server answers again.
func TestNobodyWaitsForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, err := redis.Connect(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx := t.Context()
	require.NoError(t, client.Ping(ctx).Err())

	require.NoError(t, server.Process().Signal(syscall.SIGSTOP))
	ping := func() error { return client.Ping(ctx).Err() }
	pipeline := func() error {
		cmds, err := client.Pipelined(ctx, func(p rds.Pipeliner) error { p.Ping(ctx); return nil })
		if redis.IsBroken(err) {
			require.ErrorIs(t, cmds[0].Err(), err)
		}
		return err
	}
	together := func(calls ...func() error) (errs []error) {
		errs = make([]error, len(calls))
		var wg sync.WaitGroup
		for i, call := range calls {
			wg.Go(func() { errs[i] = call() })
		}
		wg.Wait()
		return errs
	}
	for isOpen := false; !isOpen; {
		for _, err := range together(ping, ping, ping, ping, ping) {
			require.True(t, redis.IsAway(err), "%v", err)
			isOpen = isOpen || redis.IsBroken(err)
		}
	}
	for _, calls := range [][]func() error{{ping, ping}, {pipeline, pipeline}} {
		errs := together(calls...) // one of them may be the one that finds out
		require.True(t, redis.IsAway(errs[0]) && redis.IsAway(errs[1]), "%v", errs)
		require.True(t, redis.IsBroken(errs[0]) || redis.IsBroken(errs[1]), "%v", errs)
	}

	require.NoError(t, server.Process().Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return ping() == nil }, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, pipeline())
}

// TestCallersThatGiveUpOpenNoCircuit: that says nothing of the server.
func TestCallersThatGiveUpOpenNoCircuit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, err := redis.Connect(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		require.Error(t, client.BLPop(ctx, time.Second, "nothing").Err())
		cancel()
	}
	require.NoError(t, client.Ping(t.Context()).Err())
}

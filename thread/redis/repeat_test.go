package redis_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/storetest"
)

// repeating sends every script twice and hands on the second reply, as the client
// does by itself when the first is lost.
type repeating struct{}

func (repeating) DialHook(next rds.DialHook) rds.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (repeating) ProcessHook(next rds.ProcessHook) rds.ProcessHook {
	return func(ctx context.Context, cmd rds.Cmder) error {
		if strings.HasPrefix(strings.ToLower(cmd.Name()), "eval") {
			_ = next(ctx, cmd)
			cmd.SetErr(nil)
		}
		return next(ctx, cmd)
	}
}

func (repeating) ProcessPipelineHook(next rds.ProcessPipelineHook) rds.ProcessPipelineHook {
	return func(ctx context.Context, cmds []rds.Cmder) error {
		_ = next(ctx, cmds)
		for _, cmd := range cmds {
			cmd.SetErr(nil)
		}
		return next(ctx, cmds)
	}
}

// TestStoreRepeatsItself: the client sends a command again when its reply is
// lost, so that every transition has to stand its repetition (spec/libraries.md 7, pitfall 3; D-84, D-89).
func TestStoreRepeatsItself(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	storetest.Run(t, func(t *testing.T) thread.Store {
		client := rds.NewClient(&rds.Options{Addr: addr, DisableIdentity: true})
		client.AddHook(repeating{})
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		s, err := redis.Open(context.Background(), redis.Options{Logger: quiet, Client: client, Prefix: "test:" + uuid.NewString()[:8] + ":"})
		require.NoError(t, err)
		return s
	})
}

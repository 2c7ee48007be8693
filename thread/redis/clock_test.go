package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// ahead is a client whose server's clock is ahead of the process's.
type ahead time.Duration

func (a ahead) DialHook(next rds.DialHook) rds.DialHook { return next }

func (a ahead) ProcessHook(next rds.ProcessHook) rds.ProcessHook {
	return func(ctx context.Context, cmd rds.Cmder) error {
		a.send(cmd)
		err := next(ctx, cmd)
		a.receive(cmd)
		return err
	}
}

func (a ahead) ProcessPipelineHook(next rds.ProcessPipelineHook) rds.ProcessPipelineHook {
	return func(ctx context.Context, cmds []rds.Cmder) error {
		for _, cmd := range cmds {
			a.send(cmd)
		}
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			a.receive(cmd)
		}
		return err
	}
}

// send makes a script read another time.
func (a ahead) send(cmd rds.Cmder) {
	if cmd.Name() != "evalsha" {
		return
	}
	const seconds = "tonumber(t[1])"
	source := redis.ScriptSource(cmd.Args()[1].(string))
	cmd.Args()[0], cmd.Args()[1] = "eval", strings.ReplaceAll(source, seconds, fmt.Sprintf("(%s + %d)", seconds, time.Duration(a)/time.Second))
}

func (a ahead) receive(cmd rds.Cmder) {
	if c, ok := cmd.(*rds.TimeCmd); ok && c.Err() == nil {
		c.SetVal(c.Val().Add(time.Duration(a)))
	}
}

// TestGivenUpRunEndsAtTheStoresTime: however wrong the clock of the process is that gives it up, or deletes it (design 3.6).
func TestGivenUpRunEndsAtTheStoresTime(t *testing.T) {
	t.Parallel()
	client := rds.NewClient(&rds.Options{Addr: sharedServer(t).Addr(), DisableIdentity: true})
	client.AddHook(ahead(time.Hour))
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, Client: client, Prefix: "test:" + newID() + ":"})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, s.Close())
		require.NoError(t, client.Close())
	}()
	a := admission(newID())
	a.Run.Kwargs.Webhook = "/hook"
	began, err := s.Time(t.Context())
	require.NoError(t, err)
	_, err = s.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	var run thread.Run
	require.Eventually(t, func() bool {
		_, _, _, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w", Lease: time.Millisecond, MaxAttempts: 1})
		require.NoError(t, err)
		run, err = s.GetRun(t.Context(), a.Run.ThreadID, a.Run.ID)
		return err == nil && run.Status == thread.RunError
	}, time.Minute, 2*time.Millisecond)
	ended, err := s.Time(t.Context())
	require.NoError(t, err)
	during := func(at time.Time, what string) {
		require.WithinRange(t, at, began.Truncate(time.Millisecond), ended, what)
	}
	during(run.EndedAt, "the run")
	th, err := s.GetThread(t.Context(), a.Run.ThreadID)
	require.NoError(t, err)
	during(th.UpdatedAt, "the thread")
	entries, err := s.ReadRunLog(t.Context(), a.Run.ThreadID, a.Run.ID, 0, 0)
	require.NoError(t, err)
	last := entries[len(entries)-1].Event
	require.Equal(t, agent.RunFinished, last.Kind)
	during(time.UnixMilli(last.At), "the log")
	due, err := s.DueDeliveries(t.Context(), ended, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	during(due[0].Due, "the webhook")

	waiting := admission(a.Run.ThreadID)
	_, err = s.AdmitRun(t.Context(), waiting)
	require.NoError(t, err)
	told, err := s.DeleteRun(t.Context(), a.Run.ThreadID, waiting.Run.ID)
	require.NoError(t, err)
	require.NotEmpty(t, told)
	require.GreaterOrEqual(t, told[0].Event.At, ended.UnixMilli(), "the end of a run that is deleted")
}

package thread_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

func TestSpanOfAnyLengthIsNeverNegative(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]time.Duration{
		0: 0, 1.5: 90 * time.Second, 153722867: 153722867 * time.Minute,
		153722868: math.MaxInt64, 1e10: math.MaxInt64, 1e300: math.MaxInt64, math.MaxFloat64: math.MaxInt64,
	} {
		require.Equal(t, want, thread.Span(n, time.Minute), n)
	}
}

func TestThreadOfAnEndlessTTLStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	th, err := b.svc.CreateThread(t.Context(), thread.CreateThread{TTLMinutes: 1e300})
	require.NoError(t, err)
	require.True(t, th.ExpiresAt.After(time.Now().AddDate(100, 0, 0)))
	b.svc.Sweep(t.Context())
	_, err = b.svc.GetThread(t.Context(), th.ID)
	require.NoError(t, err)
}

func TestRunDelayedForEverDoesNotStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	start := input(b.thread(), "echo", `{}`)
	start.AfterSeconds = 1e300
	started, err := b.svc.StartRun(t.Context(), start)
	require.NoError(t, err)
	require.Equal(t, thread.RunPending, started.Run.Status)
	require.True(t, started.Run.NotBefore.After(time.Now().AddDate(100, 0, 0)))
	b.run(input(b.thread(), "echo", `{}`)) // a worker had its chance
	run, err := b.svc.GetRun(t.Context(), started.Run.ThreadID, started.Run.ID)
	require.NoError(t, err)
	require.Equal(t, thread.RunPending, run.Status)
}

package thread_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// unconfirmed is a store whose replicas are away until they are back.
type unconfirmed struct {
	*local.Store
	back atomic.Bool
}

func (u *unconfirmed) AdmitRun(ctx context.Context, a thread.Admission) (thread.Admitted, error) {
	out, err := u.Store.AdmitRun(ctx, a)
	return out, u.or(err)
}

func (u *unconfirmed) RunByKey(ctx context.Context, threadID, key string) (thread.Run, error) {
	run, err := u.Store.RunByKey(ctx, threadID, key)
	return run, u.or(err)
}

func (u *unconfirmed) or(err error) error {
	if err == nil && !u.back.Load() {
		return thread.ErrUnconfirmed
	}
	return err
}

// TestKeyDoesNotVouchForWhatIsUnconfirmed: a run that isn't as durable yet as was
// asked for isn't acknowledged, although its key finds it; once it is, the repetition
// gets it (decisions 18).
func TestKeyDoesNotVouchForWhatIsUnconfirmed(t *testing.T) {
	t.Parallel()
	store := &unconfirmed{}
	b := setup(t, wrapping(func(s thread.Store) thread.Store { store.Store = s.(*local.Store); return store }))
	r := input(b.thread(), "echo", `{}`)
	r.IdempotencyKey = "k"
	for range 2 {
		_, err := b.svc.StartRun(t.Context(), r)
		require.ErrorIs(t, err, thread.ErrUnconfirmed)
	}
	store.back.Store(true)
	started, err := b.svc.StartRun(t.Context(), r)
	require.NoError(t, err)
	require.True(t, started.Repeat)
	require.Equal(t, thread.RunSuccess, b.wait(started.Run).Status)
}

package executions_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread"
	embedded "github.com/parley-dev/parley/thread/local"
)

// awayStore can't be reached for a while, or stores without being able to say so.
type awayStore struct {
	thread.Store
	reads  atomic.Bool
	admits atomic.Bool
}

func (s *awayStore) FindRun(ctx context.Context, id string) (thread.Run, error) {
	if s.reads.Load() {
		return thread.Run{}, thread.ErrUnavailable
	}
	return s.Store.FindRun(ctx, id)
}

func (s *awayStore) AdmitRun(ctx context.Context, a thread.Admission) (thread.Admitted, error) {
	admitted, err := s.Store.AdmitRun(ctx, a)
	if err == nil && s.admits.Load() {
		err = thread.ErrUnconfirmed
	}
	return admitted, err
}

// EX 5: the store is away → 503 with Retry-After. decisions 18: what was stored but isn't confirmed stands, and its repeat gets
// the first result.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	inner, err := embedded.Open(t.Context(), embedded.Options{Ephemeral: true})
	require.NoError(t, err)
	store := &awayStore{Store: inner}
	w := empty(t)
	w.start(server.Options{Store: store}, nil)
	c := w.anybody()
	id := c.suspend("refund", "x")

	store.reads.Store(true)
	for _, a := range []answer{
		c.resume(id, `{"decision":"approve"}`), c.get("/executions/" + id), c.post("/executions/"+id+"/interrupt", "{}"),
	} {
		a.code(http.StatusServiceUnavailable, "UNAVAILABLE")
		require.NotEmpty(t, a.header.Get("Retry-After"))
	}
	store.reads.Store(false)
	require.Equal(t, "suspended", c.execution(id)["status"])

	store.admits.Store(true)
	a := c.resume(id, `{"decision":"approve"}`)
	a.code(http.StatusServiceUnavailable, "UNCONFIRMED")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	store.admits.Store(false)
	c.resume(id, `{"decision":"approve"}`).ok()
	e := c.becomes(id, "completed")
	require.Len(t, e.texts("run_ids"), 2)
	require.Equal(t, 1, w.effects.count("Approve "+e.text("thread_id")))
}

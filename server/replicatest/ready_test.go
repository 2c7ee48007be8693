package replicatest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// TestNotReadyWhileRedisIsAway: readiness says no and comes back; liveness stays,
// since a new process would miss Redis, too.
func TestNotReadyWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	o := options(newPrefix())
	o.Redis = redis.Options{URL: own.URL()}
	r := start(t, o)
	ready := func() int {
		status, _ := r.do(http.MethodGet, "/readyz", "")
		return status
	}
	require.Equal(t, http.StatusOK, ready())
	own.Stop()
	r.until("not ready", func() bool { return ready() == http.StatusServiceUnavailable })
	require.Equal(t, true, r.ok(http.MethodGet, "/livez", "")["ok"])
	require.NoError(t, own.Restart())
	r.until("ready again", func() bool { return ready() == http.StatusOK })
}

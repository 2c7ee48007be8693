package replicatest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// TestRunIsFollowedAndResumedElsewhere: a run started on one replica is followed on
// another, in both dialects, and resumed on a third.
func TestRunIsFollowedAndResumedElsewhere(t *testing.T) {
	t.Parallel()
	r := replicas(t, 3)
	id := r[0].thread()
	events := r[1].read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":["lifecycle","values","input"]}`)
	first := r[0].start(id, `{"assistant_id":"ask","input":{"note":"x"}}`)
	joined := r[1].read(http.MethodGet, "/threads/"+id+"/runs/"+first+"/stream", "")
	joined.next("values", "__interrupt__")
	joined.rest()
	r[2].until("asked", func() bool { return r[2].ok(http.MethodGet, "/threads/"+id, "")["status"] == "interrupted" })

	again := r[2].read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"ask","command":{"resume":"yes"},"stream_mode":["values"]}`)
	last := again.rest()
	require.Contains(t, last[len(last)-1].data, `"done"`)
	for _, x := range r {
		state := x.ok(http.MethodGet, "/threads/"+id+"/state", "")
		require.Equal(t, []any{"answered", "done"}, state["values"].(map[string]any)["log"])
	}
	events.next("values", `"done"`)
}

// TestEventsReachOtherReplicasInOrder: a reader elsewhere misses nothing and sees
// nothing twice, whenever it comes.
func TestEventsReachOtherReplicasInOrder(t *testing.T) {
	t.Parallel()
	r := replicas(t, 3)
	for round := range 5 {
		id := r[0].thread()
		run := r[0].start(id, `{"assistant_id":"ticks","input":{"count":200},"stream_mode":["custom"]}`)
		var readers []*reading
		for i := range 6 {
			readers = append(readers, r[i%3].read(http.MethodGet, "/threads/"+id+"/runs/"+run+"/stream", ""))
			time.Sleep(time.Duration(10*round) * time.Millisecond) // they come at different times
		}
		for _, rd := range readers {
			list := rd.rest()
			require.Len(t, list, 201, "metadata and 200 ticks")
			for i, f := range list {
				require.Equal(t, fmt.Sprint(i), f.id)
				if i > 0 {
					require.Equal(t, fmt.Sprintf(`{"tick":%d}`, i-1), f.data)
				}
			}
		}
	}
}

// TestTokensReachOtherReplicasSoon: what is stored within 20 ms is seen elsewhere
// not much later.
func TestTokensReachOtherReplicasSoon(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	id := r[0].thread()
	events := r[1].read(http.MethodGet, "/threads/"+id+"/stream", "")
	run := r[0].start(id, `{"assistant_id":"slow","input":{"wait":30},"stream_mode":["custom"]}`)
	rd := r[1].read(http.MethodGet, "/threads/"+id+"/runs/"+run+"/stream", "")
	rd.next("custom", "waiting") // long before the superstep is stored
	events.next("custom", "waiting")
	r[1].ok(http.MethodPost, "/threads/"+id+"/runs/"+run+"/cancel?wait=true", "")
}

// TestCancelReachesTheOwner: within a second, whichever replica takes it (D-57).
func TestCancelReachesTheOwner(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2)
	best := time.Hour
	for range 3 {
		id := r[0].thread()
		run := r[0].start(id, `{"assistant_id":"slow","input":{"wait":60}}`)
		r[1].until("it runs", func() bool { return r[1].status(id, run) == "running" })
		begin := time.Now()
		r[1].ok(http.MethodPost, "/threads/"+id+"/runs/"+run+"/cancel?wait=true", "")
		best = min(best, time.Since(begin))
		require.Equal(t, "interrupted", r[0].status(id, run))
	}
	require.Less(t, best, time.Second)
}

// TestWorkIsSpread: what one replica has no worker for another one takes, at once.
func TestWorkIsSpread(t *testing.T) {
	t.Parallel()
	r := replicas(t, 2, func(i int, o *server.Options) { o.Workers = 1 + 63*i })
	first := r[0].thread()
	r[0].start(first, `{"assistant_id":"slow","input":{"wait":60}}`)
	best := time.Hour
	for range 5 {
		id := r[0].thread()
		begin := time.Now()
		run := r[0].start(id, `{"assistant_id":"ticks","input":{"count":1}}`)
		r[0].until("it has ended", func() bool { return r[0].status(id, run) == "success" })
		best = min(best, time.Since(begin))
	}
	require.Less(t, best, 2*time.Second, "not only when somebody happens to look")
}

// TestShutdownHandsOver: a replica that leaves gives its runs to the others.
func TestShutdownHandsOver(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	leaver := options(prefix)
	leaver.Lease = time.Minute // nobody would take it over in time
	s, err := server.New(leaver)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	stays := start(t, options(prefix))
	id := stays.thread()
	gone := serving(t, s)
	run := gone.start(id, `{"assistant_id":"slow","input":{"wait":2}}`)
	rd := stays.read(http.MethodGet, "/threads/"+id+"/runs/"+run+"/stream?stream_mode=values", "")
	stays.until("its first superstep", func() bool { return len(stays.log(id)) == 1 })
	require.NoError(t, s.Shutdown(expired(t)))
	stays.until("it has ended", func() bool { return stays.status(id, run) == "success" })
	require.Equal(t, []any{"first", "waited"}, stays.log(id), "the first superstep isn't done again")
	rd.rest()
}

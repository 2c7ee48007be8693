package chaostest

import (
	"context"
	"strconv"
	"time"

	"github.com/parley-dev/parley/thread/redis/redistest"
)

// reshard moves the slot of a thread, and one of a shard, to another master while
// they are in use.
func (w *world) reshard(ctx context.Context, f fault) {
	s := w.sessions[f.n%len(w.sessions)]
	w.reshardMu.Lock() // as redis-cli, one at a time
	defer w.reshardMu.Unlock()
	for _, key := range []string{"{" + s.thread + "}", w.prefix + "{" + strconv.Itoa(f.n%4) + "}:"} {
		w.must(redistest.MoveSlot(ctx, w.topo.nodes, key, f.n, func() { time.Sleep(f.lasts / 50) }))
	}
}

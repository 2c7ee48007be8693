package server

import (
	"context"
	"os"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// headroom is how much a small heap may grow between two collections, in bytes:
// Go's own rule, to collect when it has doubled, costs a server whose heap is
// small a quarter of its CPU.
const headroom = 16 << 20

// A server that allocates less than quiet bytes between two looks has time to
// collect, once worthwhile bytes came together; it then does so twice, since each
// time halves the stacks of the goroutines that wait.
const (
	lookEvery   = 500 * time.Millisecond
	quiet       = 512 << 10
	worthwhile  = 4 << 20
	quietPasses = 2
)

// memoryKeeper trades memory for CPU while the server works and gives memory
// back when it falls silent.
type memoryKeeper struct {
	percent int // that was set
	// Bytes allocated since the start: then, and at the last collection in silence.
	allocated, collected uint64
	passes               int // left
}

// keepMemory runs until ctx ends. It is for a process that is a server, not for
// one that has one: what it sets holds for the whole process. Where GOGC or
// GOMEMLIMIT is set the operator has decided, and it does nothing.
func keepMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	k := memoryKeeper{percent: 100}
	samples := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		runtimemetrics.Read(samples)
		percent, collect := k.look(samples[0].Value.Uint64(), samples[1].Value.Uint64())
		if percent != k.percent {
			k.percent = percent
			debug.SetGCPercent(percent)
		}
		if collect {
			debug.FreeOSMemory()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look takes the bytes allocated so far and those that the last collection left.
// It returns by how many percent the heap may grow before the next collection,
// and whether to collect now.
func (k *memoryKeeper) look(allocated, live uint64) (percent int, collect bool) {
	grown := allocated - k.allocated
	k.allocated = allocated
	if allocated-k.collected >= max(worthwhile, live/4) {
		k.passes = quietPasses
	}
	if collect = grown < quiet && k.passes > 0; collect {
		k.passes--
		k.collected = allocated
	}
	// In steps of 50, for each change stops the world.
	percent = int(min(100*headroom/max(live, 1), 800)) / 50 * 50
	return max(percent, 100), collect
}

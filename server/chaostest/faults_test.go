package chaostest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// wreck carries out the plan's faults; when it returns none is left.
func (w *world) wreck(ctx context.Context) {
	faults := slices.Clone(w.plan.faults)
	slices.SortFunc(faults, func(a, b fault) int { return int(a.at - b.at) })
	begin := time.Now()
	var all sync.WaitGroup
	for _, f := range faults {
		all.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(f.at - time.Since(begin)):
			}
			w.hist.add("FAULT", "%s", f)
			w.strike(f)
			w.hist.add("FAULT", "%s is over", f)
		})
	}
	all.Wait()
}

// strike carries out one fault, and undoes it.
func (w *world) strike(f fault) {
	r := w.replicas[f.replica]
	switch f.kind {
	case faultKill:
		r.kill()
		time.Sleep(f.lasts)
		if err := r.start(); err != nil {
			w.violated("replica %d does not start: %v", f.replica, err)
		}
	}
}

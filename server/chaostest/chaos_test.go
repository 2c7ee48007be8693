package chaostest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	require.NoError(t, err, name)
	return n
}

func TestChaos(t *testing.T) {
	first, seeds := setting(t, "PARLEY_CHAOS_SEED", 1), setting(t, "PARLEY_CHAOS_SEEDS", 4)
	side := make(chan struct{}, setting(t, "PARLEY_CHAOS_PARALLEL", 4))
	var (
		lent clusters
		wait sync.WaitGroup
	)
	only := os.Getenv("PARLEY_CHAOS_KIND")
	for seed := uint64(first); seeds > 0; seed++ { //nolint:gosec // not negative
		if only != "" && newPlan(seed).kind != only {
			continue
		}
		seeds--
		side <- struct{}{}
		wait.Go(func() {
			defer func() { <-side }()
			t.Run(fmt.Sprintf("seed=%d", seed), func(sub *testing.T) { trySeed(t, sub, seed, &lent) })
		})
	}
	wait.Wait()
}

// trySeed does all that the seed decides, and checks.
func trySeed(all, t *testing.T, seed uint64, lent *clusters) {
	p := newPlan(seed)
	began := time.Now()
	dir := t.TempDir()
	topo := startTopology(all, t, p, lent)
	defer func() { lent.give(topo.whole, t.Failed()) }()
	w, err := begin(t, p, dir, topo)
	defer w.end()
	require.NoError(t, err)
	w.hist.add("PHASE", "up")
	w.run()
	for _, r := range w.replicas {
		r.kill()
	}
	var cpu time.Duration
	for _, r := range w.replicas {
		cpu += r.cpu
	}
	t.Logf("%s: %s (%s), replicas took %s", p, time.Since(began).Round(time.Millisecond), w.hist.phases(), cpu.Round(time.Millisecond))
	if len(w.broken) == 0 {
		return
	}
	keep := filepath.Join(os.TempDir(), fmt.Sprintf("parley-chaos-%d", seed))
	_ = os.RemoveAll(keep)
	if err := w.keep(keep); err != nil {
		t.Log(err)
	}
	for i, v := range w.broken {
		if i == 20 {
			break
		}
		t.Errorf("%.2000s", v)
	}
	t.Errorf("seed %d (%s); what happened is in %s; again:\n  PARLEY_CHAOS_SEED=%d PARLEY_CHAOS_SEEDS=1 go test -v ./server/chaostest -run TestChaos", seed, p, keep, seed)
}

// run lets clients work while things go wrong, and checks what is left.
func (w *world) run() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for i, script := range w.plan.sessions {
		s := &session{w: w, index: i, script: script, asked: map[string]asked{}, joined: map[string]bool{}}
		if err := s.open(ctx); err != nil {
			w.violated("%v", err)
			return
		}
		w.sessions = append(w.sessions, s)
	}
	var work, answers sync.WaitGroup
	answering, enough := context.WithCancel(ctx)
	for _, s := range w.sessions {
		work.Go(func() { s.work(ctx) })
		for i := range s.script.answers {
			answers.Go(func() { s.answer(answering, i) })
		}
	}
	work.Go(func() { w.wreck(ctx); w.hist.add("PHASE", "wrecked") })
	work.Wait()
	for _, r := range w.replicas {
		w.revive(r)
	}
	w.hist.add("PHASE", "calm")
	quiet := eventually(patience, func() bool { return w.quiet(ctx) })
	enough()
	answers.Wait()
	if !quiet {
		w.violated("not all runs have ended within %s: %s", patience, w.inflight(ctx))
		return
	}
	w.hist.add("PHASE", "quiet")
	w.check(ctx)
}

package chaostest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// TestChaos tries seeds, several at once; doc.go tells what each does.
func TestChaos(t *testing.T) {
	first, seeds := setting(t, "PARLEY_CHAOS_SEED", 1), setting(t, "PARLEY_CHAOS_SEEDS", 6)
	side := make(chan struct{}, setting(t, "PARLEY_CHAOS_PARALLEL", 4))
	only := os.Getenv("PARLEY_CHAOS_KIND")
	var (
		lent  clusters
		wait  sync.WaitGroup
		count tally
	)
	for seed := uint64(first); seeds > 0; seed++ { //nolint:gosec // not negative
		p := newPlan(seed)
		if only != "" && p.kind != only {
			continue
		}
		seeds--
		side <- struct{}{}
		release := sync.OnceFunc(func() { <-side })
		wait.Go(func() {
			defer release()
			ok := t.Run(fmt.Sprintf("seed=%d", seed), func(sub *testing.T) { trySeed(t, sub, p, &lent, release) })
			count.add(p, ok)
		})
	}
	wait.Wait()
	t.Log(count.String())
}

// tally counts seeds by the faults that were in them.
type tally struct {
	mu    sync.Mutex
	tried map[string]int
	wrong map[string]int
}

func (c *tally) add(p *plan, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried == nil {
		c.tried, c.wrong = map[string]int{}, map[string]int{}
	}
	words := []string{"seeds", "on " + p.topology}
	for _, f := range p.faults {
		words = append(words, f.kind)
	}
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		c.tried[w]++
		if !ok {
			c.wrong[w]++
		}
	}
}

// String lists how many seeds had what, and how many of them failed.
func (c *tally) String() string {
	var all []string
	for w, n := range c.tried {
		all = append(all, fmt.Sprintf("%s %d (%d failed)", w, n, c.wrong[w]))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// trySeed does all that the plan says, and checks. Where little is left but to wait it
// calls idle.
func trySeed(all, t *testing.T, p *plan, lent *clusters, idle func()) {
	began := time.Now()
	dir := t.TempDir()
	topo := startTopology(all, t, p, lent)
	defer func() { lent.give(topo.whole, t.Failed()) }()
	w, err := begin(t, p, dir, topo)
	w.idle = idle
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
	t.Logf("%s: %s (%s), %d runs, %d taken over, replicas took %s",
		p, time.Since(began).Round(time.Millisecond), w.hist.phases(), w.runs, w.takenOver, cpu.Round(time.Millisecond))
	if len(w.broken) == 0 && os.Getenv("PARLEY_CHAOS_KEEP") == "" {
		return
	}
	keep := filepath.Join(os.TempDir(), fmt.Sprintf("parley-chaos-%d", p.seed))
	_ = os.RemoveAll(keep)
	if err := w.keep(keep); err != nil {
		t.Log(err)
	}
	if len(w.broken) == 0 {
		t.Logf("what happened is in %s", keep)
		return
	}
	for i, v := range w.broken {
		if i == 20 {
			break
		}
		t.Errorf("%.2000s", v)
	}
	t.Errorf("seed %d (%s); what happened is in %s; again:\n  PARLEY_CHAOS_SEED=%d PARLEY_CHAOS_SEEDS=1 go test -v ./server/chaostest -run TestChaos", p.seed, p, keep, p.seed)
}

// run lets clients work while things go wrong, and checks what is left.
func (w *world) run() {
	ctx, cancel := context.WithTimeout(context.Background(), everything)
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

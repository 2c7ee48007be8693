package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread/redis"
)

// patience is how long anything may take once nothing goes wrong any more.
const patience = 30 * time.Second

// everything bounds a seed, whatever the machine does meanwhile.
const everything = 8 * patience

// late is how long a reader may wait for what is stored when nothing goes wrong any
// more: where it wasn't told, its server looks after half a minute.
const late = 10 * time.Second

// world is a seed under way.
type world struct {
	t        testing.TB
	plan     *plan
	dir      string
	prefix   string
	topo     *topology
	replicas []*replica
	store    *redis.Store // beside all replicas and proxies
	http     *http.Client
	hist     *history
	sessions []*session
	idle     func() // others may work

	runs, takenOver int // in the end

	baseline map[string]bool // keys before anything happened

	reshardMu sync.Mutex

	mu     sync.Mutex
	broken []string // invariants that don't hold
	struck []struck
}

// violated notes an invariant that doesn't hold.
func (w *world) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.hist.add("VIOLATED", "%s", text)
	w.mu.Lock()
	w.broken = append(w.broken, text)
	w.mu.Unlock()
}

// begin starts everything that the plan asks for.
func begin(t testing.TB, p *plan, dir string, topo *topology) (*world, error) {
	w := &world{t: t, plan: p, dir: dir, prefix: fmt.Sprintf("seed%d:", p.seed), hist: newHistory(), topo: topo}
	w.http = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}}
	var err error
	w.store, err = redis.Open(context.Background(), redis.Options{
		URL: topo.url, Prefix: w.prefix, Shards: 4, SweepEvery: time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return w, err
	}
	for i := range p.replicas {
		r := &replica{index: i, logs: filepath.Join(dir, fmt.Sprintf("replica%d.log", i))}
		var ways []string
		if p.has(proxied...) {
			for _, node := range topo.nodes {
				link, err := newProxy(node.Addr())
				if err != nil {
					return w, err
				}
				r.links = append(r.links, link)
				ways = append(ways, node.Addr()+"="+link.addr())
			}
		}
		if r.front, err = newProxy(""); err != nil {
			return w, err
		}
		r.env = []string{
			envURL + "=" + topo.url, envPrefix + "=" + w.prefix, envDurability + "=" + string(p.durability),
			envWitness + "=" + w.witness(), envSkew + "=" + p.skew[i].String(), envDial + "=" + strings.Join(ways, ","),
		}
		w.replicas = append(w.replicas, r)
	}
	if err := w.heal(); err != nil {
		return w, err
	}
	w.baseline, err = w.storeKeys()
	return w, err
}

func (w *world) witness() string { return filepath.Join(w.dir, "witness") }

// heal starts all replicas that have no process.
func (w *world) heal() error {
	errs := make(chan error, len(w.replicas))
	for _, r := range w.replicas {
		go func() { errs <- r.start() }()
	}
	var first error
	for range w.replicas {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// end stops everything.
func (w *world) end() {
	for _, r := range w.replicas {
		r.close()
	}
	if w.store != nil {
		_ = w.store.Close()
	}
	w.http.CloseIdleConnections()
}

// storeKeys are all keys of the seed.
func (w *world) storeKeys() (map[string]bool, error) {
	keys := map[string]bool{}
	var mu sync.Mutex
	err := w.topo.each(context.Background(), func(ctx context.Context, c *rds.Client) error {
		all := c.Scan(ctx, 0, w.prefix+"*", 1000).Iterator()
		for all.Next(ctx) {
			mu.Lock()
			keys[all.Val()] = true
			mu.Unlock()
		}
		return all.Err()
	})
	return keys, err
}

// eventually waits for a condition. On a machine that is too busy to look at it often, time
// passes more slowly, down to a fifth: what is waited for has no more of the machine.
func eventually(within time.Duration, holds func() bool) bool {
	const often = 50 * time.Millisecond
	begin := time.Now()
	for last, passed := begin, time.Duration(0); !holds(); time.Sleep(5 * time.Millisecond) {
		now := time.Now()
		passed, last = passed+min(now.Sub(last), often), now
		if passed > within || now.Sub(begin) > 5*within {
			return false
		}
	}
	return true
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test's own mistake
	}
	return string(b)
}

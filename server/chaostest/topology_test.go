package chaostest

import (
	"context"
	"sync"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// Kinds of topologies.
const (
	standalone = "standalone"
	sentinel   = "sentinel"
	cluster    = "cluster"
)

// downAfter is how long a master may be away until Sentinel promotes its replica of
// its own accord: long, so that on a busy machine it does so only when it is told to.
const downAfter = 30 * time.Second

// topology is the Redis of a seed.
type topology struct {
	url   string
	nodes []*redistest.Server
	group *redistest.Group   // under Sentinel
	whole *redistest.Cluster // of a cluster
}

// client connects to the topology without proxies.
func (p *topology) client() rds.UniversalClient {
	c, err := redis.Connect(p.url)
	if err != nil {
		panic(err) // the URL is ours
	}
	return c
}

// each calls do for each server that has keys, perhaps at once.
func (p *topology) each(ctx context.Context, do func(ctx context.Context, c *rds.Client) error) error {
	c := p.client()
	defer c.Close() //nolint:errcheck // nothing is lost with it
	if cc, ok := c.(*rds.ClusterClient); ok {
		return cc.ForEachMaster(ctx, do)
	}
	return do(ctx, c.(*rds.Client))
}

// clusters lends clusters to seeds, one after the other: starting one takes long.
type clusters struct {
	mu   sync.Mutex
	free []*redistest.Cluster
}

func (c *clusters) take() *redistest.Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		return nil
	}
	last := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return last
}

// give takes a cluster back, unless its seed has failed.
func (c *clusters) give(whole *redistest.Cluster, failed bool) {
	if whole == nil {
		return
	}
	if failed {
		for _, n := range whole.Nodes {
			n.Stop()
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, whole)
}

// startTopology starts the servers of a seed; clusters live as long as all seeds.
func startTopology(all, t testing.TB, p *plan, lent *clusters) *topology {
	args := []string{"--repl-diskless-sync-delay", "0"}
	if p.durability == redis.Always || p.durability == redis.Replicated || p.has(faultRestart) {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	switch p.topology {
	case sentinel:
		g := redistest.StartGroup(t, downAfter, args...)
		return &topology{url: g.URL(), nodes: []*redistest.Server{g.Master, g.Replica}, group: g}
	case cluster:
		c := lent.take()
		if c == nil {
			c = redistest.StartCluster(all, 3, 0)
		}
		return &topology{url: c.URL(), nodes: c.Nodes, whole: c}
	}
	s := redistest.Start(t, args...)
	return &topology{url: s.URL(), nodes: []*redistest.Server{s}}
}

package chaostest

import (
	"context"
	"testing"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread/redis/redistest"
)

// Kinds of topologies.
const (
	standalone = "standalone"
	sentinel   = "sentinel"
	cluster    = "cluster"
)

// topology is the Redis of a seed.
type topology struct {
	kind  string
	url   string
	nodes []string // addresses that replicas connect to
	one   *redistest.Server
}

// client connects to the topology without proxies.
func (p *topology) client() rds.UniversalClient {
	return rds.NewClient(&rds.Options{Addr: p.nodes[0], DisableIdentity: true})
}

// each calls do for each server that has keys.
func (p *topology) each(ctx context.Context, do func(ctx context.Context, c *rds.Client) error) error {
	c := p.client().(*rds.Client)
	defer c.Close() //nolint:errcheck // only read
	return do(ctx, c)
}

// startTopology starts the servers of a seed.
func startTopology(t testing.TB, p *plan) *topology {
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	return &topology{kind: standalone, url: s.URL(), nodes: []string{s.Addr()}, one: s}
}

package redistest

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Cluster is a Redis Cluster that belongs to a test.
type Cluster struct{ Nodes []*Server }

// URL names the cluster for redis.Options.
func (c *Cluster) URL() string {
	hosts := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		hosts[i] = n.Addr()
	}
	return "redis+cluster://" + strings.Join(hosts, ",")
}

// StartCluster starts a cluster of masters, each with so many replicas, and waits
// until every node knows that it is complete, and replicas have what their masters have.
func StartCluster(t testing.TB, masters, replicas int) *Cluster {
	t.Helper()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("redis-cli is missing: install it (Debian: apt-get install redis-tools)")
	}
	c := &Cluster{}
	create := []string{"--cluster", "create"}
	for range masters * (1 + replicas) {
		n := Start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "5000")
		c.Nodes = append(c.Nodes, n)
		create = append(create, n.Addr())
	}
	create = append(create, "--cluster-replicas", string(rune('0'+replicas)), "--cluster-yes")
	out, err := exec.CommandContext(t.Context(), cli, create...).CombinedOutput() //nolint:gosec // ours
	require.NoError(t, err, "%s", out)
	for _, n := range c.Nodes {
		client := rds.NewClient(&rds.Options{Addr: n.Addr(), DisableIdentity: true})
		require.Eventually(t, func() bool {
			info, err := client.ClusterInfo(context.Background()).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
			link, err := client.Info(context.Background(), "replication").Result()
			return err == nil && (strings.Contains(link, "role:master") || strings.Contains(link, "master_link_status:up"))
		}, startWithin, 50*time.Millisecond)
		require.NoError(t, client.Close())
	}
	return c
}

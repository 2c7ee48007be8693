package redis_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/storetest"
)

// cluster is a Redis Cluster of child processes.
type cluster struct{ nodes []*process }

func (c *cluster) url() string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, n.addr())
	}
	return "redis+cluster://" + strings.Join(hosts, ",")
}

// startCluster starts masters without replicas, and waits until each knows all slots.
func startCluster(t testing.TB, masters int) *cluster {
	t.Helper()
	path := binary(t)
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("redis-cli is missing: install redis-tools")
	}
	c := &cluster{}
	for range masters {
		port, err := clusterPort()
		require.NoError(t, err)
		n := &process{path: path, dir: t.TempDir(), port: port,
			args: []string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "5000"}}
		require.NoError(t, n.start())
		t.Cleanup(n.stop)
		c.nodes = append(c.nodes, n)
	}
	args := []string{"--cluster", "create"}
	for _, n := range c.nodes {
		args = append(args, n.addr())
	}
	out, err := exec.Command(cli, append(args, "--cluster-replicas", "0", "--cluster-yes")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, n := range c.nodes {
		client := rds.NewClient(&rds.Options{Addr: n.addr(), DisableIdentity: true})
		require.Eventually(t, func() bool {
			info, err := client.ClusterInfo(context.Background()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok")
		}, 30*time.Second, 50*time.Millisecond)
		require.NoError(t, client.Close())
	}
	return c
}

// clusterPort finds a port whose bus port is free, too.
func clusterPort() (int, error) {
	for range 100 {
		port, err := freePort()
		if err != nil {
			return 0, err
		}
		if port < 55000 {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port below 55000")
}

func TestStoreOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster of three masters")
	}
	c := startCluster(t, 3)
	storetest.Run(t, func(t *testing.T) thread.Store {
		s, err := redis.Open(context.Background(), redis.Options{URL: c.url(), Prefix: "test:" + uuid.NewString()[:8] + ":"})
		require.NoError(t, err)
		return s
	})
}

package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// MasterName is the name under which Sentinel knows the master.
const MasterName = "main"

// Group is a master with a replica under a Sentinel that decides alone.
type Group struct {
	Master, Replica *Server
	// Sentinel is its address.
	Sentinel string
}

// URL names the group for redis.Options.
func (g *Group) URL() string { return "redis+sentinel://" + g.Sentinel + "/" + MasterName }

// Current is the address of the server that Sentinel names the master at present.
func (g *Group) Current(ctx context.Context) (string, error) {
	c := rds.NewSentinelClient(&rds.Options{Addr: g.Sentinel, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	at, err := c.GetMasterAddrByName(ctx, MasterName).Result()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(at[0], at[1]), nil
}

// StartGroup starts servers with the arguments, and a Sentinel that promotes the
// replica once the master has been away for so long. It waits until Sentinel knows both.
func StartGroup(t testing.TB, downAfter time.Duration, args ...string) *Group {
	t.Helper()
	g := &Group{Master: Start(t, args...)}
	g.Replica = Start(t, append([]string{"--replicaof", "127.0.0.1", strconv.Itoa(g.Master.port)}, args...)...)
	replica := rds.NewClient(&rds.Options{Addr: g.Replica.Addr(), DisableIdentity: true})
	defer func() { _ = replica.Close() }()
	require.Eventually(t, func() bool { // what Sentinel doesn't find at once, it looks for ten seconds later
		info, err := replica.Info(context.Background(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	}, startWithin, 10*time.Millisecond)
	port, err := freePort()
	require.NoError(t, err)
	g.Sentinel = "127.0.0.1:" + strconv.Itoa(port)
	startSentinel(t, port, g.Master.port, downAfter)
	sentinels := rds.NewSentinelClient(&rds.Options{Addr: g.Sentinel, MaxRetries: -1, DisableIdentity: true})
	defer func() { _ = sentinels.Close() }()
	require.Eventually(t, func() bool {
		list, err := sentinels.Replicas(context.Background(), MasterName).Result()
		return err == nil && len(list) == 1 && list[0]["master-link-status"] == "ok"
	}, startWithin, 20*time.Millisecond)
	return g
}

func startSentinel(t testing.TB, port, master int, downAfter time.Duration) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	require.NoError(t, err)
	dir := t.TempDir()
	conf := strings.Join([]string{
		"port " + strconv.Itoa(port), "bind 127.0.0.1", "dir " + dir, "logfile " + filepath.Join(dir, "log"),
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", MasterName, master),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", MasterName, downAfter.Milliseconds()),
		"sentinel failover-timeout " + MasterName + " 5000", "",
	}, "\n")
	file := filepath.Join(dir, "sentinel.conf")
	require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
	cmd := exec.Command(path, file, "--sentinel") //nolint:gosec,noctx // it ends with the test
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

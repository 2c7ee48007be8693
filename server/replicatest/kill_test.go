package replicatest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread/redis"
)

// What the environment says to a test binary that is to be a replica.
const (
	childRedis  = "PARLEY_REPLICA_REDIS"
	childPrefix = "PARLEY_REPLICA_PREFIX"
)

// beReplica serves until the process is killed.
func beReplica(url, prefix string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	o := server.Options{Agents: agents(), Redis: redis.Options{URL: url, Prefix: prefix}}
	s, err := server.New(o)
	if err != nil {
		return err
	}
	if err := s.Start(context.Background()); err != nil {
		return err
	}
	fmt.Printf("listens on http://%s\n", l.Addr())
	return s.Serve(l)
}

// child starts a replica that can be killed.
func child(t testing.TB, prefix string) (*replica, *exec.Cmd) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childRedis+"="+shared.URL(), childPrefix+"="+prefix)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listens on ")
	require.True(t, ok, line)
	return &replica{t: t, url: url}, cmd
}

// TestKilledOwnersRunIsRecovered: another replica goes on with it within 15 s, a
// finished superstep isn't done again, and readers elsewhere see it to its end: what they saw is in Redis (D-01, D-08, D-90).
func TestKilledOwnersRunIsRecovered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a lease of ten seconds")
	}
	prefix := newPrefix()
	dies, cmd := child(t, prefix)
	id := dies.thread()
	run := dies.start(id, `{"assistant_id":"slow","input":{"wait":3},"stream_mode":["values","custom"]}`)
	stays := start(t, options(prefix))
	rd := stays.read(http.MethodGet, "/threads/"+id+"/runs/"+run+"/stream", "")
	rd.next("custom", "waiting")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	killed := time.Now()
	rd.next("custom", "waiting")
	require.Less(t, time.Since(killed), 15*time.Second)
	list := rd.rest()
	require.Contains(t, list[len(list)-1].data, "waited")
	require.Equal(t, "success", stays.status(id, run))
	require.Equal(t, []any{"first", "waited"}, stays.log(id))
}

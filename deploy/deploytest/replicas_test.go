package deploytest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis/redistest"
)

// within is how long anything may take on a machine that has other things to do.
const within = time.Minute

// replica is one parley process on a port that stays its own.
type replica struct {
	t    testing.TB
	env  []string
	port int
	cmd  *exec.Cmd
}

// cluster are replicas that share a Redis of their own.
type cluster struct {
	redis    *redistest.Server
	replicas []*replica
}

// startCluster starts Redis with an append-only file and n replicas.
func startCluster(t testing.TB, n int, env ...string) *cluster {
	t.Helper()
	c := &cluster{redis: redistest.Start(t, "--appendonly", "yes")}
	for range n {
		r := &replica{t: t, port: freePort(t), env: append([]string{"PARLEY_REDIS=" + c.redis.URL(), "PARLEY_AGENTS=bench"}, env...)}
		r.start()
		c.replicas = append(c.replicas, r)
	}
	for _, r := range c.replicas {
		r.ready()
	}
	return c
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // a listener of the test
	return l.Addr().(*net.TCPAddr).Port
}

func (r *replica) addr() string { return "127.0.0.1:" + strconv.Itoa(r.port) }

func (r *replica) url() string { return "http://" + r.addr() }

func (r *replica) start() {
	r.t.Helper()
	r.cmd = exec.Command(program(r.t), "serve", "--host", "127.0.0.1", "--port", strconv.Itoa(r.port)) //nolint:gosec,noctx // ours; the test ends it
	r.cmd.Env = append(os.Environ(), r.env...)
	r.cmd.Stderr = os.Stderr
	require.NoError(r.t, r.cmd.Start())
	cmd := r.cmd
	r.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
}

// ready waits until the replica says that it is.
func (r *replica) ready() {
	r.t.Helper()
	eventually(r.t, "a replica is ready", func() bool { return status(r.url()+"/readyz") == http.StatusOK })
}

// kill is kill -9.
func (r *replica) kill() {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Kill())
	_ = r.cmd.Wait() // the error says that it was killed
}

// stop is what an orchestrator does first; it returns the time that it took.
func (r *replica) stop() time.Duration {
	r.t.Helper()
	begin := time.Now()
	require.NoError(r.t, r.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(r.t, r.cmd.Wait())
	return time.Since(begin)
}

// streams is how many streams the replica has open, by its own metrics.
func (r *replica) streams() int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url()+"/metrics", nil)
	require.NoError(r.t, err)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "parley_http_streams "); ok {
			n, err := strconv.Atoi(v)
			require.NoError(r.t, err)
			return n
		}
	}
	return 0
}

// serving is the replica that has a stream open.
func (c *cluster) serving(t testing.TB) *replica {
	t.Helper()
	var found *replica
	eventually(t, "one replica serves the stream", func() bool {
		for _, r := range c.replicas {
			if r.streams() > 0 {
				found = r
			}
		}
		return found != nil
	})
	return found
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
		require.True(t, time.Now().Before(deadline), "not within %s: %s", within, what)
	}
}

// status is the status of a GET; 0 when nobody answers.
func status(url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", url, err)) // a test's own mistake
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

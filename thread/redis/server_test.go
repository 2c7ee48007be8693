package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis"
)

// binary finds redis-server, or skips the test.
func binary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is missing: install Redis 6.2 or later (Debian: apt-get install redis-server)")
	}
	return path
}

// process is a redis-server that belongs to the tests.
type process struct {
	path, dir string
	port      int
	args      []string
	cmd       *exec.Cmd
}

func (p *process) addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

// start runs the server and waits until it answers.
func (p *process) start() error {
	args := append([]string{"--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--dir", p.dir, "--save", "",
		"--logfile", filepath.Join(p.dir, "log")}, p.args...)
	p.cmd = exec.Command(p.path, args...)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	client := rds.NewClient(&rds.Options{Addr: p.addr(), MaxRetries: -1, DisableIdentity: true})
	defer client.Close()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		err := client.Ping(context.Background()).Err()
		if err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("redis-server on port %d does not answer", p.port)
}

func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// freePort finds a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startServer starts a server for one test.
func startServer(t testing.TB, args ...string) *process {
	t.Helper()
	port, err := freePort()
	require.NoError(t, err)
	p := &process{path: binary(t), dir: t.TempDir(), port: port, args: args}
	require.NoError(t, p.start())
	t.Cleanup(p.stop)
	return p
}

// shared is the server of all tests that need none of their own.
var shared struct {
	once sync.Once
	p    *process
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.p != nil {
		shared.p.stop()
		_ = os.RemoveAll(shared.p.dir)
	}
	os.Exit(code)
}

func sharedServer(t testing.TB) *process {
	t.Helper()
	path := binary(t)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "parley-redis")
		port, failed := freePort()
		if shared.err = errors.Join(err, failed); shared.err != nil {
			return
		}
		shared.p = &process{path: path, dir: dir, port: port}
		shared.err = shared.p.start()
	})
	require.NoError(t, shared.err)
	return shared.p
}

// openStore opens a store with keys of its own on the shared server.
func openStore(t testing.TB, change ...func(*redis.Options)) *redis.Store {
	t.Helper()
	o := redis.Options{URL: "redis://" + sharedServer(t).addr(), Prefix: "test:" + uuid.NewString()[:8] + ":"}
	for _, f := range change {
		f(&o)
	}
	s, err := redis.Open(context.Background(), o)
	require.NoError(t, err)
	return s
}

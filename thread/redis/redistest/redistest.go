// Package redistest starts Redis servers for tests, as child processes on ports of
// their own. Where redis-server is missing the tests are skipped.
package redistest

import (
	"context"
	"errors"
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

// startWithin bounds how long a server may take until it answers.
const startWithin = 30 * time.Second

// Server is a redis-server that belongs to tests.
type Server struct {
	path, dir string
	port      int
	args      []string
	cmd       *exec.Cmd
	ended     chan struct{} // closed once the process has
}

// Start starts a server that ends with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := New(t.TempDir(), args...)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("redis-server is missing: install Redis 6.2 or later (Debian: apt-get install redis-server)")
	}
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

// New starts a server with its files in dir; exec.ErrNotFound when redis-server is missing.
func New(dir string, args ...string) (*Server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s := &Server{path: path, dir: dir, port: port, args: args}
		if err = s.Restart(); !errors.Is(err, errGone) || try == startTries {
			return s, err
		}
	}
}

// startTries is how often another port is tried when a server ends at once: somebody was faster to take the first.
const startTries = 5

// errGone: the server has ended before it answered.
var errGone = errors.New("it has ended")

// freePort finds a port that nobody listens on, whose cluster bus fits behind it.
func freePort() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, err
		}
		if port < 55000 {
			return port, nil
		}
	}
	return 0, errors.New("redistest: no free port below 55000")
}

// Addr is host and port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// URL names the server for redis.Options.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Log is the file of what the server says.
func (s *Server) Log() string { return filepath.Join(s.dir, "log") }

// Process is the server's process.
func (s *Server) Process() *os.Process { return s.cmd.Process }

// Restart runs the server, again after a Stop, and waits until it answers.
func (s *Server) Restart() error {
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "",
		"--logfile", filepath.Join(s.dir, "log")}, s.args...)
	s.cmd = exec.Command(s.path, args...) //nolint:gosec,noctx // it outlives every context, and ends with Stop
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { // Stop waits for it
		defer close(ended)
		_ = cmd.Wait()
	}(s.cmd, s.ended)
	client := rds.NewClient(&rds.Options{Addr: s.Addr(), MaxRetries: -1, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	var err error
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); {
		if err = s.answers(client); err == nil {
			return nil
		}
		if !s.runs() {
			err = errGone
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Stop()
	return fmt.Errorf("redistest: redis-server on port %d does not answer: %w", s.port, err)
}

// answers tells whether it is this server that answers on its port.
func (s *Server) answers(client *rds.Client) error {
	if err := client.Ping(context.Background()).Err(); err != nil {
		return err
	}
	info, err := client.Info(context.Background(), "server").Result()
	if err == nil && !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", s.cmd.Process.Pid)) {
		err = errors.New("another server has the port")
	}
	return err
}

// runs tells whether the process hasn't ended.
func (s *Server) runs() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Stop kills the server.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

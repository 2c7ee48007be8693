package chaostest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// What the environment says to a test binary that is to be a replica.
const (
	envURL        = "PARLEY_CHAOS_REDIS"
	envPrefix     = "PARLEY_CHAOS_PREFIX"
	envDurability = "PARLEY_CHAOS_DURABILITY"
	envWitness    = "PARLEY_CHAOS_WITNESS" // file to which steps append
	envLife       = "PARLEY_CHAOS_LIFE"    // names this process in the witness
	envSkew       = "PARLEY_CHAOS_SKEW"    // how far its clock is off
	envDial       = "PARLEY_CHAOS_DIAL"    // address=address,…: where to reach servers
)

// lease is how long a run stays with a replica that gives no sign of life.
const lease = time.Second

// beReplica serves until the process is killed.
func beReplica() error {
	skew, err := time.ParseDuration(os.Getenv(envSkew))
	if err != nil {
		return err
	}
	w, err := openWitness(os.Getenv(envWitness), os.Getenv(envLife))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := server.New(server.Options{
		Agents: agents(w), Lease: lease, Workers: 16, Clock: skewed{thread.SystemClock{}, skew},
		Redis: redis.Options{
			URL: os.Getenv(envURL), Prefix: os.Getenv(envPrefix), Durability: redis.Durability(os.Getenv(envDurability)),
			Dialer: dialer(os.Getenv(envDial)), SweepEvery: 300 * time.Millisecond, Shards: 4,
		},
		SweepEvery: time.Second,
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		return err
	}
	if err := s.Start(context.Background()); err != nil {
		return err
	}
	go func() { // whoever started it is gone then
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(4)
	}()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() { // until the process is killed
		for range asked {
			all := make([]byte, 4<<20)
			_, _ = os.Stderr.Write(all[:runtime.Stack(all, true)])
		}
	}()
	fmt.Printf("listens on %s\n", l.Addr())
	return s.Serve(l)
}

// dialer goes to other addresses than those it is asked for.
func dialer(list string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	way := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		if from, to, ok := strings.Cut(pair, "="); ok {
			way[from] = to
		}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, ok := way[addr]; ok {
			addr = to
		}
		d := net.Dialer{Timeout: time.Second}
		return d.DialContext(ctx, network, addr)
	}
}

// skewed is a clock that is wrong.
type skewed struct {
	thread.SystemClock
	by time.Duration
}

func (c skewed) Now() time.Time { return c.SystemClock.Now().Add(c.by) }

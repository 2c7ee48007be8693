package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/manifest"
)

// watchEvery is the pause between two looks at the file. Looking works on every file system
// (network mounts, a ConfigMap's links), which notifications of the kernel don't, and needs no library.
const watchEvery = 500 * time.Millisecond

// configured are the agents of a file, kept as the file is.
type configured struct {
	path string
	// fixed are agents that don't come from the file.
	fixed  []agent.Agent
	log    *slog.Logger
	stdout io.Writer

	current *manifest.Agents
	files   []string // that current, or the attempt after it, was read from
	stamps  string   // of files, when they were read
	closing sync.WaitGroup
	// over is closed once the server has ended: then nothing waits for runs any more.
	over chan struct{}
}

// configure reads a file of agents and adds them to the options. It returns nil for no file.
func configure(ctx context.Context, env *environment, path string, o *Options) (*configured, error) {
	if path == "" {
		return nil, nil
	}
	c := &configured{path: path, fixed: o.Agents, log: o.Logger, stdout: env.stdout, over: make(chan struct{})}
	next, err := c.read(ctx)
	if err != nil {
		return nil, faulty(path, err)
	}
	all, err := c.with(next)
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	c.current, o.Agents = next, all
	return c, nil
}

// read makes the agents that the file declares.
func (c *configured) read(ctx context.Context) (*manifest.Agents, error) {
	before := []string{c.path}
	if len(c.files) > 0 {
		before = c.files
	}
	c.stamps = stamps(before)
	m, err := manifest.Read(c.path, manifest.Options{})
	if err != nil {
		c.watch(manifest.FilesOf(err))
		return nil, err
	}
	c.watch(m.Files())
	return m.Build(ctx, manifest.BuildOptions{Logger: c.log, Previous: c.current})
}

// watch sets the files to look at; nil leaves them.
func (c *configured) watch(files []string) {
	if len(files) > 0 && !slices.Equal(files, c.files) {
		c.files, c.stamps = files, stamps(files)
	}
}

// with are the agents of a file beside the fixed ones.
func (c *configured) with(next *manifest.Agents) ([]agent.Agent, error) {
	all := slices.Clone(c.fixed)
	for _, a := range next.List() {
		if slices.ContainsFunc(c.fixed, func(f agent.Agent) bool { return f.Name() == a.Name() }) {
			return nil, fmt.Errorf("agent %q is in %s and among the agents that are served beside it", a.Name(), c.path)
		}
		all = append(all, a)
	}
	return all, nil
}

// keep reads the file again whenever it changes, or on SIGHUP, until ctx ends.
func (c *configured) keep(ctx context.Context, s *Server) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	seen := c.stamps
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		case <-look.C:
			now := stamps(c.files)
			settled := now == seen // an editor may write in several goes
			seen = now
			if now == c.stamps || !settled {
				continue
			}
		}
		c.reload(ctx, s)
		seen = c.stamps
	}
}

// reload puts the file's agents in the place of those before. A file that is wrong changes nothing.
func (c *configured) reload(ctx context.Context, s *Server) {
	next, err := c.read(ctx)
	if err != nil {
		c.complain(ctx, err)
		return
	}
	all, err := c.with(next)
	var idle <-chan struct{}
	if err == nil {
		idle, err = s.ReplaceAgents(ctx, all)
	}
	if err != nil {
		c.complain(ctx, errors.Join(err, next.Close()))
		return
	}
	old := c.current
	c.current = next
	c.closing.Go(func() {
		select {
		case <-idle:
		case <-c.over:
		}
		if err := old.Close(); err != nil {
			c.log.Warn("close the MCP servers of agents that were replaced", "error", err)
		}
	})
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name()
	}
	if _, err := fmt.Fprintf(c.stdout, "%s has changed: agents %s\n", c.path, strings.Join(names, ", ")); err != nil {
		c.log.Warn("change of agents not printed", "error", err)
	}
}

// complain logs what is wrong, one record for each fault.
func (c *configured) complain(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	const text = "the file of agents has changed and is wrong; the agents stay as they were"
	faults := manifest.Faults(err)
	for _, f := range faults {
		c.log.Error(text, "fault", f.String())
	}
	if len(faults) == 0 {
		c.log.Error(text, "error", err)
	}
}

// close lets go of everything, once the server has ended. nil has nothing.
func (c *configured) close() error {
	if c == nil {
		return nil
	}
	close(c.over)
	c.closing.Wait()
	return c.current.Close()
}

// stamps tell a change of files, their absence included.
func stamps(files []string) string {
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			b.WriteString("-;")
			continue
		}
		fmt.Fprintf(&b, "%d,%d;", info.ModTime().UnixNano(), info.Size())
	}
	return b.String()
}

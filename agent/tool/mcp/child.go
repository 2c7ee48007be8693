package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// inherited are the variables of Parley's environment that every child gets.
var inherited = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR", "USER", "USERPROFILE"}

// child is a server's process. Its group is ended with it, so that what it
// started (npx starts node) doesn't outlive it.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *lineReader
	errors *stderrLog
	grace  time.Duration

	unread   chan struct{} // closed when nobody reads the output any more
	exited   chan struct{} // closed when the process has ended, was waited for and its output read
	exit     error         // valid then
	stopOnce sync.Once
}

// startChild starts the server's command.
func startChild(c ServerConfig, hide redactor) (*child, error) {
	cmd := exec.Command(c.Command, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = environment(c)
	ownGroup(cmd)
	ch := &child{cmd: cmd, grace: c.Grace, unread: make(chan struct{}), exited: make(chan struct{}), errors: newStderrLog(c.Logger, hide)}
	// Pipes of our own for the streams that are read: Cmd's are closed by Wait, which
	// may be before their end was read.
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, outR.Close(), outW.Close())
	}
	cmd.Stdout, cmd.Stderr, ch.stdout = outW, errW, newLineReader(outR, c.MaxMessage, c.Logger)
	ch.stdin, err = cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err = errors.Join(err, outW.Close(), errW.Close()); err != nil {
		return nil, errors.Join(err, outR.Close(), errR.Close())
	}
	go ch.wait(errR)
	return ch, nil
}

// wait outlives the process by what is left of its output.
func (ch *child) wait(stderr io.ReadCloser) {
	logged := make(chan struct{})
	go func() { defer close(logged); ch.errors.readFrom(stderr) }()
	ch.exit = ch.cmd.Wait()
	killGroup(ch.cmd) // those it left behind hold its streams open
	late := time.NewTimer(ch.grace)
	defer late.Stop()
	select {
	case <-ch.stdout.ended:
	case <-ch.unread:
	case <-late.C: // a grandchild in a group of its own
	}
	_ = ch.stdout.source.Close() // ends its reader
	select {
	case <-logged:
	case <-late.C:
	}
	_ = stderr.Close()
	<-logged
	close(ch.exited)
}

// stop ends the process and returns when it is gone: its input is closed, then come SIGTERM and SIGKILL to its group.
func (ch *child) stop() {
	ch.stopOnce.Do(func() {
		close(ch.unread)
		_ = ch.stdin.Close() // the process may have closed its end
		if ch.goneWithin(ch.grace) {
			return
		}
		terminateGroup(ch.cmd)
		if ch.goneWithin(ch.grace) {
			return
		}
		killGroup(ch.cmd)
	})
	<-ch.exited
}

func (ch *child) goneWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch.exited:
		return true
	case <-t.C:
		return false
	}
}

// ended says how the process ended; nil while it runs.
func (ch *child) ended() error {
	select {
	case <-ch.exited:
		if ch.exit != nil {
			return fmt.Errorf("%s ended: %w", ch.cmd.Args[0], ch.exit)
		}
		return fmt.Errorf("%s ended", ch.cmd.Args[0])
	default:
		return nil
	}
}

// environment is the child's.
func environment(c ServerConfig) []string {
	all := map[string]string{}
	for _, name := range slices.Concat(inherited, c.InheritEnv) {
		if v, ok := os.LookupEnv(name); ok {
			all[name] = v
		}
	}
	maps.Copy(all, c.Env)
	list := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// childTransport speaks with a child.
type childTransport struct{ *child }

// Connect implements the SDK's Transport.
func (t *childTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	lines := &sdk.IOTransport{Reader: t.stdout, Writer: t.stdin, MaxLineLength: -1} // lines are bounded already
	inner, err := lines.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &markingConnection{inner}, nil
}

package chaostest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// replica is a server whose process comes and goes; clients and servers reach each
// other through proxies that stay.
type replica struct {
	index int
	env   []string
	front *proxy
	links []*proxy // to the servers of Redis
	logs  string   // file of what it says

	mu   sync.Mutex
	cmd  *exec.Cmd
	life int
	cpu  time.Duration // of lives that are over
}

// name begins the names of all lives.
func (r *replica) name() string { return fmt.Sprintf("r%d", r.index) }

// start begins a new life, and returns once it serves.
func (r *replica) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	r.life++
	cmd := exec.Command(exe) //nolint:gosec,noctx // ours; it ends with stop
	cmd.Env = append(append(os.Environ(), r.env...), fmt.Sprintf("%s=%s-%d", envLife, r.name(), r.life), "GOMAXPROCS=2", "GOGC=200")
	logs, err := os.OpenFile(r.logs, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logs.Close() //nolint:errcheck // the child has it
	cmd.Stderr = logs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if _, err := cmd.StdinPipe(); err != nil { // its end is that of this process; see beReplica
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listens on ")
	if err != nil || !ok {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		said, _ := os.ReadFile(r.logs) // what it says helps, but isn't needed
		return errors.Join(err, fmt.Errorf("replica %d does not begin: %q: %s", r.index, line, said[max(0, len(said)-2000):]))
	}
	r.cmd = cmd
	r.front.aim(addr)
	return nil
}

// kill is kill -9.
func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cpu += r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()
	r.cmd = nil
}

// signal sends a signal, if there is a process.
func (r *replica) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(s)
	}
}

// close ends the replica and its proxies.
func (r *replica) close() {
	r.kill()
	r.front.close()
	for _, p := range r.links {
		p.close()
	}
}

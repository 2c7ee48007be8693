package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// InUseError says that another process owns the data directory.
type InUseError struct {
	Dir string
	// PID is the owner's process id; 0 when it isn't known.
	PID int
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("data directory %s is in use by process %d", e.Dir, e.PID)
}

// lockDir makes this process the owner of dir until the file is closed. Two
// owners would each have a hub that doesn't see the other's events.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(f)
	if held {
		b, _ := os.ReadFile(f.Name()) // only to say who; nobody is fine
		_ = f.Close()
		pid, _ := strconv.Atoi(string(bytes.TrimSpace(b)))
		return nil, &InUseError{Dir: dir, PID: pid}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

//go:build unix

package local

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock of an open file for this process; held tells that another has it.
func lockFile(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err
}

// unlockFile gives the lock up at once: closing alone leaves it with a copy of the
// descriptor, as a child that is being started has for a moment.
func unlockFile(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

package local

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock of an open file for this process; held tells that another has it.
func lockFile(f *os.File) (held bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err
}

// unlockFile gives the lock up: closing does.
func unlockFile(f *os.File) error { return f.Close() }

// Package local is the embedded store: one SQLite database in a directory that
// one process owns, or in memory. One goroutine writes, with group commit;
// readers have connections of their own.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// Options say where the store lives.
type Options struct {
	// Dir is the data directory; it is created when it is missing.
	Dir string
	// Ephemeral keeps everything in memory; Dir isn't used.
	Ephemeral bool
	// Logger is told of what can't be returned to a caller. Default: slog.Default().
	Logger *slog.Logger
	// Unfinished opens a store also while it is being loaded (NewTarget), or was left so.
	Unfinished bool
	// Clock is the time of the store: of leases, retention and repeats. Default: time.Now.
	Clock func() time.Time
}

// Store is the embedded store. It implements thread.Store and thread.Truncater.
type Store struct {
	w      *writer
	r      *readers // nil when everything is in memory: the writer's connection reads too
	lock   *os.File
	log    *slog.Logger
	clock  func() time.Time
	counts *counts
	seed   uint64 // of digests of metadata
	closed sync.Once
}

var (
	_ thread.Store     = (*Store)(nil)
	_ thread.KeyFinder = (*Store)(nil)
	_ thread.Truncater = (*Store)(nil)
)

// File is the name of the database in the data directory.
const File = "parley.db"

// The page caches are small: 2 MiB for the writer, 512 KiB for each reader.
const (
	writerPragmas = "PRAGMA journal_mode=WAL; PRAGMA cache_size=-2048; PRAGMA wal_autocheckpoint=2000; PRAGMA temp_store=MEMORY"
	readerPragmas = "PRAGMA cache_size=-512; PRAGMA temp_store=MEMORY"
)

// Open opens the store. It returns *InUseError when another process owns the directory.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Store{log: o.Logger, clock: o.Clock, counts: newCounts()}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if o.Ephemeral {
		if err := s.open(":memory:", true, true); err != nil {
			return nil, fmt.Errorf("local: %w", err)
		}
		return s, nil
	}
	if o.Dir == "" {
		return nil, errors.New("local: no data directory given")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s.lock = lock
	if err := s.open(filepath.Join(o.Dir, File), false, o.Unfinished); err != nil {
		_ = unlockFile(lock)
		return nil, fmt.Errorf("local: %w", err)
	}
	return s, nil
}

func (s *Store) open(path string, memory, unfinishedToo bool) error {
	useFdatasync()
	c, err := openConn(path, false)
	if err != nil {
		return err
	}
	if !memory {
		err = c.run(writerPragmas)
	}
	if err == nil {
		err = migrate(c)
	}
	if err == nil && !unfinishedToo {
		var loading bool
		if loading, err = unfinished(c); loading {
			err = transfer.ErrUnfinished
		}
	}
	if err == nil {
		s.seed, err = readSeed(c)
	}
	if err == nil {
		// The directory is ours alone, so whoever held a lease is gone.
		var left int
		left, err = c.exec("UPDATE heads SET due=1 WHERE due IS NOT NULL AND running<>0")
		if left > 0 {
			s.log.Info("runs left by the process before are given out again", "runs", left)
		}
	}
	if err == nil {
		s.w, err = newWriter(c, memory, s.log)
	}
	if err != nil {
		c.close()
		return err
	}
	if !memory {
		s.r = newReaders(path, max(2, min(runtime.GOMAXPROCS(0), 8)))
	}
	return nil
}

// Close implements thread.Store. Closing once more does nothing.
func (s *Store) Close() (err error) {
	s.closed.Do(func() {
		if s.r != nil {
			s.r.close()
		}
		s.w.close()
		if s.lock != nil {
			err = unlockFile(s.lock)
		}
	})
	return err
}

// write runs a transition; sync asks that it is on the disk when it returns.
func (s *Store) write(ctx context.Context, sync bool, run func(*tx) error) error {
	return s.w.do(ctx, sync, run)
}

// read runs one query.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	if s.r == nil {
		return s.w.do(ctx, false, func(t *tx) error { return f(t.conn) })
	}
	return s.r.do(ctx, f)
}

// readAll runs several queries that see the same state.
func (s *Store) readAll(ctx context.Context, f func(*conn) error) error {
	if s.r == nil {
		return s.read(ctx, f)
	}
	return s.r.snapshot(ctx, f)
}

// now is the store's time.
func (s *Store) now() time.Time { return s.clock() }

// micros is a time as it is stored; 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// timeOf is the time that micros stored.
func timeOf(m int64) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m).UTC()
}

// orNull is a stored integer for which 0 is NULL.
func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

package local

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // some tests close it themselves
	return s
}

// hold keeps the writer busy until release, so that what comes meanwhile is one group.
func (s *Store) hold(t *testing.T) (release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.write(context.Background(), false, func(*tx) error { close(held); <-free; return nil })
	}()
	<-held
	return func() { close(free); require.NoError(t, <-done) }
}

// queued waits until n transitions wait for the writer.
func (s *Store) queued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		return len(s.w.queue) == n
	}, 10*time.Second, time.Millisecond)
}

func put(key string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.exec(`INSERT INTO items(namespace, key, value, created, updated, expires) VALUES('n',?,'{}',1,1,0)`, key)
		return err
	}
}

func (s *Store) keys(t *testing.T) (keys []string) {
	t.Helper()
	items, err := s.SearchItems(t.Context(), thread.ItemQuery{})
	require.NoError(t, err)
	for _, it := range items {
		keys = append(keys, it.Key)
	}
	return keys
}

func TestOneTransitionsFailureUndoesItAlone(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	failure := errors.New("behind its first write")
	release := s.hold(t)
	results := make([]chan error, 5)
	for i := range results {
		results[i] = make(chan error, 1)
		run := put(fmt.Sprint(i))
		switch i {
		case 1:
			run = func(t *tx) error { return errors.Join(put("1")(t), failure) }
		case 3:
			run = func(t *tx) error { _ = put("3")(t); panic("a bug") }
		}
		go func() { results[i] <- s.write(context.Background(), true, run) }()
		s.queued(t, i+1)
	}
	release()
	for i, r := range results {
		err := <-r
		switch i {
		case 1:
			require.ErrorIs(t, err, failure)
		case 3:
			require.ErrorContains(t, err, "a bug")
		default:
			require.NoError(t, err)
		}
	}
	require.ElementsMatch(t, []string{"0", "2", "4"}, s.keys(t))
}

func TestARefusalBeforeAnyWriteLeavesTheGroupTogether(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := s.hold(t)
	runs, results := make([]int, 3), make([]chan error, 3)
	for i := range results {
		results[i] = make(chan error, 1)
		go func() {
			results[i] <- s.write(context.Background(), true, func(t *tx) error {
				runs[i]++
				if i == 1 {
					return thread.ErrConflict
				}
				return put(fmt.Sprint(i))(t)
			})
		}()
		s.queued(t, i+1)
	}
	release()
	for i, r := range results {
		if err := <-r; i == 1 {
			require.ErrorIs(t, err, thread.ErrConflict)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, []int{1, 1, 1}, runs)
}

func TestWhatFollowsACommitWaitsForIt(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	called := false
	require.Error(t, s.write(t.Context(), false, func(t *tx) error {
		t.onCommit(func() { called = true })
		return errors.New("no")
	}))
	require.False(t, called)
	require.NoError(t, s.write(t.Context(), false, func(t *tx) error {
		t.onCommit(func() { called = true })
		return nil
	}))
	require.True(t, called)
}

func TestAnEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.write(ctx, false, put("k")), context.Canceled)
	_, err := s.GetThread(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, s.keys(t))
}

func TestAClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	for _, ephemeral := range []bool{false, true} {
		s, err := Open(t.Context(), Options{Dir: t.TempDir(), Ephemeral: ephemeral})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.CreateThread(t.Context(), thread.Thread{ID: "x"}), errClosed)
		_, err = s.GetThread(t.Context(), "x")
		require.ErrorIs(t, err, errClosed)
	}
}

func TestCloseWaitsForTransitionsUnderWay(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := s.hold(t)
	result := make(chan error, 1)
	go func() { result <- s.write(context.Background(), true, put("k")) }()
	s.queued(t, 1)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	release()
	require.NoError(t, <-result)
	require.NoError(t, <-closed)
}

func TestMoreReadersThanConnections(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	require.NoError(t, s.CreateThread(t.Context(), thread.Thread{ID: "x"}))
	errs := make(chan error)
	for range 50 {
		go func() {
			_, err := s.GetThread(context.Background(), "x")
			errs <- err
		}()
	}
	for range 50 {
		require.NoError(t, <-errs)
	}
	require.LessOrEqual(t, s.r.opened, s.r.cap)
}

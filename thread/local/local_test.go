package local_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
	"github.com/parley-dev/parley/thread/storetest"
)

func TestStoreOnDisk(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) thread.Store {
		s, err := local.Open(t.Context(), local.Options{Dir: t.TempDir()})
		require.NoError(t, err)
		return s
	})
}

func TestStoreInMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) thread.Store {
		s, err := local.Open(t.Context(), local.Options{Ephemeral: true})
		require.NoError(t, err)
		return s
	})
}

func TestCrashes(t *testing.T) {
	storetest.Crash(t, func(dir string) (thread.Store, error) {
		return local.Open(context.Background(), local.Options{Dir: dir})
	})
}

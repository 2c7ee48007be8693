package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADirectoryHasOneOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	_, err = Open(t.Context(), Options{Dir: dir})
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, dir, inUse.Dir)
	require.Equal(t, os.Getpid(), inUse.PID)
	require.ErrorContains(t, err, dir)
	require.NoError(t, s.Close())
	s, err = Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestAnUnknownOwnerIsNotNamed(t *testing.T) {
	t.Parallel()
	require.NotContains(t, (&InUseError{Dir: "d"}).Error(), "process 0")
}

func TestTheDataIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
}

//go:build unix

package local

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAClosedDirectoryIsFreeAtOnce: also while a child that is being started holds copies of all descriptors.
func TestAClosedDirectoryIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	copied, err := syscall.Dup(int(s.lock.Fd()))
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(copied)) }()
	require.NoError(t, s.Close())
	s, err = Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCursors(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int64{"": -1, "-1": -1, "-7": -1, "x": -1, "0": 0, "12": 12, " 3": 3, "1.5": -1, "99999999999999999999": -1} {
		require.Equal(t, want, runCursor(id), "%q", id)
	}
	for id, want := range map[string]threadCursor{"5-7": {7, 0}, "5-7.2": {7, 2}, "1800000000000-0": {0, 0}} {
		got, ok := parseThreadCursor(id)
		require.True(t, ok, id)
		require.Equal(t, want, got)
	}
	for _, id := range []string{"", "-1", "7", "5-x", "5-7.x", "5-7.-1", "5--7"} {
		_, ok := parseThreadCursor(id)
		require.False(t, ok, "%q", id)
	}
	require.True(t, threadCursor{1, 9}.before(threadCursor{2, 0}))
	require.True(t, threadCursor{2, 0}.before(threadCursor{2, 1}))
	require.False(t, threadCursor{2, 1}.before(threadCursor{2, 1}))
}

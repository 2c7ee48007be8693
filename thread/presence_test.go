package thread_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

func TestWhoSaysNoMoreOfLookingIsForgotten(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock))
	review := thread.Review{ID: "r"}
	look := func(name string) []thread.Viewer {
		list, err := b.svc.LookAt(t.Context(), review, thread.Viewer{Principal: name})
		require.NoError(t, err)
		return list
	}
	require.Empty(t, look("ann"))
	require.Equal(t, []thread.Viewer{{Principal: "ann"}}, look("bob"))
	clock.advance(thread.PresenceTTL - time.Second)
	require.Equal(t, []thread.Viewer{{Principal: "ann"}}, look("bob"))
	clock.advance(time.Second)
	require.Empty(t, look("bob"), "ann has said nothing for that long")
	require.Equal(t, []thread.Viewer{{Principal: "bob"}}, look("ann"))
	require.NoError(t, b.svc.LookAway(t.Context(), review, thread.Viewer{Principal: "bob"}))
	require.NoError(t, b.svc.LookAway(t.Context(), review, thread.Viewer{Principal: "nobody"}))
	require.Empty(t, look("ann"))
}

func TestNobodyFillsTheMemoryByLooking(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 300 {
		list, err := b.svc.LookAt(t.Context(), thread.Review{ID: "r"}, thread.Viewer{Tab: fmt.Sprint(n)})
		require.NoError(t, err)
		require.LessOrEqual(t, len(list), 100)
	}
}

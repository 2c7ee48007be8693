package redis_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoLooksIsKnownToAllReplicasForAWhile(t *testing.T) {
	t.Parallel()
	one := openStore(t)
	t.Cleanup(func() { require.NoError(t, one.Close()) })
	now := time.Now()
	look := func(who string, at time.Time, ttl time.Duration) []string {
		list, err := one.Look(t.Context(), "review {1}", who, at, ttl, 100)
		require.NoError(t, err)
		slices.Sort(list)
		return list
	}
	require.Equal(t, []string{"ann"}, look("ann", now, time.Minute))
	require.Equal(t, []string{"ann", "bob"}, look("bob", now.Add(30*time.Second), time.Minute))
	require.Equal(t, []string{"bob"}, look("bob", now.Add(time.Minute), time.Minute), "ann's time is over")
	require.Empty(t, look("bob", now.Add(time.Minute), 0))
	for n := range 150 {
		list, err := one.Look(t.Context(), "crowd", fmt.Sprint(n), now, time.Minute, 100)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list), 100)
	}
}

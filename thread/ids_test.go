package thread

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// stoppedClock always tells the same time; sleeping takes none.
type stoppedClock struct{ now time.Time }

func (c stoppedClock) Now() time.Time { return c.now }

func (c stoppedClock) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// D-04
func TestCheckpointIDsGrowWithinOneMillisecond(t *testing.T) {
	t.Parallel()
	ids := newThreadIDs(stoppedClock{now: time.UnixMilli(1_790_000_000_000)}, "")
	last := ""
	for range 10_000 {
		id := ids.Checkpoint()
		require.Greater(t, id, last)
		parsed, err := uuid.Parse(id)
		require.NoError(t, err)
		require.Equal(t, uuid.Version(7), parsed.Version())
		require.Equal(t, uuid.RFC4122, parsed.Variant())
		last = id
	}
}

func TestCheckpointIDsStayAboveTheHeadOfAClockThatRunsAhead(t *testing.T) {
	t.Parallel()
	future := newThreadIDs(stoppedClock{now: time.UnixMilli(1_800_000_000_000)}, "").Checkpoint()
	ids := newThreadIDs(stoppedClock{now: time.UnixMilli(1_790_000_000_000)}, future)
	require.Greater(t, ids.Checkpoint(), future)
}

func TestCheckpointIDsAreUniqueUnderConcurrency(t *testing.T) {
	t.Parallel()
	ids := newThreadIDs(SystemClock{}, "")
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				id := ids.Checkpoint()
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 8*500)
}

func TestSuccessorIsTheNextIDInStringOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "carry") {
			for i := 8; i < 16; i++ {
				id[i] = 0xff
			}
		}
		id[0], id[6], id[8] = id[0]&0x7f, id[6]&0x0f|0x70, id[8]&0x3f|0x80
		next := successor(id)
		require.Greater(t, next.String(), id.String())
		require.Equal(t, uuid.Version(7), next.Version())
		require.Equal(t, uuid.RFC4122, next.Variant())
	})
}

package feeds_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/feeds"
)

// byFirstLetter is a store whose threads have the project that they begin with.
type byFirstLetter struct {
	asked atomic.Int32
	away  atomic.Bool
}

func (b *byFirstLetter) find(_ context.Context, id string) (string, error) {
	b.asked.Add(1)
	switch {
	case b.away.Load():
		return "", errors.New("the store is away")
	case id == "gone":
		return "", feeds.ErrProject
	}
	return id[:1], nil
}

// Whoever follows a project learns of its threads, and of no others.
func TestThreadsAreHintedAtInTheirOwnProject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, store := feeds.New(feeds.Options{}), &byFirstLetter{}
		threads := feeds.NewThreads(f, store.find)
		threads.Changed("a1")
		synctest.Wait()
		require.Zero(t, store.asked.Load(), "nobody followed yet")
		f.Create("a")
		f.Create("b")
		go func() {
			for _, id := range []string{"a1", "gone", "a1", "c1", "b1", "a2", "a1"} {
				time.Sleep(time.Second / 2)
				threads.Changed(id)
			}
		}()
		got := make(chan string)
		go func() { got <- recorded(t, f, "b", 5*time.Second-time.Millisecond) }()
		require.Equal(t, 4, hints(recorded(t, f, "a", 5*time.Second-time.Millisecond)))
		require.Equal(t, 1, hints(<-got))
		require.EqualValues(t, 5, store.asked.Load(), "each is looked up once")
		require.NoError(t, f.Close(t.Context()))
	})
}

// hints counts them.
func hints(recorded string) int { return strings.Count(recorded, "id: ") }

// What can't be told apart is hinted at everywhere: a hint too many costs a look, one too few is never made up for.
func TestAChangeWhoseProjectIsUnknownIsHintedAtInAll(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(store *byFirstLetter, threads *feeds.Threads){
		"the store is away": func(store *byFirstLetter, threads *feeds.Threads) {
			store.away.Store(true)
			threads.Changed("c1")
		},
		"more than can wait": func(_ *byFirstLetter, threads *feeds.Threads) {
			for i := range 20_000 { // nothing else runs meanwhile
				threads.Changed(fmt.Sprint("c", i))
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, store := feeds.New(feeds.Options{}), &byFirstLetter{}
			threads := feeds.NewThreads(f, store.find)
			f.Create("a")
			go func() {
				time.Sleep(time.Second)
				change(store, threads)
			}()
			require.NotZero(t, hints(recorded(t, f, "a", 4*time.Second)), name)
			require.NoError(t, f.Close(t.Context()))
		})
	}
}

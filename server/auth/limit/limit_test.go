package limit_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/limit"
)

// clock is a time that passes when told.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(1e9, c.ahead.Load()) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// tooMany wants a 429 that says when to come again.
func tooMany(t *testing.T, err error) time.Duration {
	t.Helper()
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, http.StatusTooManyRequests, e.Status)
	seconds, err := strconv.Atoi(e.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, seconds)
	return time.Duration(seconds) * time.Second
}

func TestWithoutLimitsEverythingPasses(t *testing.T) {
	t.Parallel()
	l := limit.New(limit.Options{}, nil)
	require.Nil(t, l)
	for range 1000 {
		require.NoError(t, l.Request("ada"))
		_, err := l.Stream("ada")
		require.NoError(t, err)
		_, err = l.Start(t.Context(), "ada", nil)
		require.NoError(t, err)
	}
}

func TestRequestsOfOnePrincipalAreLimited(t *testing.T) {
	t.Parallel()
	c := &clock{}
	l := limit.New(limit.Options{Requests: 2, Burst: 4}, c.now)
	for range 4 {
		require.NoError(t, l.Request("ada"))
	}
	after := tooMany(t, l.Request("ada"))
	require.NoError(t, l.Request("bob"), "others aren't")
	for range 10 {
		tooMany(t, l.Request("ada")) // refused ones cost nothing
	}
	c.pass(after)
	require.NoError(t, l.Request("ada"), "what Retry-After says holds")
	c.pass(time.Hour)
	for range 4 {
		require.NoError(t, l.Request("ada"))
	}
	tooMany(t, l.Request("ada"))
}

func TestStreamsOfOnePrincipalAreLimited(t *testing.T) {
	t.Parallel()
	l := limit.New(limit.Options{Streams: 2}, nil)
	leave, err := l.Stream("ada")
	require.NoError(t, err)
	_, err = l.Stream("ada")
	require.NoError(t, err)
	_, err = l.Stream("ada")
	tooMany(t, err)
	_, err = l.Stream("bob")
	require.NoError(t, err)
	leave()
	leave() // once is enough
	_, err = l.Stream("ada")
	require.NoError(t, err)
	_, err = l.Stream("ada")
	tooMany(t, err)
}

func TestRunsUnderWayAreLimited(t *testing.T) {
	t.Parallel()
	c := &clock{}
	l := limit.New(limit.Options{Runs: 2}, c.now)
	over := map[limit.Run]bool{}
	looks := 0
	ended := func(_ context.Context, r limit.Run) bool { looks++; return over[r] }
	run := func(id string) limit.Run { return limit.Run{ThreadID: "t", RunID: id} }
	start := func(id string) error {
		started, err := l.Start(t.Context(), "ada", ended)
		if err == nil {
			started(run(id))
		}
		return err
	}
	require.NoError(t, start("a"))
	require.NoError(t, start("b"))
	require.Zero(t, looks, "while there is room nobody looks")
	tooMany(t, start("c"))
	require.Equal(t, 2, looks)
	over[run("a")] = true
	tooMany(t, start("c"))
	require.Equal(t, 2, looks, "not more than once a second")
	c.pass(time.Second)
	require.NoError(t, start("c"))
	c.pass(time.Second)
	tooMany(t, start("d"))

	failed, err := l.Start(t.Context(), "bob", ended)
	require.NoError(t, err)
	_, err = l.Start(t.Context(), "bob", ended)
	require.NoError(t, err)
	_, err = l.Start(t.Context(), "bob", ended)
	tooMany(t, err)
	failed(limit.Run{})
	_, err = l.Start(t.Context(), "bob", ended)
	require.NoError(t, err, "a run that wasn't made takes no room")
}

func TestCountsHoldUnderConcurrency(t *testing.T) {
	t.Parallel()
	l := limit.New(limit.Options{Requests: 0.001, Burst: 10, Streams: 10, Runs: 10}, nil)
	var requests, streams, runs atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if l.Request("ada") == nil {
				requests.Add(1)
			}
			if _, err := l.Stream("ada"); err == nil {
				streams.Add(1)
			}
			if _, err := l.Start(t.Context(), "ada", func(context.Context, limit.Run) bool { return false }); err == nil {
				runs.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 10, requests.Load())
	require.EqualValues(t, 10, streams.Load())
	require.EqualValues(t, 10, runs.Load())
}

func TestWhoDoesNothingIsForgotten(t *testing.T) {
	t.Parallel()
	c := &clock{}
	l := limit.New(limit.Options{Requests: 1, Streams: 1}, c.now)
	for i := range 100 {
		require.NoError(t, l.Request(strconv.Itoa(i)))
	}
	_, err := l.Stream("0")
	require.NoError(t, err)
	c.pass(time.Hour)
	require.NoError(t, l.Request("new"))
	require.Equal(t, 2, limit.Known(l), "the new one, and the one with a stream")
	_, err = l.Stream("0")
	tooMany(t, err)
}

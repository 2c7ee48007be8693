package feeds_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/r3labs/sse/v2"
	"github.com/stretchr/testify/require"
	"gopkg.in/cenkalti/backoff.v1"

	"github.com/parley-dev/parley/server/feeds"
)

// TestLibrarysClientReadsTheFeed: an independent parser sees hints and nothing
// else, with heartbeats between them (spec/libraries.md 2).
func TestLibrarysClientReadsTheFeed(t *testing.T) {
	t.Parallel()
	b := setup(t, feeds.Options{Interval: time.Nanosecond, Heartbeat: time.Millisecond}, false)
	ctx, leave := context.WithTimeout(t.Context(), 30*time.Second)
	defer leave()
	c := sse.NewClient(b.http.URL, sse.ClientMaxBufferSize(16<<20))
	c.ReconnectStrategy = &backoff.StopBackOff{}
	c.LastEventID.Store([]byte("1700000000000-3")) // of another server
	var got []string
	c.ResponseValidator = func(_ *sse.Client, res *http.Response) error {
		require.Equal(t, http.StatusOK, res.StatusCode)
		b.Changed(project) // who has the headers is subscribed and sees this change
		return nil
	}
	err := c.SubscribeWithContext(ctx, "of the client's choice", func(e *sse.Event) {
		if ctx.Err() != nil {
			return // at the end it makes an event of the heartbeat that it had begun to read
		}
		require.Equal(t, `{"version":`+string(e.ID)+`}`, string(e.Data))
		require.Empty(t, e.Event)
		require.Empty(t, e.Retry)
		got = append(got, string(e.ID))
		if len(got) == 5 {
			leave()
			return
		}
		b.Changed(project)
	})
	require.NoError(t, err, "it left itself")
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, got)
}

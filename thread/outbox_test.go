package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// receiver takes webhooks and may refuse the first ones.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	refuse int
	bodies [][]byte
	heads  []http.Header
}

func newReceiver(t *testing.T, refuse int) *receiver {
	r := &receiver{refuse: refuse}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies, r.heads = append(r.bodies, body), append(r.heads, req.Header)
		if r.refuse > 0 {
			r.refuse--
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.bodies)
}

func TestWebhookIsSignedAndRetriedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	r := newReceiver(t, 2)
	client := r.Client()
	t.Cleanup(client.CloseIdleConnections)
	b := setup(t, withClock(clock), with(func(o *thread.Options) { o.WebhookSecret, o.HTTPClient = "secret", client }))
	id := b.thread()
	start := input(id, "echo", `{"note":"x"}`)
	start.Webhook = r.URL
	run := b.run(start)
	for attempt := 1; attempt <= 3; attempt++ {
		require.Eventually(t, func() bool {
			if r.got() >= attempt {
				return true
			}
			clock.advance(time.Second)
			return false
		}, patience, 2*time.Millisecond)
	}
	require.Eventually(t, func() bool {
		due, err := b.store.DueDeliveries(context.Background(), clock.Now().Add(24*time.Hour), 10)
		return err == nil && len(due) == 0
	}, patience, 2*time.Millisecond)
	require.Equal(t, 3, r.got())
	require.Equal(t, r.heads[0].Get(thread.DeliveryHeader), r.heads[2].Get(thread.DeliveryHeader))
	require.Equal(t, "application/json", r.heads[2].Get("Content-Type"))
	require.Equal(t, thread.Sign("secret", r.heads[2].Get(thread.TimestampHeader), r.bodies[2]), r.heads[2].Get(thread.SignatureHeader))
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(r.bodies[2], &body))
	require.JSONEq(t, `"`+run.ID+`"`, string(body["run_id"]))
	require.JSONEq(t, `"success"`, string(body["status"]))
	require.JSONEq(t, b.values(id), string(body["values"]))
	require.Contains(t, body, "run_started_at")
	require.Contains(t, body, "run_ended_at")
	require.Contains(t, body, "webhook_sent_at")
	require.NotContains(t, body, "error")
}

func TestWebhookMayBeRefusedByTheOperator(t *testing.T) {
	t.Parallel()
	inner := newReceiver(t, 0)
	var lured atomic.Int32
	lure := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lured.Add(1)
		http.Redirect(w, r, inner.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(lure.Close)
	client := lure.Client()
	t.Cleanup(client.CloseIdleConnections)
	b := setup(t, with(func(o *thread.Options) {
		o.HTTPClient = client
		o.WebhookAllow = func(url string) error {
			if strings.HasPrefix(url, inner.URL) {
				return errors.New("it is private")
			}
			return nil
		}
	}))
	start := input(b.thread(), "echo", `{}`)
	start.Webhook = inner.URL + "/x"
	_, err := b.svc.StartRun(t.Context(), start)
	var invalid *thread.InvalidInputError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []string{"webhook"}, invalid.Path)
	require.Contains(t, invalid.Message, "it is private")
	_, err = b.svc.CreateCron(t.Context(), thread.Cron{
		AssistantID: "echo", Schedule: "0 4 * * *", Payload: json.RawMessage(`{"webhook":"` + inner.URL + `"}`),
	})
	require.ErrorAs(t, err, &invalid)

	start.Webhook = lure.URL
	b.run(start)
	require.Eventually(t, func() bool {
		due, err := b.store.DueDeliveries(t.Context(), time.Now().Add(time.Hour), 10)
		return err == nil && len(due) == 1 && due[0].Attempt == 1
	}, patience, 2*time.Millisecond)
	require.EqualValues(t, 1, lured.Load())
	require.Zero(t, inner.got(), "the redirect isn't followed")
}

func TestRelativeWebhookGoesToTheServersOwnRoutes(t *testing.T) {
	t.Parallel()
	type call struct {
		path string
		body []byte
	}
	calls := make(chan call, 1)
	b := setup(t, with(func(o *thread.Options) {
		o.DeliverLocal = func(_ context.Context, path string, body []byte) error {
			calls <- call{path, body}
			return nil
		}
	}))
	start := input(b.thread(), "failing", `{"note":"ill"}`)
	start.Webhook = "/hook?x=1"
	b.run(start)
	got := <-calls
	require.Equal(t, "/hook?x=1", got.path)
	var body struct {
		Status string
		Error  string
	}
	require.NoError(t, json.Unmarshal(got.body, &body))
	require.Equal(t, "error", body.Status)
	require.Equal(t, "Boo!", body.Error)
}

func TestWebhookOfARemovedRunIsDropped(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	r := newReceiver(t, 1)
	client := r.Client()
	t.Cleanup(client.CloseIdleConnections)
	b := setup(t, withClock(clock), with(func(o *thread.Options) { o.HTTPClient = client }))
	start := input(b.thread(), "echo", `{}`)
	start.Webhook = r.URL
	run := b.run(start)
	require.Eventually(t, func() bool { return r.got() == 1 }, patience, time.Millisecond)
	require.NoError(t, b.svc.DeleteThread(context.Background(), run.ThreadID))
	require.Eventually(t, func() bool {
		clock.advance(time.Second)
		due, err := b.store.DueDeliveries(context.Background(), clock.Now().Add(24*time.Hour), 10)
		return err == nil && len(due) == 0
	}, patience, 2*time.Millisecond)
	require.Equal(t, 1, r.got())
}

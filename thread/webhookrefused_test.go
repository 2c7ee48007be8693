package thread_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An address that is refused for good isn't tried for hours; it can be sent anew once it is allowed.
func TestWebhookToARefusedAddressIsGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	var tried atomic.Int32
	b := setup(t, with(func(o *thread.Options) {
		o.WebhookClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			tried.Add(1)
			return nil, fmt.Errorf("dial %s: %w", r.URL.Host, thread.ErrWebhookRefused)
		})}
	}))
	start := input(b.thread(), "echo", `{}`)
	start.Webhook = "http://inside.example/hook"
	b.run(start)
	require.Eventually(t, func() bool {
		dead, err := b.svc.DeadLetters(t.Context(), thread.DefaultProject, 10)
		return err == nil && len(dead) == 1 && dead[0].URL == start.Webhook
	}, patience, 2*time.Millisecond)
	require.EqualValues(t, 1, tried.Load())
}

// What clients name is checked as it is named; addresses of the operator's own aren't asked about.
func TestWebhookCheckIsAskedAboutAddressesOfClientsOnly(t *testing.T) {
	t.Parallel()
	check := func(url string) error { return errors.New(url + " is inside") }
	b := setup(t, with(func(o *thread.Options) { o.WebhookCheck, o.Notify = check, []string{"http://10.0.0.1/notices"} }))
	start := input(b.thread(), "echo", `{}`)
	start.Webhook = "http://10.0.0.1/"
	_, err := b.svc.StartRun(t.Context(), start)
	var invalid *thread.InvalidInputError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []string{"webhook"}, invalid.Path)
	require.Contains(t, invalid.Message, "is inside")
	start.Webhook = "/own"
	_, err = b.svc.StartRun(t.Context(), start)
	require.NoError(t, err, "paths of the server itself are its own affair")
}

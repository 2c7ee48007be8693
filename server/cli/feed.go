package cli

import (
	"context"
	"net/http"
	"strings"

	"github.com/r3labs/sse/v2"
	"gopkg.in/cenkalti/backoff.v1"
)

// subscribe reads a feed of hints to its end, with the library that serves it. It is sound for that as long as it
// neither reconnects by itself (it would after an error, but not after a clean end, and would go on for ever after a
// refusal) nor has a small buffer (R-13, spec/libraries.md 2).
func (c *client) subscribe(ctx context.Context, path string, handle func(*sse.Event)) error {
	if err := checkAddress(c.BaseURL); err != nil {
		return err
	}
	s := sse.NewClient(strings.TrimSuffix(c.BaseURL, "/")+path, sse.ClientMaxBufferSize(longestEvent))
	s.Connection = c.http
	s.ReconnectStrategy = &backoff.StopBackOff{}
	for k := range c.allHeaders() {
		s.Headers[k] = c.allHeaders().Get(k)
	}
	var refused error
	s.ResponseValidator = func(_ *sse.Client, resp *http.Response) error {
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		refused = refusal(resp)
		_ = resp.Body.Close()
		return refused
	}
	err := s.SubscribeWithContext(ctx, "", handle)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refused != nil:
		return refused
	}
	return err
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/r3labs/sse/v2"
	"gopkg.in/cenkalti/backoff.v1"
)

const (
	// longestEvent bounds one event of a stream.
	longestEvent = 16 << 20
	// againAfter is the pause before a stream that broke is opened again.
	againAfter = 500 * time.Millisecond
)

// subscribe reads a stream of server-sent events to its end, with the library that also serves the hint
// feeds. It is sound for that as long as it neither reconnects by itself (it would after an error, but not after a
// clean end, and would go on for ever after a refusal) nor has a small buffer (R-13, spec/libraries.md 2).
func (c *client) subscribe(ctx context.Context, path, after string, handle func(*sse.Event)) error {
	s := sse.NewClient(strings.TrimSuffix(c.BaseURL, "/")+path, sse.ClientMaxBufferSize(longestEvent))
	s.Connection = c.http
	s.ReconnectStrategy = &backoff.StopBackOff{}
	for k := range c.allHeaders() {
		s.Headers[k] = c.allHeaders().Get(k)
	}
	if after != "" {
		s.LastEventID.Store([]byte(after))
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

// follow shows what an execution's newest run says, until the execution is suspended or over. said gets each piece of text.
func (c *client) follow(ctx context.Context, e *execution, said func(text string)) (*execution, error) {
	last, run := "", ""
	for {
		if len(e.RunIDs) > 0 && e.RunIDs[len(e.RunIDs)-1] != run {
			run, last = e.RunIDs[len(e.RunIDs)-1], ""
		}
		var broken error
		if run != "" {
			broken = c.join(ctx, e.ThreadID, run, &last, said)
		}
		var refused *APIError
		if errors.As(broken, &refused) && refused.Status != http.StatusNotFound && refused.Status < 500 {
			return e, broken
		}
		now, err := c.execution(ctx, e.ID)
		switch {
		case ctx.Err() != nil:
			return e, ctx.Err()
		case err == nil && now.settled():
			return now, nil
		case err == nil:
			e = now
		case !away(err):
			return e, err
		}
		if err := sleep(ctx, againAfter); err != nil {
			return e, err
		}
	}
}

// join reads a run's messages from behind the event *last, which it keeps up to date.
func (c *client) join(ctx context.Context, threadID, run string, last *string, said func(string)) error {
	path := fmt.Sprintf("/threads/%s/runs/%s/stream?stream_mode=messages-tuple", threadID, run)
	return c.subscribe(ctx, path, *last, func(e *sse.Event) {
		if len(e.ID) > 0 {
			*last = string(e.ID)
		}
		if text := textOf(e.Data); string(e.Event) == "messages" && text != "" {
			said(text)
		}
	})
}

// textOf is the text that a message's chunk adds; "" for other messages than the model's.
func textOf(data []byte) string {
	var tuple []json.RawMessage
	if json.Unmarshal(data, &tuple) != nil || len(tuple) == 0 {
		return ""
	}
	var m struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(tuple[0], &m) != nil || !strings.HasPrefix(m.Type, "AIMessage") && m.Type != "ai" {
		return ""
	}
	var plain string
	if json.Unmarshal(m.Content, &plain) == nil {
		return plain
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &blocks) // what is no list has no text
	text := ""
	for _, b := range blocks {
		if b.Type == "text" {
			text += b.Text
		}
	}
	return text
}

// away reports whether an error says that the server can't be reached at present.
func away(err error) bool {
	var api *APIError
	return errors.As(err, &api) && (api.Status == 0 || api.Status >= 500)
}

// sleep pauses, unless the context ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

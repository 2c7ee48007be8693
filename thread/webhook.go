package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// webhookPayload is what a webhook tells: the run with its end and the thread's
// values (spec/rest-api.md 2.7).
type webhookPayload struct {
	RunID       string          `json:"run_id"`
	ThreadID    string          `json:"thread_id"`
	AssistantID string          `json:"assistant_id"`
	Status      RunStatus       `json:"status"`
	Metadata    Metadata        `json:"metadata"`
	Kwargs      RunKwargs       `json:"kwargs"`
	Strategy    string          `json:"multitask_strategy"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
	StartedAt   string          `json:"run_started_at,omitempty"`
	EndedAt     string          `json:"run_ended_at,omitempty"`
	SentAt      string          `json:"webhook_sent_at"`
	Values      json.RawMessage `json:"values,omitempty"`
	Error       string          `json:"error,omitempty"`
}

// webhookBody makes the payload of a delivery. Errors: *NotFoundError when the run is gone.
func (s *Service) webhookBody(ctx context.Context, d Delivery) ([]byte, error) {
	run, err := s.GetRun(ctx, d.ThreadID, d.RunID)
	if err != nil {
		return nil, err
	}
	p := webhookPayload{
		RunID: run.ID, ThreadID: run.ThreadID, AssistantID: run.AssistantID, Status: run.Status,
		Metadata: run.Metadata, Kwargs: run.Kwargs, Strategy: run.Strategy,
		CreatedAt: stamp(run.CreatedAt), UpdatedAt: stamp(run.UpdatedAt),
		StartedAt: stamp(run.StartedAt), EndedAt: stamp(run.EndedAt), SentAt: stamp(s.clock.Now()),
	}
	var failure struct {
		Message string `json:"message"`
	}
	if run.Status == RunError && json.Unmarshal(run.Error, &failure) == nil {
		p.Error = failure.Message
	}
	if run.Status != RunInterrupted && !run.Kwargs.Temporary {
		t, err := s.GetThread(ctx, d.ThreadID)
		if err != nil {
			return nil, err
		}
		v, err := s.ViewThread(ctx, t)
		if err != nil {
			return nil, err
		}
		p.Values = v.Values
	}
	return json.Marshal(p)
}

// ErrWebhookRefused says that a webhook doesn't go where it should: no further attempt is made.
var ErrWebhookRefused = errors.New("the webhook's address is refused")

// allowWebhook asks the operator about a webhook's address. Paths of the server itself are always allowed.
func (s *Service) allowWebhook(address string) error {
	if address == "" || strings.HasPrefix(address, "/") {
		return nil
	}
	for _, allow := range []func(url string) error{s.opts.WebhookAllow, s.opts.WebhookCheck} {
		if allow == nil {
			continue
		}
		if err := allow(address); err != nil {
			return &InvalidInputError{Path: []string{"webhook"}, Message: "this webhook is not allowed: " + err.Error()}
		}
	}
	return nil
}

// maxRedirects is how many redirects a webhook follows.
const maxRedirects = 10

// guarded is the client that follows redirects only to allowed addresses.
func guarded(client http.Client, allow func(address string) error) *http.Client {
	before := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := allow(req.URL.String()); err != nil {
			return fmt.Errorf("redirect to %s is not allowed: %w", req.URL, err)
		}
		switch {
		case before != nil:
			return before(req, via)
		case len(via) >= maxRedirects:
			return errors.New("too many redirects")
		}
		return nil
	}
	return &client
}

// stamp is a time on the wire; "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

package thread

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Headers of a signed webhook. The signature is the hex HMAC-SHA256, under the
// shared secret, of "<timestamp>.<body>".
const (
	SignatureHeader = "X-Parley-Signature"
	TimestampHeader = "X-Parley-Timestamp"
	DeliveryHeader  = "X-Parley-Delivery" // the same for each attempt: receivers drop repeats by it
)

const (
	webhookTimeout = 10 * time.Second
	// webhookTries ends a delivery that nobody takes; with the pauses below that is after about 17 h.
	webhookTries     = 12
	firstRetry       = 5 * time.Second
	longestRetry     = 4 * time.Hour
	outboxBatch      = 32
	outboxConcurrent = 8
	// outboxIdle is how often the outbox looks for what another process left.
	outboxIdle = time.Minute
)

// outbox sends webhooks that transitions have stored, until they are taken.
type outbox struct {
	s    *Service
	call chan struct{}
}

func newOutbox(s *Service) *outbox { return &outbox{s: s, call: make(chan struct{}, 1)} }

// wake makes the outbox look at once.
func (o *outbox) wake() { signal(o.call) }

// wakeFor wakes the outbox if a change of the review is announced.
func (o *outbox) wakeFor(r Review) {
	if len(r.Notify) > 0 {
		o.wake()
	}
}

func (o *outbox) loop(ctx context.Context) {
	for ctx.Err() == nil {
		o.s.sleepUnless(ctx, o.deliverDue(ctx), o.call)
	}
}

// deliverDue sends what is due and returns when to look again.
func (o *outbox) deliverDue(ctx context.Context) time.Duration {
	wait := outboxIdle
	for {
		due, err := o.s.store.DueDeliveries(ctx, o.s.clock.Now(), outboxBatch)
		if err != nil {
			o.s.complain(ctx, "look for webhooks", err)
			return firstRetry
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		slots := make(chan struct{}, outboxConcurrent)
		for _, d := range due {
			wg.Add(1)
			slots <- struct{}{}
			go func() {
				defer func() { <-slots; wg.Done() }()
				if again := o.deliver(ctx, d); again > 0 {
					mu.Lock()
					wait = min(wait, again)
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		if len(due) < outboxBatch || ctx.Err() != nil {
			return wait
		}
	}
}

// deliver sends one webhook; it returns the pause before the next attempt, 0 when there is none.
func (o *outbox) deliver(ctx context.Context, d Delivery) time.Duration {
	ctx = o.s.traced(ctx, d)
	err := o.send(ctx, d)
	var gone *NotFoundError
	switch {
	case ctx.Err() != nil:
		return 0 // stays due for the next start
	case err == nil:
		err = o.s.store.FinishDelivery(ctx, d.ID)
	case errors.As(err, &gone):
		o.s.log.WarnContext(ctx, "webhook dropped", "run", d.RunID, "event", d.Event, "attempts", d.Attempt+1, "err", err)
		err = o.s.store.FinishDelivery(ctx, d.ID)
	case errors.Is(err, ErrMailRefused), errors.Is(err, ErrWebhookRefused), d.Attempt+1 >= webhookTries:
		o.s.log.WarnContext(ctx, "webhook given up", "run", d.RunID, "event", d.Event, "attempts", d.Attempt+1, "err", err)
		err = o.s.store.FailDelivery(ctx, d.ID, err.Error())
	default:
		pause := min(firstRetry<<d.Attempt, longestRetry)
		o.s.log.InfoContext(ctx, "webhook failed", "run", d.RunID, "attempt", d.Attempt+1, "retry_in", pause, "err", err)
		if err = o.s.store.RetryDelivery(ctx, d.ID, o.s.clock.Now().Add(pause), err.Error()); err == nil {
			return pause
		}
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		o.s.complain(ctx, "store the result of a webhook", err)
		return firstRetry
	}
	return 0
}

// send makes the payload from the run as it ended, or the review as it is, and posts it.
func (o *outbox) send(ctx context.Context, d Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	if strings.HasPrefix(d.URL, mailto) {
		return o.s.mailNotice(ctx, d)
	}
	payload, client := o.s.webhookBody, o.s.opts.WebhookClient
	if d.Event != "" {
		payload, client = o.s.noticeBody, o.s.opts.HTTPClient
	}
	body, err := payload(ctx, d)
	if err != nil {
		return err
	}
	if strings.HasPrefix(d.URL, "/") {
		if o.s.opts.DeliverLocal == nil {
			return fmt.Errorf("no routes of our own to deliver %s to", d.URL)
		}
		return o.s.opts.DeliverLocal(ctx, d.URL, body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(DeliveryHeader, d.ID)
	if p := agent.TraceParent(ctx); p != "" {
		req.Header.Set(agent.TraceHeader, p)
	}
	if secret := o.s.opts.WebhookSecret; secret != "" {
		stamp := strconv.FormatInt(o.s.clock.Now().Unix(), 10)
		req.Header.Set(TimestampHeader, stamp)
		req.Header.Set(SignatureHeader, Sign(secret, stamp, body))
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode >= 300 {
		return fmt.Errorf("webhook answered %s", resp.Status)
	}
	return nil
}

// Sign returns the signature of a webhook's body, for senders and receivers.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

package chaostest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// request is what a client asks for.
type request struct {
	who, method, path, body, key string
	within                       time.Duration // default 3 s
}

// send sends a request to one replica, once. A stream's reply is not read.
func (w *world) send(ctx context.Context, q request, replica int) (c call, reply map[string]any) {
	c = call{Method: q.method, Path: q.path, Body: q.body, Key: q.key, Replica: replica, Began: w.hist.ms()}
	defer func() { w.hist.called(q.who, c) }()
	within := q.within
	if within == 0 {
		within = 3 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	res, err := w.open(ctx, q, replica)
	if err != nil {
		c.Err = err.Error()
		return c, nil
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	var b []byte
	if res.StatusCode != http.StatusOK || !strings.HasSuffix(q.path, "/runs/stream") { // others read that
		b, err = io.ReadAll(res.Body)
	}
	if err != nil {
		c.Err = err.Error()
		return c, nil
	}
	c.Status, c.Reply = res.StatusCode, string(b)
	_ = json.Unmarshal(b, &reply) // lists and texts aren't looked at
	if at := res.Header.Get("Content-Location"); at != "" {
		if reply == nil {
			reply = map[string]any{}
		}
		if _, id, ok := strings.Cut(at, "/runs/"); ok {
			reply["run_id"] = id
		}
	}
	if c.Status >= 500 && c.Status != http.StatusServiceUnavailable {
		w.violated("%s %s %s: %d %.300s", q.method, q.path, q.body, c.Status, c.Reply)
	}
	return c, reply
}

// open sends a request and returns its reply with the body to be read.
func (w *world) open(ctx context.Context, q request, replica int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, "http://"+w.replicas[replica].front.addr()+q.path, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // the transport must not send it twice: clients do
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		req.Header.Set("Idempotency-Key", q.key)
	}
	return w.http.Do(req)
}

// insist sends a request, to one replica after the other, until it is answered.
func (w *world) insist(ctx context.Context, q request, replica int) (c call, reply map[string]any) {
	for ; ; replica++ {
		c, reply = w.send(ctx, q, replica%len(w.replicas))
		if c.Status != 0 && c.Status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return c, reply
		}
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}

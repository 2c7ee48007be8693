package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

const (
	// longestEvent bounds one event of a stream.
	longestEvent = 16 << 20
	// againAfter is the pause before a stream that broke is opened again, or an execution looked at again.
	againAfter = 500 * time.Millisecond
)

// chunk is an event of invokeStream (spec/executions.md 4).
type chunk struct {
	Type        string `json:"chunk_type"`
	Content     string `json:"content"`
	ExecutionID string `json:"execution_id"`
}

// watcher follows the executions of a session: it knows the last chunk that came.
type watcher struct {
	c       *client
	session string
	last    string // id of that chunk; "" for none yet
	id      string // the execution's
}

// invoke begins an execution and follows it. A request that broke is sent again with the same key, so that it begins one only.
func (w *watcher) invoke(ctx context.Context, body any, said func(text string)) (*execution, error) {
	w.last, w.id = "", ""
	return w.follow(ctx, http.Header{"Idempotency-Key": {uuid.NewString()}}, body, said)
}

// resumed follows an execution that goes on. Without a chunk to go on from, it is looked at until it waits again, or is over.
func (w *watcher) resumed(ctx context.Context, e *execution, said func(text string)) (*execution, error) {
	if w.last != "" && w.id == e.ID {
		return w.follow(ctx, http.Header{}, struct{}{}, said)
	}
	w.last, w.id = "", e.ID
	for !e.settled() {
		if err := sleep(ctx, againAfter); err != nil {
			return e, err
		}
		now, err := w.c.execution(ctx, e.ID)
		if err != nil && !away(err) {
			return e, err
		}
		if err == nil {
			e = now
		}
	}
	if e.Response != "" && e.Status == completed {
		said(e.Response)
	}
	return e, nil
}

// follow reads chunks until one says that nothing more comes without a person, over as many connections as it takes.
func (w *watcher) follow(ctx context.Context, headers http.Header, body any, said func(text string)) (*execution, error) {
	for {
		if w.last != "" {
			headers = http.Header{"Last-Event-Id": {w.last}}
			body = struct{}{}
		}
		over, err := w.read(ctx, headers, body, said)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case over:
			return w.c.execution(ctx, w.id)
		case err != nil && !away(err) && !errors.Is(err, errBroken):
			return nil, err
		case err != nil && w.id == "" && isUnreachable(err):
			return nil, err // nothing was ever there
		}
		if err := sleep(ctx, againAfter); err != nil {
			return nil, err
		}
	}
}

// errBroken: a stream ended before its last chunk.
var errBroken = errors.New("the stream broke off")

// isUnreachable reports whether no server answered at all.
func isUnreachable(err error) bool {
	var api *APIError
	return errors.As(err, &api) && api.Status == 0
}

// read reads one connection's chunks; over reports that the last has come.
func (w *watcher) read(ctx context.Context, headers http.Header, body any, said func(text string)) (over bool, err error) {
	own := *w.c
	if own.headers = w.c.headers.Clone(); own.headers == nil {
		own.headers = http.Header{}
	}
	for k, v := range headers {
		own.headers[k] = v
	}
	own.headers.Set("X-Session-ID", w.session)
	path := w.c.project("workspaces", w.c.Workspace, "invokeStream")
	resp, err := own.send(ctx, http.MethodPost, path, url.Values{}, body)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	err = readEvents(resp.Body, func(id string, data []byte) error {
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("chunk %s: %w", id, err)
		}
		w.last, w.id = id, c.ExecutionID
		switch c.Type {
		case "text":
			said(c.Content)
		case suspended, completed, failed:
			over = true
		}
		return nil
	})
	if err == nil && !over {
		err = errBroken
	}
	return over, err
}

// readEvents reads server-sent events (HTML standard, 9.2) to the end of the stream. github.com/r3labs/sse, which reads
// the hint feeds, can't: its client sends GET only (spec/libraries.md 2).
func readEvents(r io.Reader, handle func(id string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), longestEvent)
	var id string
	var data []byte
	got := false
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch {
		case len(lines.Bytes()) == 0:
			if got {
				if err := handle(id, data); err != nil {
					return err
				}
			}
			data, got = nil, false
		case string(name) == "id":
			id = string(value)
		case string(name) == "data":
			if got {
				data = append(data, '\n')
			}
			data, got = append(data, value...), true
		}
	}
	if lines.Err() != nil {
		return fmt.Errorf("%w: %w", errBroken, lines.Err())
	}
	return nil
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
		return context.Cause(ctx)
	}
}

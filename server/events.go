package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// postEvents is POST /threads/{thread_id}/stream/events (spec/streaming-protocol.md 1.3).
func (s *Server) postEvents(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	sub, err := subscriptionOf(f)
	if err != nil {
		return err
	}
	admit, err := s.admitEvents(c, id)
	if err != nil {
		return err
	}
	e := stream.EventOptions{
		Filters: protocol.Filters{protocol.NewFilter(sub)}, Since: cursorOf(sub, c.Request().Header.Get("Last-Event-ID")),
		Admit: admit, NoFailureText: s.opts.NoFailureText,
	}
	return s.serveStream(c, stream.Options{}, func(o stream.Options) serveFunc {
		events := s.hub.OpenEvents(id, e, o)
		return func(w http.ResponseWriter, r *http.Request) error {
			err := events.Serve(w, r)
			if errors.Is(context.Cause(r.Context()), errExpired) {
				endExpired(w)
			}
			return err
		}
	})
}

// expiredEvent is what clients of the thread protocol show as the stream's failure.
const expiredEvent = `data: {"type":"error","id":null,"error":"` + codeDenied + `","message":"401: credentials expired"}` + "\n\n"

// endExpired says why an event stream ends, and aborts it: it has no clean end.
func endExpired(w http.ResponseWriter) {
	out := stream.NewWriter(w, 0)
	if out.Write([]byte(expiredEvent)) == nil {
		_ = out.Flush() // the client may be gone
	}
	panic(http.ErrAbortHandler)
}

// admitEvents tells whether the user may read the thread's events. The thread
// may not exist yet: then the stream asks again once it does, so that nobody
// reads a thread that another user creates. Nil: every one.
func (s *Server) admitEvents(c echo.Context, threadID string) (func(context.Context) (bool, error), error) {
	f, _, err := s.allow(c, "threads", "read", func(v auth.Value) { v["thread_id"] = encode(threadID) })
	if err != nil || len(f) == 0 {
		return nil, err
	}
	admit := func(ctx context.Context) (bool, error) {
		t, err := s.svc.GetThread(ctx, threadID)
		if err != nil {
			return false, err
		}
		return f.Matches(t.Metadata), nil
	}
	mine, err := admit(c.Request().Context())
	switch {
	case errors.Is(err, thread.ErrNotFound):
		return admit, nil
	case err != nil:
		return nil, err
	case !mine:
		return nil, &thread.NotFoundError{Kind: "thread", ID: threadID}
	}
	return admit, nil
}

// subscriptionOf reads the body of a stream request, which is strict.
func subscriptionOf(f *fields) (protocol.Subscription, error) {
	var sub protocol.Subscription
	f.only("channels", "namespaces", "depth", "since")
	f.require("channels")
	sub.Channels = f.strings("channels")
	sub.Namespaces = f.stringLists("namespaces")
	if f.raw("depth") != nil {
		depth := f.integer("depth", 0, 0, math.MaxInt32)
		sub.Depth = &depth
	}
	if f.raw("since") != nil {
		since := int64(f.integer("since", 0, 0, math.MaxInt))
		sub.Since = &since
	}
	return sub, f.err()
}

// cursorOf is the seq behind which a stream starts: the newer of the two cursors
// that a request can have; below 0 for none.
func cursorOf(sub protocol.Subscription, lastEventID string) int64 {
	since := int64(-1)
	if sub.Since != nil {
		since = *sub.Since
	}
	if seq, ok := protocol.ParseEventID(lastEventID); ok {
		since = max(since, seq)
	}
	return since
}

// only notes keys that a strict object doesn't have.
func (f *fields) only(keys ...string) {
	var unknown []string
	for key := range f.values {
		if !slices.Contains(keys, key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return
	}
	slices.Sort(unknown)
	quoted := make([]string, len(unknown))
	for i, key := range unknown {
		quoted[i] = strconv.Quote(key)
	}
	f.issues = append(f.issues, issue{
		Code: "unrecognized_keys", Keys: unknown, Path: append([]any{}, f.path...),
		Message: fmt.Sprintf("Unrecognized key(s) in object: %s", strings.Join(quoted, ", ")),
	})
}

// stringLists reads a list of lists of strings; nil when absent.
func (f *fields) stringLists(key string) [][]string {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	var lists []json.RawMessage
	if kindOf(v) != "array" || json.Unmarshal(v, &lists) != nil {
		f.wrong(key, "array")
		return nil
	}
	out := make([][]string, 0, len(lists))
	for i, raw := range lists {
		var list []json.RawMessage
		if kindOf(raw) != "array" || json.Unmarshal(raw, &list) != nil {
			f.issues = append(f.issues, wrongType("array", raw, f.at(key, i)))
			continue
		}
		texts := make([]string, len(list))
		for j, e := range list {
			if kindOf(e) != "string" || json.Unmarshal(e, &texts[j]) != nil {
				f.issues = append(f.issues, wrongType("string", e, f.at(key, i, j)))
			}
		}
		out = append(out, texts)
	}
	return out
}

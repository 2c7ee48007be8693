package feeds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Serve answers with a project's hints until the client goes away, whose
// context's cause it returns. When the feed is closed, or when the client can't
// keep up, it cuts the connection by panicking with http.ErrAbortHandler, so
// that the client comes again and reads the list anew: a feed never ends cleanly.
//
// The client is subscribed before it gets the headers: who reads the list after
// them misses no change. Cursors are ignored.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, name string) error {
	if err := f.enter(name); err != nil {
		return err
	}
	defer f.serving.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(f.life, func() { cancel(errClosed) })() //nolint:contextcheck // the stream ends with the request or with the feed

	q := newQueue(cancel)
	out := newOutput(w, f.opts)
	written := make(chan struct{})
	go func() {
		defer close(written)
		cancel(out.run(ctx, r, q))
	}()
	f.hub.ServeHTTP(q, forLibrary(ctx, r, name)) // returns when ctx has ended and the client is removed
	cancel(fmt.Errorf("feeds: the stream of %q ended with status %d", name, q.status))
	out.cut() // a write that hangs ends now
	<-written
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errClosed), errors.Is(cause, errStalled):
		panic(http.ErrAbortHandler)
	default:
		return cause
	}
}

// enter counts a handler in, unless the feed is being closed.
func (f *Feed) enter(name string) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.life.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	if f.projects[name] == nil {
		return fmt.Errorf("%w %q", ErrProject, name)
	}
	f.serving.Add(1)
	return nil
}

// forLibrary is the request as the library needs it: it takes the stream's name
// from the query, whatever the client wrote there, and answers 400 to a cursor
// that is no number.
func forLibrary(ctx context.Context, r *http.Request, name string) *http.Request {
	r = r.Clone(ctx)
	r.URL.RawQuery = url.Values{"stream": {name}}.Encode()
	r.Header.Del("Last-Event-ID")
	return r
}

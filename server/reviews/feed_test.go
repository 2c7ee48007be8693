package reviews_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
)

// hints are those of a stream.
type hints struct {
	t      *testing.T
	events chan string
}

func (c *client) hints(path string) *hints {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	res := c.open(ctx, http.MethodGet, path, "")
	require.Equal(c.t, http.StatusOK, res.StatusCode)
	require.Equal(c.t, "text/event-stream", res.Header.Get("Content-Type"))
	h := &hints{c.t, make(chan string, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				h.events <- data
			}
		}
	}()
	c.t.Cleanup(func() { cancel(); _ = res.Body.Close(); <-done })
	return h
}

// after wants a hint behind an action, and waits until no more come.
func (h *hints) after(what string, do func()) {
	h.t.Helper()
	for quiet := false; !quiet; { // what is still under way belongs to the action before
		select {
		case <-h.events:
		case <-time.After(200 * time.Millisecond):
			quiet = true
		}
	}
	do()
	select {
	case data := <-h.events:
		require.Regexp(h.t, `^\{"version":\d+\}$`, data, "a hint has no content")
	case <-time.After(30 * time.Second):
		require.Fail(h.t, "no hint", what)
	}
}

// Each change of a review gives a hint, also to those who listen elsewhere.
func TestHintsFollowEachChange(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, bob := w.staff()
		for _, h := range []*hints{bob.at(1).hints(bob.base + "/reviews/stream"), bob.at(1).hints("/feeds/reviews")} {
			var id string
			h.after("a question", func() { _, id = op.question("patient", "Refund") })
			path := "/reviews/" + id
			for _, change := range []struct{ route, body string }{
				{"/claim", ""}, {"/comments", `{"text":"hm"}`}, {"/extend", `{"by":"1h"}`}, {"/release", ""}, {"/decide", `{"decision":"approve"}`},
			} {
				h.after(change.route, func() { ann.post(path+change.route, change.body).ok() })
			}
			h.after("a deadline", func() { op.question("hurry", "Refund") })
			var threadID string
			h.after("another question", func() { threadID, _ = op.question("plain", "?") })
			h.after("its end", func() { op.do(http.MethodDelete, "/threads/"+threadID, "").is(http.StatusNoContent) })
		}
	})
}

// A project's hints are its own.
func TestHintsStayInTheirProject(t *testing.T) {
	t.Parallel()
	w := single(t)
	mine := w.holder(keys.Request{Name: "a", Project: "acme", Roles: []string{auth.RoleOperator}})
	theirs := w.holder(keys.Request{Name: "b", Project: "other", Roles: []string{auth.RoleOperator}})
	h, foreign := mine.hints(mine.base+"/reviews/stream"), theirs.hints("/feeds/reviews")
	h.after("a question", func() { mine.question("refund", "Refund") })
	require.Empty(t, foreign.events)
	foreign.after("their own", func() { theirs.question("refund", "Refund") })
}

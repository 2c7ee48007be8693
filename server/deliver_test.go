package server_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread/local"
)

// A webhook to a route of our own runs on a goroutine of the server's, where
// nobody else would catch a handler's panic.
func TestAHandlerThatAbortsAWebhookDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	c := serveTest(t, server.Options{Routes: func(e *echo.Echo) {
		e.POST("/hook", func(c echo.Context) error {
			c.Response().WriteHeader(http.StatusOK)
			called <- struct{}{}
			panic(http.ErrAbortHandler)
		})
	}})
	id := c.thread()
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{},"webhook":"/hook"}`).ok()
	<-called
	require.Equal(t, "idle", c.get("/threads/" + id).ok().json()["status"])
}

func TestATTLOfZeroMinutesIsNone(t *testing.T) {
	t.Parallel()
	store, err := local.Open(t.Context(), local.Options{Ephemeral: true})
	require.NoError(t, err)
	c := serveTest(t, server.Options{Store: store})
	for ttl, expires := range map[string]bool{`0`: false, `{"ttl":0}`: false, `1`: true, `1e300`: true} {
		id := c.thread()
		c.patch("/threads/"+id, `{"ttl":5}`).ok()
		c.patch("/threads/"+id, `{"ttl":`+ttl+`}`).ok()
		th, err := store.GetThread(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, expires, !th.ExpiresAt.IsZero(), ttl)
		require.True(t, !expires || th.ExpiresAt.After(th.UpdatedAt), ttl)
	}
}

package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// What a deployment's middleware gives up when its handler returns must last as
// long as a stream, and it sees the whole reply.
func TestMiddlewareSeesTheStreamsEnd(t *testing.T) {
	t.Parallel()
	sizes := make(chan int64, 1)
	c := serveTest(t, server.Options{Middleware: []echo.MiddlewareFunc{func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if !strings.HasSuffix(c.Path(), "/stream") {
				return next(c)
			}
			ctx, cancel := context.WithCancel(c.Request().Context())
			defer cancel()
			c.SetRequest(c.Request().WithContext(ctx))
			err := next(c)
			sizes <- c.Response().Size
			return err
		}
	}}})
	a := c.post("/threads/"+c.thread()+"/runs/stream", `{"assistant_id":"echo","input":{}}`)
	require.NotEmpty(t, a.frames())
	require.Equal(t, int64(len(a.body)), <-sizes)
}

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
)

// hooks know two users by the header X-Api-Key; each sees threads of their own.
var hooks = &auth.Hooks{
	Authenticate: auth.APIKeys(map[string]string{"key-of-ada": "ada", "key-of-bob": "bob"}),
	On: map[string]auth.Authorizer{
		"threads": func(_ context.Context, e *auth.Event) (auth.Filter, error) {
			e.Value.SetMetadata("owner", e.User.Identity)
			return auth.Equal("owner", e.User.Identity), nil
		},
	},
}

// embedded is a server with all that a deployment may add.
func embedded(addr string, agents ...agent.Agent) (*server.Server, error) {
	return server.New(server.Options{
		Agents:     agents,
		Addr:       addr, // "" for 127.0.0.1:2024
		Ephemeral:  true, // in memory; without it in DataDir, ./.parley
		Auth:       hooks,
		Routes:     func(e *echo.Echo) { e.GET("/hello", hello) },
		Middleware: []echo.MiddlewareFunc{logRequests},
		CORS:       server.CORS{AllowOrigins: []string{"https://app.example.com"}},
	})
}

// hello is a route like any other: the hooks have let its caller in.
func hello(c echo.Context) error {
	return c.String(http.StatusOK, "Hello, "+auth.UserFrom(c.Request().Context()).Identity)
}

func logRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c) // set for requests that the hooks refuse, too
		slog.Debug("request", "path", c.Request().URL.Path, "err", err)
		return err
	}
}

// serveUntil serves until ctx ends; then running supersteps have five seconds to finish.
func serveUntil(ctx context.Context, s *server.Server) error {
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	var failure error
	select {
	case failure = <-served: // the port is taken, for instance
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(failure, s.Shutdown(grace)) // also closes the store: wait for it
}

// A deployment with users, a route and a middleware of its own.
func ExampleNew() {
	s, err := embedded("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Start(context.Background()); err != nil { // ListenAndServe does it, too
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(s.Handler())
	for _, key := range []string{"key-of-ada", "guessed"} {
		r, err := http.NewRequest(http.MethodGet, web.URL+"/hello", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("X-Api-Key", key)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(reply.Body)
		fmt.Println(reply.StatusCode, string(body), errors.Join(err, reply.Body.Close()))
	}
	web.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(serveUntil(ended, s))
	// Output:
	// 200 Hello, ada <nil>
	// 401 Invalid API key <nil>
	// <nil>
}

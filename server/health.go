package server

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// The probes' paths. They are open to all, as /info is: whoever asks them has no key.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// checkTime bounds how long a probe waits for the store.
const checkTime = 2 * time.Second

// pinger is a store that may be out of reach.
type pinger interface {
	// Ping returns an error when transitions can't be carried out now.
	Ping(ctx context.Context) error
}

// Drain makes readiness say no from now on, while all else goes on: load balancers
// then send new clients elsewhere before Shutdown refuses them.
func (s *Server) Drain() { s.draining.Store(true) }

// Ready tells whether clients should be sent here: nil, or why not. It asks the
// store, within the context's time.
func (s *Server) Ready(ctx context.Context) error {
	if s.draining.Load() || s.isStopping() {
		return errShuttingDown
	}
	if p, ok := s.store.(pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ok is GET /ok: it answers while the process does. With check_db it is readiness.
func (s *Server) ok(c echo.Context) error {
	switch c.QueryParam("check_db") {
	case "", "0", "false":
		return s.live(c)
	}
	return s.ready(c)
}

// live is GET /livez: a process that doesn't answer it is to be started anew.
// That the store is away is no reason: another process would miss it, too.
func (s *Server) live(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, []byte(`{"ok":true}`))
}

// ready is GET /readyz: whether clients should be sent here.
func (s *Server) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), checkTime)
	defer cancel()
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	err := s.Ready(ctx)
	if err == nil {
		return s.live(c)
	}
	reason := "the store doesn't answer" // an address or a user's name in err is nobody's business
	if s.draining.Load() || s.isStopping() {
		reason = "shutting down"
	} else {
		s.log.Warn("not ready", "err", err)
	}
	c.Response().Header().Set(echo.HeaderRetryAfter, "1")
	return writeJSON(c, http.StatusServiceUnavailable, struct {
		OK     bool   `json:"ok"`
		Reason string `json:"reason"`
	}{Reason: reason})
}

// Package conformance is what the API suites' deployments have around their
// graphs: custom routes and middleware, a user interface bundle, and auth hooks
// (spec/conformance-agents.md 4 and 5). The graphs are in agent/conformance.
package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// webhooks keeps the last webhook that was received.
type webhooks struct {
	mu   sync.Mutex
	last json.RawMessage
}

// Routes returns the custom routes and middleware of the main suite (spec/conformance-agents.md 4.1).
func Routes() func(*echo.Echo) {
	hooks := &webhooks{}
	return func(e *echo.Echo) {
		e.Use(interruptible, bodyFromHeader)
		e.GET("/custom/client", callSelf)
		e.GET("/custom/my-route", func(c echo.Context) error {
			c.Response().Header().Set("x-custom-output", c.Request().Header.Get("x-custom-input"))
			return c.JSON(http.StatusOK, map[string]string{"foo": "bar"})
		})
		e.GET("/runs/afakeroute", func(c echo.Context) error {
			return c.JSON(http.StatusOK, map[string]string{"foo": "afakeroute"})
		})
		e.GET("/custom/error", func(c echo.Context) error {
			return c.JSON(http.StatusBadRequest, map[string]string{"message": "error"})
		})
		e.GET("/custom/streaming", countSlowly)
		e.POST("/custom/webhook", hooks.receive)
		e.GET("/custom/webhook-payload", hooks.show)
	}
}

// interruptible answers every request that has the query parameter interrupt, and marks all others.
func interruptible(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.QueryParams().Has("interrupt") {
			return c.JSON(http.StatusOK, map[string]string{"status": "interrupted"})
		}
		c.Response().Header().Set("x-js-middleware", "true")
		return next(c)
	}
}

const configurableHeader = "x-configurable-header"

var runPaths = regexp.MustCompile(`^(/threads/[^/]+)?/runs(/stream|/wait|/batch)?$`)

// bodyFromHeader copies the header into the run's configurable.
func bodyFromHeader(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		value := r.Header.Get(configurableHeader)
		if value == "" || r.Method != http.MethodPost || !runPaths.MatchString(r.URL.Path) {
			return next(c)
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return err
		}
		if changed, ok := withConfigurable(body, value); ok {
			body = changed
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return next(c)
	}
}

// withConfigurable sets config.configurable[configurableHeader] in a run's body unless it is there.
func withConfigurable(body []byte, value string) ([]byte, bool) {
	var run map[string]any
	if json.Unmarshal(body, &run) != nil || run == nil {
		return nil, false
	}
	member := func(m map[string]any, key string) map[string]any {
		inner, ok := m[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[key] = inner
		}
		return inner
	}
	configurable := member(member(run, "config"), "configurable")
	if _, ok := configurable[configurableHeader]; ok {
		return nil, false
	}
	configurable[configurableHeader] = value
	changed, err := json.Marshal(run)
	return changed, err == nil
}

// callSelf runs agent_simple on this very server and returns the result.
func callSelf(c echo.Context) error {
	addr, ok := c.Request().Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return errors.New("no local address")
	}
	const body = `{"assistant_id":"agent_simple","input":{"messages":[{"type":"human","content":"input"}]}}`
	req, err := http.NewRequestWithContext(c.Request().Context(), http.MethodPost, "http://"+addr.String()+"/runs/wait", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", echo.MIMEApplicationJSON)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	result, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", res.StatusCode, result)
	}
	return c.JSON(http.StatusOK, map[string]json.RawMessage{"result": bytes.TrimSpace(result)})
}

// countSlowly sends four lines that arrive one by one.
func countSlowly(c echo.Context) error {
	c.Response().Header().Set("Content-Type", "text/plain")
	c.Response().WriteHeader(http.StatusOK)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range 4 {
		if _, err := fmt.Fprintf(c.Response(), "Count: %d\n", i); err != nil {
			return nil // the client left
		}
		c.Response().Flush()
		select {
		case <-tick.C:
		case <-c.Request().Context().Done():
			return nil
		}
	}
	return nil
}

// receive takes a webhook.
func (w *webhooks) receive(c echo.Context) error {
	body, err := io.ReadAll(io.LimitReader(c.Request().Body, 1<<20))
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.last = body
	w.mu.Unlock()
	return c.JSON(http.StatusOK, map[string]string{"status": "success"})
}

// show returns the last webhook.
func (w *webhooks) show(c echo.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return c.NoContent(http.StatusNotFound)
	}
	return c.JSONBlob(http.StatusOK, w.last)
}

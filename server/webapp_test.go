package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// visit gets an address as a program with that Accept header does, without following redirects.
func visit(t *testing.T, url, accept string) (resp *http.Response, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", accept)
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err = stay.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	read, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(read)
}

func TestTheAppIsServedToBrowsersAndTheHintToPrograms(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for _, path := range []string{"/", "/app", "/app/chat/1", "/reviews", "/reviews/7"} {
		resp, _ := visit(t, c.url+path, browser)
		require.NotEmpty(t, resp.Header.Get("Content-Security-Policy"), path)
	}
	resp, text := visit(t, c.url+"/", "*/*")
	require.Contains(t, resp.Header.Get("Content-Type"), "text/plain")
	require.Contains(t, text, "/docs")
	require.Contains(t, text, "/app/")
	resp, text = visit(t, c.url+"/", "application/json")
	require.Contains(t, resp.Header.Get("Content-Type"), "application/json")
	var hint map[string]string
	require.NoError(t, json.Unmarshal([]byte(text), &hint))
	require.Equal(t, "/app/", hint["app"])
	require.Equal(t, "/docs", hint["docs"])
}

func TestPlainAddressesLeadBrowsersToThePages(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for path, to := range map[string]string{
		"/chat": "/app/chat", "/chat/01a2?at=7": "/app/chat/01a2?at=7", "/executions": "/app/executions", "/executions/": "/app/executions",
		"/executions/01a2": "/app/executions/01a2", "/audit?action=review.decided": "/app/audit?action=review.decided", "/keys": "/app/access", "/access": "/app/access",
		"/chat//evil.example": "/app/chat//evil.example",
	} {
		resp, _ := visit(t, c.url+path, browser)
		require.Equal(t, http.StatusFound, resp.StatusCode, path)
		require.Equal(t, to, resp.Header.Get("Location"), path)
		require.Equal(t, "Accept", resp.Header.Get("Vary"), path)
		resp, _ = visit(t, c.url+path, "*/*")
		require.Equal(t, http.StatusNotFound, resp.StatusCode, "programs: %s", path)
	}
}

func TestPathsOfTheAPIAreItsOwnForBrowsersToo(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	thread := c.post("/threads", `{}`).ok().str("thread_id")
	for _, path := range []string{"/threads/" + thread, "/info", "/ok", "/api/v1/projects/default/executions", "/api/v1/projects/default/reviews"} {
		resp, _ := visit(t, c.url+path, browser)
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Contains(t, resp.Header.Get("Content-Type"), "application/json", path)
	}
}

func TestADeploymentsOwnRoutesWinOverPages(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Routes: func(e *echo.Echo) {
		e.GET("/audit", func(c echo.Context) error { return c.String(http.StatusOK, "mine") })
	}})
	resp, text := visit(t, c.url+"/audit", browser)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "mine", text)
	resp, _ = visit(t, c.url+"/executions", browser)
	require.Equal(t, http.StatusFound, resp.StatusCode)
}

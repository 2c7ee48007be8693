package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// through sends a request through the CORS policy to a handler that fails.
func through(t *testing.T, c CORS, method string, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	p, err := newCORS(c)
	require.NoError(t, err)
	r := httptest.NewRequest(method, "/threads", nil)
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	p.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(w, r)
	return w
}

func TestEveryReplyExposesWhatClientsRead(t *testing.T) { // D-70
	t.Parallel()
	w := through(t, CORS{}, http.MethodPost, map[string]string{"Origin": "https://a.example"})
	require.Equal(t, http.StatusTeapot, w.Code, "failures carry the headers, too")
	require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
	for _, h := range []string{"content-location", "location", "x-pagination-total", "x-pagination-next"} {
		require.Contains(t, strings.Split(w.Header().Get("Access-Control-Expose-Headers"), ","), h)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	w := through(t, CORS{}, http.MethodOptions, map[string]string{
		"Origin": "https://a.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-own,content-type",
	})
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Empty(t, w.Body.String())
	require.Equal(t, "GET,HEAD,PUT,POST,DELETE,PATCH", w.Header().Get("Access-Control-Allow-Methods"))
	require.Equal(t, "x-own,content-type", w.Header().Get("Access-Control-Allow-Headers"))
	require.Contains(t, w.Header().Values("Vary"), "Access-Control-Request-Headers")
	require.NotEmpty(t, w.Header().Get("Access-Control-Max-Age"))

	w = through(t, CORS{}, http.MethodOptions, map[string]string{"Origin": "https://a.example"})
	for _, h := range []string{"content-type", "x-api-key", "authorization", "last-event-id", "prefer", "x-auth-scheme"} {
		require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), h)
	}
}

func TestNamedOrigins(t *testing.T) {
	t.Parallel()
	c := CORS{AllowOrigins: []string{"https://a.example"}, AllowOriginRegex: `https://.*\.b\.example`, AllowCredentials: true, ExposeHeaders: []string{"X-Own"}}
	for origin, allowed := range map[string]bool{
		"https://a.example": true, "https://x.b.example": true, "https://evil.example": false,
		"https://x.b.example.evil.example": false, "": false,
	} {
		w := through(t, c, http.MethodGet, map[string]string{"Origin": origin})
		want, credentials := "", ""
		if allowed {
			want, credentials = origin, "true"
		}
		require.Equal(t, want, w.Header().Get("Access-Control-Allow-Origin"), origin)
		require.Equal(t, credentials, w.Header().Get("Access-Control-Allow-Credentials"), origin)
		require.Contains(t, w.Header().Values("Vary"), "Origin")
		require.Contains(t, w.Header().Get("Access-Control-Expose-Headers"), "x-own")
		require.Contains(t, w.Header().Get("Access-Control-Expose-Headers"), "content-location")
	}
}

func TestUnsafeConfigurationsAreRefused(t *testing.T) { // D-71
	t.Parallel()
	for name, c := range map[string]CORS{
		"every origin with credentials": {AllowCredentials: true},
		"wildcard with credentials":     {AllowOrigins: []string{"https://a.example", "*"}, AllowCredentials: true},
		"bad pattern":                   {AllowOriginRegex: "("},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newCORS(c)
			require.Error(t, err)
		})
	}
}

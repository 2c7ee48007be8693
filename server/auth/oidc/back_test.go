package oidc_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth/oidc"
)

func TestOnlyPagesOfTheAppAreGoneBackTo(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/":                                 "/",
		"/app/chat/1?agent=x&at=y#z":        "/app/chat/1?agent=x&at=y#z",
		"/reviews":                          "/reviews",
		"/reviews/ab?q=a%20b":               "/reviews/ab?q=a%20b",
		"/app/a/../b":                       "/app/b",
		"":                                  "/",
		"app":                               "/",
		"https://evil.example/app/":         "/",
		"//evil.example/app/":               "/",
		"///evil.example/app/":              "/",
		`/\evil.example`:                    "/",
		`/app/\evil`:                        "/",
		"/app/%5c..":                        "/",
		"/\t/evil.example":                  "/",
		"/app/x\r\nSet-Cookie: a=b":         "/",
		"/app/../api/v1/session":            "/",
		"/app/%2e%2e/threads":               "/",
		"/api/v1/session/oidc/start":        "/",
		"/application":                      "/",
		"/reviewsx":                         "/",
		"javascript:alert(1)":               "/",
		"/app/" + strings.Repeat("x", 2000): "/",
	} {
		require.Equal(t, want, oidc.Back(address), address)
	}
	require.Equal(t, "/reviews?q=1&signin=denied#a", oidc.With("/reviews?q=1#a", "signin", "denied"))
}

// FuzzBack: whatever is asked for, the browser stays on the server, with a page of the app.
func FuzzBack(f *testing.F) {
	for _, seed := range []string{"/", "/app/chat", "//evil.example", `/\evil`, "/app//evil", "/reviews?x=//y", "/app/%2f%2fevil", "/app/..%2f.."} {
		f.Add(seed)
	}
	base, err := url.Parse("https://parley.example/api/v1/session/oidc/callback")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, address string) {
		got := oidc.With(oidc.Back(address), "signin", "failed")
		u, err := base.Parse(got)
		require.NoError(t, err)
		require.Equal(t, "parley.example", u.Host, got)
		require.Equal(t, "https", u.Scheme, got)
		at := path.Clean(u.Path)
		require.True(t, at == "/" || at == "/app" || at == "/reviews" || strings.HasPrefix(at, "/app/") || strings.HasPrefix(at, "/reviews/"), got)
		require.NotContains(t, got, `\`)
		require.False(t, strings.HasPrefix(got, "//"), got)
		require.Equal(t, oidc.Back(address), oidc.Back(oidc.Back(address)))
	})
}

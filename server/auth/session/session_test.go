package session_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/session"
)

var secret = []byte(strings.Repeat("s", session.SmallestSecret))

func sealer(t testing.TB, secret []byte) *session.Sealer {
	t.Helper()
	s, err := session.NewSealer(secret)
	require.NoError(t, err)
	return s
}

var ada = &auth.User{
	Kind: auth.KindToken, Identity: "ada", DisplayName: "Ada L.", Project: "acme", Workspace: "w", Roles: auth.Roles{"reviewer"}, Agent: true,
}

func TestASessionIsOpenedAsItWasSealed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	v := session.Of(ada, now)
	value, err := sealer(t, secret).Seal(v)
	require.NoError(t, err)
	require.NotContains(t, value, "ada")
	got, err := sealer(t, secret).Open(value, now)
	require.NoError(t, err, "by another replica with the same secret")
	require.Equal(t, v, got)
	u := got.TokenUser()
	require.WithinDuration(t, now.Add(session.DefaultLife), u.Expires, time.Second)
	want := *ada
	want.Expires = u.Expires
	require.Equal(t, &want, u)
}

func TestASessionHoldsOfAKeyNothingButItsID(t *testing.T) {
	t.Parallel()
	v := session.Of(&auth.User{KeyID: "abc", Identity: "ada", Roles: auth.Roles{"owner"}}, time.Now())
	require.Equal(t, session.Session{KeyID: "abc", Expires: v.Expires}, v, "the rest is looked up, so that changes count")
}

func TestASessionEndsWithItsTokenOrItsTime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	short := *ada
	short.Expires = now.Add(time.Minute)
	s := sealer(t, secret)
	for life, u := range map[time.Duration]*auth.User{time.Minute: &short, session.DefaultLife: ada} {
		value, err := s.Seal(session.Of(u, now))
		require.NoError(t, err)
		_, err = s.Open(value, now.Add(life-2*time.Second))
		require.NoError(t, err)
		_, err = s.Open(value, now.Add(life))
		require.ErrorIs(t, err, session.ErrInvalid)
	}
}

func TestForgedSessionsAreRefused(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := sealer(t, secret)
	value, err := s.Seal(session.Of(ada, now))
	require.NoError(t, err)
	foreign, err := sealer(t, []byte(strings.Repeat("t", session.SmallestSecret))).Seal(session.Of(ada, now))
	require.NoError(t, err)
	empty, err := s.Seal(session.Session{Expires: now.Add(time.Hour).Unix()})
	require.NoError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(value)
	require.NoError(t, err)
	for at := range raw {
		changed := append([]byte{}, raw...)
		changed[at] ^= 1
		_, err := s.Open(base64.RawURLEncoding.EncodeToString(changed), now)
		require.ErrorIs(t, err, session.ErrInvalid)
	}
	for name, text := range map[string]string{
		"another server's": foreign, "nobody's": empty, "empty": "", "cut": value[:len(value)-4], "longer": value + "AAAA", "no base64": value + "!",
		"open": base64.RawURLEncoding.EncodeToString([]byte(`{"u":"root","x":99999999999}`)), "long": strings.Repeat("A", 5000),
	} {
		_, err := s.Open(text, now)
		require.ErrorIs(t, err, session.ErrInvalid, name)
	}
	_, err = session.NewSealer([]byte("short"))
	require.Error(t, err)
}

func request(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func TestTheCookieIsOutOfReachOfScriptsAndOtherSites(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		r      *http.Request
		cookie string
		secure bool
	}{
		"plain":     {request(http.MethodPost, "http://localhost/"), "parley_session", false},
		"TLS":       {request(http.MethodPost, "https://parley.example/"), "__Host-parley_session", true},
		"TLS proxy": {request(http.MethodPost, "http://parley.example/", "X-Forwarded-Proto", "https"), "__Host-parley_session", true},
	} {
		w := httptest.NewRecorder()
		session.Set(w, tt.r, "v", time.Now().Add(time.Hour))
		c := w.Result().Cookies()[0]
		require.Equal(t, tt.cookie, c.Name, name)
		require.Equal(t, "v", c.Value)
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteStrictMode, c.SameSite)
		require.Equal(t, tt.secure, c.Secure, name)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		tt.r.AddCookie(c)
		require.Equal(t, "v", session.Value(tt.r))
		w = httptest.NewRecorder()
		session.Clear(w, tt.r)
		require.Negative(t, w.Result().Cookies()[0].MaxAge)
	}
	smuggled := request(http.MethodPost, "https://parley.example/", "Cookie", "parley_session=of-another-host")
	require.Empty(t, session.Value(smuggled), "over TLS only the name counts that other hosts can't set")
}

func TestARequestByCookieMustComeFromAPageOfTheServer(t *testing.T) {
	t.Parallel()
	const at = "http://localhost:2024/threads"
	for name, tt := range map[string]struct {
		r    *http.Request
		want bool
	}{
		"own page writes":               {request(http.MethodPost, at, "Sec-Fetch-Site", "same-origin"), true},
		"own page writes, old browser":  {request(http.MethodPost, at, "Origin", "http://localhost:2024"), true},
		"another site writes":           {request(http.MethodPost, at, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), false},
		"another port writes":           {request(http.MethodPost, at, "Sec-Fetch-Site", "same-site", "Origin", "http://localhost:5173"), false},
		"another port, old browser":     {request(http.MethodPost, at, "Origin", "http://localhost:5173"), false},
		"another scheme, old browser":   {request(http.MethodPost, at, "Origin", "https://localhost:2024"), false},
		"sandboxed page writes":         {request(http.MethodPost, at, "Origin", "null"), false},
		"address bar writes":            {request(http.MethodPost, at, "Sec-Fetch-Site", "none"), false},
		"nothing said, writes":          {request(http.MethodPost, at), false},
		"nothing said, deletes":         {request(http.MethodDelete, at), false},
		"own page reads":                {request(http.MethodGet, at, "Sec-Fetch-Site", "same-origin"), true},
		"address bar reads":             {request(http.MethodGet, at, "Sec-Fetch-Site", "none"), true},
		"nothing said, reads":           {request(http.MethodGet, at), true},
		"another port reads":            {request(http.MethodGet, at, "Sec-Fetch-Site", "same-site"), false},
		"another site's link":           {request(http.MethodGet, at, "Sec-Fetch-Site", "cross-site"), false},
		"another port, old, reads":      {request(http.MethodGet, at, "Origin", "http://localhost:5173"), false},
		"socket of own page":            {request(http.MethodGet, at, "Upgrade", "websocket", "Origin", "http://localhost:2024"), true},
		"socket of another port's page": {request(http.MethodGet, at, "Upgrade", "websocket", "Origin", "http://localhost:5173"), false},
		"socket of nobody's page":       {request(http.MethodGet, at, "Upgrade", "websocket"), false},
		"proxy with TLS": {
			request(http.MethodPost, "http://parley.example/", "X-Forwarded-Proto", "https", "Origin", "https://parley.example"), true,
		},
	} {
		require.Equal(t, tt.want, session.MayUse(tt.r), name)
	}
}

func FuzzCookie(f *testing.F) {
	s := sealer(f, secret)
	now := time.Now()
	value, err := s.Seal(session.Of(ada, now))
	require.NoError(f, err)
	for _, seed := range []string{value, "", value[:10], value + value, "AAAA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := s.Open(text, now)
		if err == nil { // only what was sealed so, here or by another process of the fuzzer
			require.Equal(t, "ada", v.Identity)
			return
		}
		require.NotEqual(t, value, text)
		require.ErrorIs(t, err, session.ErrInvalid)
		require.Equal(t, session.Session{}, v)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Cookie", "parley_session="+text)
		session.Value(r)
	})
}

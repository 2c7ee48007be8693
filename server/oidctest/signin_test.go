package oidctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

func TestSomebodySignsInWithAProvider(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"confidential", "posting", "public"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			a := serve(t, client, 1, nil)
			b := a.browser()
			require.Nil(t, b.me())
			options := b.page(http.MethodGet, "/api/v1/session/options")
			require.JSONEq(t, `{"credentials":true,"oidc":{"name":"the tests' provider","start":"/api/v1/session/oidc/start"}}`, options.body)

			const back = "/reviews?agent=support#one"
			require.Equal(t, back, b.signIn("ada+operator+reviewer:support", back))
			me := b.me()
			require.Equal(t, "ada+operator+reviewer:support", me["principal"])
			require.Equal(t, "ada of the tests", me["display_name"])
			require.Equal(t, "token", me["kind"])
			require.Equal(t, []any{"operator", "reviewer:support"}, me["roles"])
			require.Equal(t, true, me["renewable"])
			require.Equal(t, http.StatusOK, b.page(http.MethodPost, "/threads").status)
			require.Equal(t, http.StatusForbidden, b.page(http.MethodGet, "/api/v1/projects/default/keys").status, "no more than their roles")
		})
	}
}

func TestWhatTheBrowserHoldsTellsNothing(t *testing.T) {
	t.Parallel()
	a := serve(t, "public", 1, nil)
	b := a.browser()
	start := b.do(http.MethodGet, a.url+"/api/v1/session/oidc/start", nil)
	require.Len(t, start.cookies, 1)
	flow := start.cookies[0]
	require.True(t, flow.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, flow.SameSite, "it has to come along when the provider sends the browser back")
	query := must(url.Parse(start.next)).Query()
	require.Equal(t, "S256", query.Get("code_challenge_method"))
	require.NotEmpty(t, query.Get("nonce"))
	require.NotContains(t, flow.Value, query.Get("nonce"))

	done := b.do(http.MethodGet, b.answer("ada", "/"), nil)
	names := map[string]*http.Cookie{}
	for _, c := range done.cookies {
		names[strings.TrimRight(c.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")] = c
	}
	require.Len(t, names, 3)
	for _, name := range []string{"parley_session", "parley_grant"} {
		require.True(t, names[name].HttpOnly)
		require.Equal(t, http.SameSiteStrictMode, names[name].SameSite)
		require.NotContains(t, names[name].Value, "eyJ", "no token in the open")
	}
	require.Negative(t, names["parley_signin_"].MaxAge, "an answer is good for once")
}

// Behind a proxy that ends TLS no other host, and no plain connection, can set or get the cookies.
func TestSigningInBehindAProxyWithTLS(t *testing.T) {
	t.Parallel()
	a := serve(t, "public", 1, func(o *server.Options) { o.Announce.PublicURL = "https://parley.example/" })
	r := a.browser().do(http.MethodGet, a.url+"/api/v1/session/oidc/start", nil, "X-Forwarded-Proto", "https")
	require.Equal(t, "https://parley.example/api/v1/session/oidc/callback", must(url.Parse(r.next)).Query().Get("redirect_uri"))
	require.True(t, r.cookies[0].Secure)
	require.True(t, strings.HasPrefix(r.cookies[0].Name, "__Host-parley_signin_"), r.cookies[0].Name)
}

// Any process may finish what another has begun: nothing of it is in memory.
func TestSigningInOverSeveralReplicas(t *testing.T) {
	t.Parallel()
	b := serve(t, "confidential", 3, nil).browser()
	require.Equal(t, "/app/audit", b.signIn("ada+owner", "/app/audit"))
	for range 6 {
		require.Equal(t, []any{"owner"}, b.me()["roles"])
	}
}

// Where access tokens are for this server, people may do by a session what they may do by such a token.
func TestAccessTokensForTheServerSayWhatSomebodyMay(t *testing.T) {
	t.Parallel()
	b := serve(t, "api", 1, func(o *server.Options) { o.Identity.Tokens.Audiences = []string{"https://parley.example"} }).browser()
	b.signIn("ada+reviewer", "/")
	require.Equal(t, []any{"operator", "reviewer"}, b.me()["roles"], "the provider puts operator into access tokens alone")
}

func TestNobodyIsSignedInWho(t *testing.T) {
	t.Parallel()
	t.Run("says no", func(t *testing.T) {
		t.Parallel()
		b := serve(t, "public", 1, nil).browser()
		r := b.start("/reviews/abc?x=1")
		cancel := cancelLink.FindStringSubmatch(r.body)
		require.NotNil(t, cancel, r.body)
		r = b.follow(b.do(http.MethodGet, must(r.address.Parse(cancel[1])).String(), nil))
		require.Contains(t, r.next, "error=access_denied")
		r = b.do(http.MethodGet, r.next, nil)
		require.Equal(t, "/reviews/abc?signin=denied&x=1", r.next[len(b.url):])
		require.Nil(t, b.me())
	})
	t.Run("has no role", func(t *testing.T) {
		t.Parallel()
		b := serve(t, "public", 1, func(o *server.Options) { o.Identity.Tokens.DefaultRole = "none" }).browser()
		require.Equal(t, "/?signin=no_role", b.signIn("eve", "/"))
		require.Nil(t, b.me())
		require.Equal(t, "/app/chat", b.signInAnew("ada+viewer", "/app/chat"), "somebody else may, from the same browser")
		require.Equal(t, "ada+viewer", b.me()["principal"])
	})
	t.Run("comes with another's answer", func(t *testing.T) {
		t.Parallel()
		a := serve(t, "public", 1, nil)
		victim, attacker := a.browser(), a.browser()
		victim.start("/")
		stolen := attacker.answer("eve", "/") // made to be opened by somebody else
		r := victim.do(http.MethodGet, stolen, nil)
		require.Equal(t, a.url+"/?signin=expired", r.next)
		require.Nil(t, victim.me())
		require.Equal(t, "/", attacker.signIn("eve", "/"))
	})
	t.Run("comes twice with an answer", func(t *testing.T) {
		t.Parallel()
		b := serve(t, "public", 1, nil).browser()
		answer := b.answer("ada", "/app/chat")
		require.Equal(t, b.url+"/app/chat", b.do(http.MethodGet, answer, nil).next)
		require.Equal(t, b.url+"/?signin=expired", b.do(http.MethodGet, answer, nil).next)
		require.Equal(t, "ada", b.me()["principal"], "who is signed in stays so")
	})
	t.Run("brings a code of another sign-in", func(t *testing.T) { // PKCE, and the nonce behind it
		t.Parallel()
		a := serve(t, "public", 1, nil)
		b, other := a.browser(), a.browser()
		mine, theirs := must(url.Parse(b.answer("ada", "/"))), must(url.Parse(other.answer("eve", "/")))
		q := mine.Query()
		q.Set("code", theirs.Query().Get("code"))
		mine.RawQuery = q.Encode()
		r := b.do(http.MethodGet, mine.String(), nil)
		require.Contains(t, []string{a.url + "/?signin=expired", a.url + "/?signin=failed"}, r.next)
		require.Nil(t, b.me())
	})
	t.Run("is sent by another issuer", func(t *testing.T) { // RFC 9207
		t.Parallel()
		b := serve(t, "public", 1, nil).browser()
		answer := must(url.Parse(b.answer("ada", "/")))
		q := answer.Query()
		require.NotEmpty(t, q.Get("iss"))
		q.Del("iss")
		answer.RawQuery = q.Encode()
		require.Equal(t, b.url+"/?signin=failed", b.do(http.MethodGet, answer.String(), nil).next)
		require.Nil(t, b.me())
	})
	t.Run("finds the provider away", func(t *testing.T) {
		t.Parallel()
		a := serve(t, "public", 1, nil)
		b, late := a.browser(), a.browser()
		answer := late.answer("ada", "/reviews") // the configuration is known from now on
		a.stop()
		require.Equal(t, a.url+"/reviews?signin=unavailable", late.do(http.MethodGet, answer, nil).next)
		require.Nil(t, b.me())
	})
}

func TestAProviderThatIsAwayFromTheStart(t *testing.T) {
	t.Parallel()
	a := serve(t, "public", 1, nil)
	a.stop()
	r := a.browser().do(http.MethodGet, a.url+"/api/v1/session/oidc/start?return=/app/audit", nil)
	require.Equal(t, http.StatusSeeOther, r.status)
	require.Equal(t, "/app/audit?signin=unavailable", strings.TrimPrefix(r.next, a.url))
}

func TestNobodyIsSentElsewhere(t *testing.T) {
	t.Parallel()
	b := serve(t, "public", 1, nil).browser()
	for _, address := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "/api/v1/session/oidc/start", "/app/../../evil", "javascript:alert(1)", "/threads"} {
		require.Equal(t, "/", b.signIn("ada", address), address)
	}
}

func TestASessionEndsWithItsTokenOrIsRenewed(t *testing.T) {
	t.Parallel()
	a := serve(t, "public", 1, nil, "TOKEN_LIFE=3000")
	b := a.browser()
	began := time.Now()
	b.signIn("ada", "/")
	first := expiry(t, b.me())
	require.WithinRange(t, first, began.Add(3000*time.Second), time.Now().Add(3031*time.Second), "give or take what clocks may be apart")
	used := b.cookie("parley_grant")

	require.Equal(t, http.StatusForbidden, b.do(http.MethodPost, a.url+"/api/v1/session/oidc/renew", nil, "Sec-Fetch-Site", "cross-site").status)
	b.put("parley_session", "") // as the browser does at its end
	require.Nil(t, b.me())
	r := b.page(http.MethodPost, "/api/v1/session/oidc/renew")
	require.Equal(t, http.StatusOK, r.status, r.body)
	me := b.me()
	require.Equal(t, "ada", me["principal"])
	require.Equal(t, true, me["renewable"])
	require.False(t, expiry(t, me).Before(first))

	b.put("parley_grant", used) // a refresh token that was used: it may be stolen, and the issuer ends all that came of it
	kept := b.cookie("parley_session")
	require.Equal(t, http.StatusUnauthorized, b.page(http.MethodPost, "/api/v1/session/oidc/renew").status)
	require.Equal(t, kept, b.cookie("parley_session"), "until its end the session stays")
	b.put("parley_grant", kept) // what is sealed for one purpose is no good for another
	require.Equal(t, http.StatusUnauthorized, b.page(http.MethodPost, "/api/v1/session/oidc/renew").status)
}

func TestASessionWithoutARefreshTokenCantBeRenewed(t *testing.T) {
	t.Parallel()
	b := serve(t, "once", 1, nil).browser()
	b.signIn("ada", "/")
	require.Nil(t, b.me()["renewable"])
	require.Equal(t, http.StatusUnauthorized, b.page(http.MethodPost, "/api/v1/session/oidc/renew").status)
	require.Equal(t, "ada", b.me()["principal"])
}

func TestSigningOutEndsTheProvidersSessionToo(t *testing.T) {
	t.Parallel()
	a := serve(t, "confidential", 1, nil)
	b := a.browser()
	b.signIn("ada", "/")
	require.Equal(t, http.StatusForbidden, b.do(http.MethodDelete, a.url+"/api/v1/session", nil, "Sec-Fetch-Site", "cross-site").status)
	r := b.page(http.MethodDelete, "/api/v1/session")
	require.Equal(t, http.StatusOK, r.status, r.body)
	var out struct {
		URL string `json:"sign_out_url"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &out))
	require.Nil(t, b.me())
	require.Equal(t, http.StatusUnauthorized, b.page(http.MethodPost, "/api/v1/session/oidc/renew").status)
	r = b.submit(b.follow(b.do(http.MethodGet, out.URL, nil)), "logout", "yes")
	require.Equal(t, a.url+"/", r.next)
	require.Contains(t, b.start("/").body, `name="login"`, "the provider asks again who it is")
}

// signInAnew is signIn as somebody else than whom the provider knows.
func (b *browser) signInAnew(name, back string) string {
	b.t.Helper()
	r := b.follow(b.do(http.MethodGet, b.url+"/api/v1/session/oidc/start?anew=1&return="+url.QueryEscape(back), nil))
	for range 3 {
		if strings.HasPrefix(r.next, b.url+"/") {
			break
		}
		r = b.submit(r, "login", name, "password", "x")
	}
	return strings.TrimPrefix(b.do(http.MethodGet, r.next, nil).next, b.url)
}

func expiry(t *testing.T, me map[string]any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, fmt.Sprint(me["expires_at"]))
	require.NoError(t, err)
	return at
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

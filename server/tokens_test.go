package server_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth/token"
)

// signing is an issuer's key; its public half is in a file.
type signing struct {
	t    *testing.T
	key  ed25519.PrivateKey
	file string
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "keys.json")
	set := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","use":"sig","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}]}`
	require.NoError(t, os.WriteFile(file, []byte(set), 0o600))
	return &signing{t, key, file}
}

func (s *signing) options() *token.Options {
	return &token.Options{Issuer: "tests", Audiences: []string{"parley"}, JWKS: s.file, ProjectClaim: "org"}
}

// token makes a token that lasts for a while.
func (s *signing) token(life time.Duration, more jwt.MapClaims) string {
	s.t.Helper()
	c := jwt.MapClaims{"iss": "tests", "aud": "parley", "sub": "ada", "org": "acme", "roles": []string{"owner"}, "exp": time.Now().Add(life).Unix()}
	for k, v := range more {
		c[k] = v
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	t.Header["kid"] = "1"
	text, err := t.SignedString(s.key)
	require.NoError(s.t, err)
	return text
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	c := serveTest(t, server.Options{Identity: server.Identity{Tokens: s.options()}})
	c.get("/ok").is(http.StatusUnauthorized) // an issuer is enough: nobody is anonymous
	ada := c.as(bearer(s.token(time.Hour, nil)))
	me := ada.get("/api/v1/session").ok().json()
	require.Equal(t, "token", me["kind"])
	require.Equal(t, "acme", me["project_id"])
	thread := ada.thread()
	viewer := c.as(bearer(s.token(time.Hour, jwt.MapClaims{"sub": "bob", "roles": "viewer"})))
	viewer.get("/threads/" + thread).ok()
	viewer.post("/threads", "{}").is(http.StatusForbidden)
	c.as(bearer(s.token(time.Hour, jwt.MapClaims{"org": "other"}))).get("/threads/" + thread).is(http.StatusNotFound)
	a := c.as(bearer(s.token(-time.Hour, nil))).get("/threads/" + thread).is(http.StatusUnauthorized)
	require.Contains(t, a.header.Get("Www-Authenticate"), `error="invalid_token"`)
	c.as(map[string]string{"x-api-key": s.token(time.Hour, nil)}).get("/threads/" + thread).ok() // SDKs that know of no other header

	// A program's token decides nothing.
	asked, interrupt := asks(ada, "ask")
	bot := c.as(bearer(s.token(time.Hour, jwt.MapClaims{"sub": "bot", "azp": "bot"})))
	bot.post("/threads/"+asked+"/runs", `{"assistant_id":"ask","command":{"resume":{"`+interrupt+`":1}}}`).is(http.StatusForbidden)

	// A session lasts as long as its token.
	cookie, reply := signIn(c, s.token(time.Hour, nil))
	end, err := time.Parse(time.RFC3339, reply.str("expires_at"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour+token.DefaultLeeway), end, 5*time.Second)
	require.Equal(t, "ada", c.as(cookie).get("/api/v1/session").ok().str("principal"))
}

func TestAnExpiringTokenEndsItsStreams(t *testing.T) { // D-73
	t.Parallel()
	s := newSigning(t)
	o := s.options()
	o.Leeway = time.Millisecond
	c := serveTest(t, server.Options{Identity: server.Identity{Tokens: o}})
	thread := c.as(bearer(s.token(time.Hour, nil))).thread()
	a := c.as(bearer(s.token(2*time.Second, nil))).post("/threads/"+thread+"/runs/stream", `{"assistant_id":"slow","input":{"wait":600}}`)
	frames := a.frames()
	require.Equal(t, "error", frames[len(frames)-1].event)
	require.JSONEq(t, `{"error":"Unauthorized","message":"401: credentials expired"}`, frames[len(frames)-1].data)
}

package token_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/token"
)

// status is that of a refusal; 0 when nothing was refused.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	return e.Status
}

func TestTokensOfEachAsymmetricAlgorithmAreTaken(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	v := i.verifier(nil)
	for _, s := range signers() {
		u, err := v.User(t.Context(), s.sign(t, i.claims(nil), nil))
		require.NoError(t, err, s.method.Alg())
		require.Equal(t, "ada", u.Identity)
		require.Equal(t, auth.KindToken, u.Kind)
		require.WithinDuration(t, time.Now().Add(time.Hour+token.DefaultLeeway), u.Expires, 5*time.Second)
	}
	require.EqualValues(t, 1, i.reads.Load(), "keys are read once")
}

func TestTokensThatProveNothingAreRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	v := i.verifier(nil)
	s := signers()[2]
	good := s.sign(t, i.claims(nil), nil)
	_, err := v.User(t.Context(), good)
	require.NoError(t, err)
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, i.claims(nil)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	i.mu.Lock()
	public := i.set // what an attacker can know, used as if it were a secret
	i.mu.Unlock()
	mac := jwt.NewWithClaims(jwt.SigningMethodHS256, i.claims(nil))
	mac.Header["kid"] = "ec"
	symmetric, err := mac.SignedString(public)
	require.NoError(t, err)
	long := s.sign(t, i.claims(jwt.MapClaims{"pad": strings.Repeat("x", 20<<10)}), nil)
	ago, later := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for name, text := range map[string]string{
		"empty":              "",
		"no token":           "abc",
		"cut":                good[:len(good)-2],
		"no signature":       parts[0] + "." + parts[1] + ".",
		"other claims":       parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root"}`)) + "." + parts[2],
		"alg none":           none,
		"symmetric":          symmetric,
		"another's key":      signer{"rsa", foreign, jwt.SigningMethodRS256}.sign(t, i.claims(nil), nil),
		"unknown key":        signer{"new", foreign, jwt.SigningMethodRS256}.sign(t, i.claims(nil), nil),
		"no key id":          s.sign(t, i.claims(nil), map[string]any{"kid": nil}),
		"key id of no text":  s.sign(t, i.claims(nil), map[string]any{"kid": 7}),
		"key of another alg": signers()[0].sign(t, i.claims(nil), map[string]any{"kid": "ec"}),
		"RS384":              signer{"rsa", signers()[0].key, jwt.SigningMethodRS384}.sign(t, i.claims(nil), nil),
		"another type":       s.sign(t, i.claims(nil), map[string]any{"typ": "logout+jwt"}),
		"extension":          s.sign(t, i.claims(nil), map[string]any{"crit": []string{"b64"}}),
		"expired":            s.sign(t, i.claims(jwt.MapClaims{"exp": ago}), nil),
		"never expires":      s.sign(t, i.claims(jwt.MapClaims{"exp": nil}), nil),
		"not yet":            s.sign(t, i.claims(jwt.MapClaims{"nbf": later}), nil),
		"made in the future": s.sign(t, i.claims(jwt.MapClaims{"iat": later}), nil),
		"another issuer":     s.sign(t, i.claims(jwt.MapClaims{"iss": "https://evil.example"}), nil),
		"no issuer":          s.sign(t, i.claims(jwt.MapClaims{"iss": nil}), nil),
		"another audience":   s.sign(t, i.claims(jwt.MapClaims{"aud": "https://shop.example"}), nil),
		"no audience":        s.sign(t, i.claims(jwt.MapClaims{"aud": nil}), nil),
		"nobody":             s.sign(t, i.claims(jwt.MapClaims{"sub": nil}), nil),
		"nobody's name":      s.sign(t, i.claims(jwt.MapClaims{"sub": "anonymous"}), nil),
		"two lines":          s.sign(t, i.claims(jwt.MapClaims{"sub": "a\nb"}), nil),
		"too long":           long,
	} {
		u, err := v.User(t.Context(), text)
		require.Equal(t, http.StatusUnauthorized, status(t, err), name)
		require.Nil(t, u, name)
		if len(text) > 20 {
			require.NotContains(t, err.Error(), text[:20], name)
		}
	}
}

func TestClocksMayBeApartALittle(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	s := signers()[3]
	for claim, at := range map[string]time.Duration{"exp": -10 * time.Second, "nbf": 10 * time.Second, "iat": 10 * time.Second} {
		_, err := i.verifier(nil).User(t.Context(), s.sign(t, i.claims(jwt.MapClaims{claim: time.Now().Add(at).Unix()}), nil))
		require.NoError(t, err, claim)
		_, err = i.verifier(func(o *token.Options) { o.Leeway = time.Second }).User(t.Context(), s.sign(t, i.claims(jwt.MapClaims{claim: time.Now().Add(at).Unix()}), nil))
		require.Equal(t, http.StatusUnauthorized, status(t, err), claim)
	}
}

func TestAnIssuersNewKeysAreFoundAndForgedOnesDontHammerIt(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	var ahead atomic.Int64
	v := i.verifier(func(o *token.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	old := signers()[2]
	_, err := v.User(t.Context(), old.sign(t, i.claims(nil), nil))
	require.NoError(t, err)
	next := old
	next.id = "next"
	rotated := next.sign(t, i.claims(nil), nil)
	i.publish(old, next)
	var clients sync.WaitGroup
	for range 50 {
		clients.Go(func() {
			_, err := v.User(t.Context(), rotated)
			require.Equal(t, http.StatusUnauthorized, status(t, err), "it was asked a moment ago")
		})
	}
	clients.Wait()
	require.EqualValues(t, 1, i.reads.Load())
	ahead.Store(int64(token.DefaultRetry))
	for range 50 {
		clients.Go(func() {
			_, err := v.User(t.Context(), rotated)
			require.NoError(t, err)
		})
	}
	clients.Wait()
	require.LessOrEqual(t, i.reads.Load(), int64(3))
	i.publish(next)
	ahead.Store(int64(token.DefaultRefresh + time.Minute))
	claims := i.claims(jwt.MapClaims{"exp": time.Now().Add(3 * time.Hour).Unix()})
	_, err = v.User(t.Context(), old.sign(t, claims, nil))
	require.Equal(t, http.StatusUnauthorized, status(t, err), "a withdrawn key is forgotten with the next look")
	_, err = v.User(t.Context(), next.sign(t, claims, nil))
	require.NoError(t, err)
}

func TestAnIssuerThatIsAwayIsNoRefusal(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.down.Store(true)
	var ahead atomic.Int64
	v := i.verifier(func(o *token.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	text := signers()[2].sign(t, i.claims(jwt.MapClaims{"exp": time.Now().Add(5 * time.Hour).Unix()}), nil)
	_, err := v.User(t.Context(), text)
	require.Equal(t, http.StatusServiceUnavailable, status(t, err))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Header.Get("Retry-After"))
	require.ErrorContains(t, e.Cause, "502")
	i.down.Store(false)
	ahead.Store(int64(token.DefaultRetry))
	_, err = v.User(t.Context(), text)
	require.NoError(t, err)
	i.down.Store(true)
	ahead.Store(int64(2 * time.Hour))
	_, err = v.User(t.Context(), text)
	require.NoError(t, err, "keys that are known count on")
}

func TestDiscoveryBelievesOnlyTheIssuerItself(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.name = "https://evil.example"
	_, err := i.verifier(nil).User(t.Context(), signers()[2].sign(t, i.claims(nil), nil))
	require.Equal(t, http.StatusServiceUnavailable, status(t, err))
	require.Zero(t, i.reads.Load())
	_, err = i.verifier(func(o *token.Options) { o.JWKS = i.URL + "/keys" }).User(t.Context(), signers()[2].sign(t, i.claims(nil), nil))
	require.NoError(t, err, "keys that are named need no discovery")
}

func TestKeysFromAFile(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	file := filepath.Join(t.TempDir(), "keys.json")
	weak, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // it is to be refused
	require.NoError(t, err)
	one := signers()[3]
	require.NoError(t, os.WriteFile(file, keySet(t, one, signer{"weak", weak, jwt.SigningMethodRS256}), 0o600))
	v := i.verifier(func(o *token.Options) { o.Issuer, o.JWKS = "parley-tests", file })
	claims := i.claims(jwt.MapClaims{"iss": "parley-tests"})
	_, err = v.User(t.Context(), one.sign(t, claims, nil))
	require.NoError(t, err)
	_, err = v.User(t.Context(), one.sign(t, claims, map[string]any{"kid": nil}))
	require.NoError(t, err, "there is no doubt which key is meant")
	_, err = v.User(t.Context(), signer{"weak", weak, jwt.SigningMethodRS256}.sign(t, claims, nil))
	require.Equal(t, http.StatusUnauthorized, status(t, err))
	require.Zero(t, i.reads.Load())
}

func TestOptionsThatTrustTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]token.Options{
		"no issuer":       {Audiences: []string{"a"}},
		"no audience":     {Issuer: "https://i.example"},
		"empty audience":  {Issuer: "https://i.example", Audiences: []string{""}},
		"plain issuer":    {Issuer: "http://i.example", Audiences: []string{"a"}},
		"plain keys":      {Issuer: "https://i.example", Audiences: []string{"a"}, JWKS: "http://i.example/keys"},
		"no URL":          {Issuer: "i.example", Audiences: []string{"a"}},
		"unknown role":    {Issuer: "https://i.example", Audiences: []string{"a"}, DefaultRole: "boss"},
		"unknown mapping": {Issuer: "https://i.example", Audiences: []string{"a"}, Roles: map[string]string{"x": "boss"}},
	} {
		_, err := token.NewVerifier(o)
		require.Error(t, err, name)
	}
}

// FuzzToken: whatever is presented, nobody gets in who wasn't let in, and nothing panics.
func FuzzToken(f *testing.F) {
	i := &issuer{Server: &httptest.Server{URL: "i"}}
	file := filepath.Join(f.TempDir(), "keys.json")
	require.NoError(f, os.WriteFile(file, keySet(f, signers()...), 0o600))
	v, err := token.NewVerifier(token.Options{Issuer: "i", Audiences: []string{audience}, JWKS: file})
	require.NoError(f, err)
	good := map[string]bool{}
	for _, s := range signers() {
		claims := i.claims(jwt.MapClaims{"exp": time.Now().Add(24 * time.Hour).Unix()})
		text := s.sign(f, claims, nil)
		good[text] = true
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := v.User(t.Context(), text)
		if good[text] {
			require.NoError(t, err)
			return
		}
		require.Nil(t, u)
		require.Equal(t, http.StatusUnauthorized, status(t, err))
	})
}

package token_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth/token"
)

// signer is a key of an issuer.
type signer struct {
	id     string
	key    crypto.Signer
	method jwt.SigningMethod
}

// signers makes one key of each kind; RSA takes its time.
var signers = sync.OnceValue(func() []signer {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return []signer{
		{"rsa", rsaKey, jwt.SigningMethodRS256}, {"rsa", rsaKey, jwt.SigningMethodPS256},
		{"ec", ecKey, jwt.SigningMethodES256}, {"ed", edKey, jwt.SigningMethodEdDSA},
	}
})

// issuer publishes keys over HTTP.
type issuer struct {
	*httptest.Server
	t     *testing.T
	reads atomic.Int64 // of the key set
	down  atomic.Bool
	mu    sync.Mutex
	set   []byte
	name  string // that the configuration says, if not its own
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	i.publish(signers()...)
	return i
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down.Load():
		http.Error(w, "down", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		name := i.URL
		if i.name != "" {
			name = i.name
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": name, "jwks_uri": i.URL + "/keys"})
	case r.URL.Path == "/keys":
		i.reads.Add(1)
		_, _ = w.Write(i.set)
	default:
		http.NotFound(w, r)
	}
}

// publish replaces the key set.
func (i *issuer) publish(keys ...signer) {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.set = keySet(i.t, keys...)
}

func keySet(t testing.TB, keys ...signer) []byte {
	t.Helper()
	var set struct {
		Keys []jwkset.JWKMarshal `json:"keys"`
	}
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k.id] {
			continue
		}
		seen[k.id] = true
		jwk, err := jwkset.NewJWKFromKey(k.key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: k.id, USE: jwkset.UseSig}})
		require.NoError(t, err)
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	b, err := json.Marshal(set)
	require.NoError(t, err)
	return b
}

// audience is whom the tests' tokens are for.
const audience = "https://parley.example"

// claims are those of a token that is right.
func (i *issuer) claims(more jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"iss": i.URL, "aud": audience, "sub": "ada", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	for k, v := range more {
		if v == nil {
			delete(c, k)
			continue
		}
		c[k] = v
	}
	return c
}

// sign makes a token.
func (s signer) sign(t testing.TB, c jwt.MapClaims, header map[string]any) string {
	t.Helper()
	tok := jwt.NewWithClaims(s.method, c)
	tok.Header["kid"] = s.id
	for k, v := range header {
		if v == nil {
			delete(tok.Header, k)
			continue
		}
		tok.Header[k] = v
	}
	text, err := tok.SignedString(s.key)
	require.NoError(t, err)
	return text
}

func (i *issuer) verifier(change func(*token.Options)) *token.Verifier {
	i.t.Helper()
	o := token.Options{Issuer: i.URL, Audiences: []string{"other", audience}}
	if change != nil {
		change(&o)
	}
	v, err := token.NewVerifier(o)
	require.NoError(i.t, err)
	return v
}

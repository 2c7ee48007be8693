package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"net/http"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parley-dev/parley/server/auth"
)

// methods are the algorithms that are taken: asymmetric ones alone, so that nobody
// who can check a token can make one.
var methods = []string{"RS256", "PS256", "ES256", "EdDSA"}

// Limits of what is looked at.
const (
	longestToken = 16 << 10
	smallestRSA  = 2048 // bits
)

// Verifier checks tokens.
type Verifier struct {
	o      Options
	keys   *keySet
	parser *jwt.Parser
	config configuration
}

// NewVerifier checks the options. Keys are read when the first token comes.
func NewVerifier(o Options) (*Verifier, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	v := &Verifier{o: o, keys: &keySet{o: o}}
	v.parser = v.parserFor(o.Audiences...)
	return v, nil
}

// parserFor checks tokens for one of the audiences.
func (v *Verifier) parserFor(audiences ...string) *jwt.Parser {
	return jwt.NewParser(
		jwt.WithValidMethods(methods), jwt.WithIssuer(v.o.Issuer), jwt.WithAudience(audiences...),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(v.o.Leeway), jwt.WithTimeFunc(v.o.Now), jwt.WithStrictDecoding(),
	)
}

// User checks a token and reads who made the request. Every error is an *auth.Error:
// 401, or 503 while the issuer's keys can't be read, which Unwrap explains.
func (v *Verifier) User(ctx context.Context, text string) (*auth.User, error) {
	claims, err := v.claims(ctx, v.parser, text)
	if err != nil {
		return nil, err
	}
	return v.user(claims)
}

// key finds the key that a token says it was signed with.
func (v *Verifier) key(ctx context.Context, t *jwt.Token) (any, error) {
	if _, ok := t.Header["crit"]; ok {
		return nil, errExtension
	}
	switch typ, _ := t.Header["typ"].(string); typ {
	case "", "JWT", "jwt", "at+jwt", "application/at+jwt":
	default:
		return nil, errType
	}
	kid, _ := t.Header["kid"].(string)
	k, err := v.keys.key(ctx, kid)
	if err != nil {
		return nil, err
	}
	if k.alg != "" && k.alg != t.Method.Alg() {
		return nil, errUnknownKey
	}
	return k.key, nil
}

var (
	errExtension = errors.New("token: it demands an extension")
	errType      = errors.New("token: it is of another type")
)

// isPublic reports whether a key can check signatures of one of methods.
func isPublic(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= smallestRSA
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize == 256
	case ed25519.PublicKey:
		return true
	}
	return false
}

// refusal says what is wrong with a token, in words that hold nothing of it.
func (v *Verifier) refusal(err error) *auth.Error {
	switch {
	case errors.Is(err, errUnavailable):
		return &auth.Error{
			Status: http.StatusServiceUnavailable, Code: "issuer_unavailable", Message: "The issuer's keys can't be read; try again",
			Header: http.Header{"Retry-After": {"5"}}, Cause: err,
		}
	case errors.Is(err, jwt.ErrTokenExpired):
		return refuse("The token has expired")
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return refuse("The token isn't valid yet")
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return refuse("The token is for another audience")
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return refuse("The token is of another issuer")
	}
	return refuse("Invalid token")
}

func refuse(message string) *auth.Error {
	return &auth.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Message: message, Header: auth.Challenge("invalid_token")}
}

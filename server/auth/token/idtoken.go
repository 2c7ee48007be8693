package token

import (
	"context"
	"crypto/subtle"
	"errors"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parley-dev/parley/server/auth"
)

// IDToken is an ID token that was found to be right.
type IDToken struct {
	// Subject is whom the issuer has signed in.
	Subject string
	claims  jwt.MapClaims
}

// IDToken checks an ID token that a client got of the issuer; nonce is what the sign-in was begun with, "" for a token
// that came without one anew (OpenID Connect Core 3.1.3.7, 12.2). Every error is an *auth.Error, as of User.
func (v *Verifier) IDToken(ctx context.Context, text, clientID, nonce string) (IDToken, error) {
	claims, err := v.claims(ctx, v.parserFor(clientID), text)
	if err != nil {
		return IDToken{}, err
	}
	got, _ := claims["nonce"].(string)
	if nonce != "" && subtle.ConstantTimeCompare([]byte(got), []byte(nonce)) != 1 {
		return IDToken{}, refuse("The ID token is of another sign-in")
	}
	audiences, _ := claims.GetAudience()
	party, named := claims["azp"].(string)
	if named && party != clientID || !named && len(audiences) > 1 {
		return IDToken{}, refuse("The ID token is for another client")
	}
	subject, err := claims.GetSubject()
	if err != nil || subject == "" {
		return IDToken{}, refuse("The ID token names nobody")
	}
	return IDToken{Subject: subject, claims: claims}, nil
}

// claims are those of a token that the parser finds right.
func (v *Verifier) claims(ctx context.Context, parser *jwt.Parser, text string) (jwt.MapClaims, error) {
	if len(text) > longestToken {
		return nil, refuse("The token is too long")
	}
	claims := jwt.MapClaims{}
	if _, err := parser.ParseWithClaims(text, claims, func(t *jwt.Token) (any, error) { return v.key(ctx, t) }); err != nil {
		return nil, v.refusal(err)
	}
	return claims, nil
}

// IsUnavailable reports whether an error says that the issuer can't be reached, and nothing about who asks.
func IsUnavailable(err error) bool { return errors.Is(err, errUnavailable) }

// Person reads whom a sign-in is about: from the access token where that would be taken as a bearer token, so that
// people may do the same by either, unless the ID token alone has the claim of the roles; else from the ID token.
func (v *Verifier) Person(ctx context.Context, id IDToken, access string) (*auth.User, error) {
	claims, err := v.claims(ctx, v.parser, access)
	if err != nil || claims["sub"] != id.Subject {
		return v.user(id.claims)
	}
	if find(claims, v.o.RolesClaim) == nil && find(id.claims, v.o.RolesClaim) != nil {
		return v.user(id.claims)
	}
	return v.user(claims)
}

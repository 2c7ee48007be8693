package token_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth/token"
)

func TestAnIDTokenIsForOneClientAndOneSignIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	v := i.verifier(nil)
	s := signers()[2]
	right := jwt.MapClaims{"aud": "web", "nonce": "n1", "roles": "operator"}
	for name, tt := range map[string]struct {
		claims jwt.MapClaims
		status int
	}{
		"right":                 {nil, 0},
		"right, party named":    {jwt.MapClaims{"azp": "web"}, 0},
		"right, two audiences":  {jwt.MapClaims{"aud": []string{"web", "x"}, "azp": "web"}, 0},
		"another nonce":         {jwt.MapClaims{"nonce": "n2"}, http.StatusUnauthorized},
		"no nonce":              {jwt.MapClaims{"nonce": nil}, http.StatusUnauthorized},
		"nonce of no text":      {jwt.MapClaims{"nonce": 1}, http.StatusUnauthorized},
		"another client":        {jwt.MapClaims{"aud": "shop"}, http.StatusUnauthorized},
		"the bearers' audience": {jwt.MapClaims{"aud": audience}, http.StatusUnauthorized},
		"another party":         {jwt.MapClaims{"azp": "shop"}, http.StatusUnauthorized},
		"two audiences alone":   {jwt.MapClaims{"aud": []string{"web", "x"}}, http.StatusUnauthorized},
		"expired":               {jwt.MapClaims{"exp": time.Now().Add(-time.Hour).Unix()}, http.StatusUnauthorized},
		"another issuer":        {jwt.MapClaims{"iss": "https://evil.example"}, http.StatusUnauthorized},
		"nobody":                {jwt.MapClaims{"sub": nil}, http.StatusUnauthorized},
	} {
		claims := i.claims(right)
		for k, x := range tt.claims {
			if claims[k] = x; x == nil {
				delete(claims, k)
			}
		}
		id, err := v.IDToken(t.Context(), s.sign(t, claims, nil), "web", "n1")
		require.Equal(t, tt.status, status(t, err), name)
		if err == nil {
			require.Equal(t, "ada", id.Subject)
			u, err := v.Person(t.Context(), id, "opaque")
			require.NoError(t, err)
			require.Equal(t, []string{"operator"}, []string(u.Roles))
		}
	}
	renewed := i.claims(jwt.MapClaims{"aud": "web"})
	_, err := v.IDToken(t.Context(), s.sign(t, renewed, nil), "web", "")
	require.NoError(t, err, "a renewed one has no nonce")
}

func TestThePersonIsWhomABearerTokenWouldBe(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	v := i.verifier(nil)
	s := signers()[2]
	read := func(idRoles any, access jwt.MapClaims) []string {
		claims := i.claims(jwt.MapClaims{"aud": "web", "nonce": "n"})
		if idRoles != nil {
			claims["roles"] = idRoles
		}
		id, err := v.IDToken(t.Context(), s.sign(t, claims, nil), "web", "n")
		require.NoError(t, err)
		u, err := v.Person(t.Context(), id, s.sign(t, i.claims(access), nil))
		require.NoError(t, err)
		return u.Roles
	}
	require.Equal(t, []string{"reviewer"}, read("operator", jwt.MapClaims{"roles": "reviewer"}))
	require.Equal(t, []string{"operator"}, read("operator", nil), "the ID token alone knows of roles")
	require.Equal(t, []string{"operator"}, read("operator", jwt.MapClaims{"roles": "owner", "aud": "elsewhere"}), "it is not for us")
	require.Equal(t, []string{"operator"}, read("operator", jwt.MapClaims{"roles": "owner", "sub": "eve"}), "it is about somebody else")
	require.Equal(t, []string{"viewer"}, read(nil, nil))
}

func TestTheIssuersConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	_, err := i.verifier(nil).Provider(t.Context())
	require.Error(t, err, "it names no page to sign in at")
	require.True(t, token.IsUnavailable(err))
}

package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth/oidc"
)

func TestFlagsOfSigningIn(t *testing.T) {
	t.Setenv("PARLEY_OIDC_CLIENT_SECRET", "")
	secret, none := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "none")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	require.NoError(t, os.WriteFile(none, []byte("\n"), 0o600))
	issuer := "--auth-issuer=https://login.example"
	o, err := server.ServeOptions(server.Options{}, issuer, "--oidc-client-id=parley", "--oidc-client-secret-file="+secret, "--oidc-scopes=profile,offline_access", "--oidc-name=Example")
	require.NoError(t, err, "the audience is the client then")
	require.Equal(t, &oidc.Options{ClientID: "parley", ClientSecret: "s3cret", Scopes: []string{"profile", "offline_access"}, Name: "Example"}, o.Identity.OIDC)
	t.Setenv("PARLEY_OIDC_CLIENT_SECRET", "from the environment")
	o, err = server.ServeOptions(server.Options{}, issuer, "--oidc-client-id=parley")
	require.NoError(t, err)
	require.Equal(t, "from the environment", o.Identity.OIDC.ClientSecret)
	for says, args := range map[string][]string{
		"needs --auth-issuer":       {"--oidc-client-id=parley"},
		"need --oidc-client-id":     {issuer, "--auth-audience=a", "--oidc-scopes=profile"},
		"is empty":                  {issuer, "--oidc-client-id=parley", "--oidc-client-secret-file=" + none},
		"no such file or directory": {issuer, "--oidc-client-id=parley", "--oidc-client-secret-file=" + none + "x"},
		"needs --auth-audience":     {issuer},
	} {
		_, err := server.ServeOptions(server.Options{}, args...)
		require.ErrorContains(t, err, says)
	}
}

func TestAServerWithoutAProviderSaysSo(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	require.JSONEq(t, `{"credentials":true,"oidc":null}`, c.get("/api/v1/session/options").ok().body)
	c.get("/api/v1/session/oidc/start").is(http.StatusNotImplemented)
	c.get("/api/v1/session/oidc/callback?code=x&state=y").is(http.StatusNotImplemented)
	c.as(page).post("/api/v1/session/oidc/renew", "").is(http.StatusNotImplemented)
	_, err := server.New(server.Options{Ephemeral: true, Identity: server.Identity{OIDC: &oidc.Options{ClientID: "x"}}})
	require.ErrorContains(t, err, "issuer is missing")
}

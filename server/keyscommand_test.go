package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// parley runs the command line as a process, with an environment of its own.
func parley(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := childCommand(t, env, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		code = exit.ExitCode()
	}
	return code, out.String(), errs.String()
}

func TestKeysCommandOnAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, role := range []string{"reviewer", "viewer", "team:finance"} { // it would lock everybody out
		code, key, said := command("keys", "create", "--data", dir, "--role", role)
		require.Equal(t, 1, code)
		require.Empty(t, key)
		require.Contains(t, said, "the first key has to be an owner's")
	}
	code, key, said := command("keys", "create", "--data", dir, "--project", "acme", "--name", "ada", "--role", "owner", "--role", "reviewer:ask")
	require.Zero(t, code, said)
	key = strings.TrimSpace(key)
	p, err := apikeys.Parse(key)
	require.NoError(t, err, "standard output is the key alone")
	require.Contains(t, said, p.ID)
	require.NotContains(t, said, key)
	code, out, said := command("keys", "create", "--data", dir, "--project", "acme", "--role", "operator", "--agent", "--workspace", "blue", "--expires", "90d", "--json")
	require.Zero(t, code, said)
	var made map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	require.Equal(t, true, made["agent"])
	end, err := time.Parse(time.RFC3339, made["expires_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().AddDate(0, 0, 90), end, time.Minute)
	code, out, _ = command("keys", "list", "--data", dir, "--project", "acme")
	require.Zero(t, code)
	require.Contains(t, out, p.ID)
	require.Contains(t, out, "a program's, workspace blue")
	require.NotContains(t, out, key[16:])
	code, out, _ = command("keys", "list", "--data", dir)
	require.Zero(t, code)
	require.Equal(t, 1, strings.Count(out, "\n"), "another project has its own")
	code, _, said = command("keys", "revoke", "--data", dir, p.ID)
	require.Equal(t, 1, code)
	require.Contains(t, said, "not found")
	code, _, said = command("keys", "revoke", "--data", dir, "--project", "acme", p.ID)
	require.Zero(t, code, said)
	_, out, _ = command("keys", "list", "--data", dir, "--project", "acme")
	require.Contains(t, out, "revoked")
	for _, wrong := range [][]string{{"--role", "boss"}, {"--role", "owner", "--expires", "soon"}, {"--role", "owner", "--expires=-1h"}, {"--role", "owner", "--project", "a b"}} {
		code, out, said := command(append([]string{"keys", "create", "--data", dir}, wrong...)...)
		require.Equal(t, 1, code, wrong)
		require.Empty(t, out)
		require.NotEmpty(t, said)
	}
}

func TestKeysCommandOnAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, first, _ := command("keys", "create", "--data", dir, "--name", "ada", "--role", "owner")
	first = strings.TrimSpace(first)
	cmd, url, _ := child(t, []string{"PARLEY_DATA=" + dir, "PARLEY_PORT=0"}, "serve")
	c := &client{t: t, url: url}
	c.get("/ok").is(http.StatusUnauthorized)
	code, _, said := command("keys", "list", "--data", dir)
	require.Equal(t, 1, code)
	require.Contains(t, said, "--base-url URL; if it has keys already")
	env := []string{"PARLEY_API_KEY=" + first, "PARLEY_BASE_URL=" + url}
	code, out, said := parley(t, env, "keys", "create", "--role", "viewer", "--name", "bob")
	require.Zero(t, code, said)
	bob := strings.TrimSpace(out)
	c.as(bearer(bob)).get("/ok").ok()
	code, out, _ = parley(t, env, "keys", "list")
	require.Zero(t, code)
	require.Contains(t, out, "bob")
	p, err := apikeys.Parse(bob)
	require.NoError(t, err)
	code, _, said = parley(t, env, "keys", "revoke", p.ID)
	require.Zero(t, code, said)
	c.as(bearer(bob)).get("/ok").is(http.StatusUnauthorized)
	code, _, said = parley(t, []string{"PARLEY_BASE_URL=" + url}, "keys", "list")
	require.Equal(t, 5, code)
	require.Contains(t, said, "PARLEY_API_KEY")
	code, _, said = parley(t, env, "keys", "list", "--project", "other")
	require.Equal(t, 1, code)
	require.Contains(t, said, "other")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// A flag wins over the other's environment variable, and that is said; two flags are refused.
func TestKeysSayWhetherAStoreOrAServerIsAsked(t *testing.T) {
	t.Parallel()
	dir, nowhere := t.TempDir(), "http://127.0.0.1:1"
	code, _, said := parley(t, []string{"PARLEY_BASE_URL=" + nowhere}, "keys", "list", "--data", dir)
	require.Zero(t, code, said)
	require.Contains(t, said, "The store of --data is opened; the server of PARLEY_BASE_URL isn't asked.")
	code, _, said = parley(t, nil, "keys", "list", "--data", dir, "--base-url", nowhere)
	require.Equal(t, 2, code)
	require.Contains(t, said, "--data and --base-url exclude each other")
	code, _, said = parley(t, []string{"PARLEY_BASE_URL=" + nowhere, "PARLEY_DATA=" + dir}, "keys", "list")
	require.Equal(t, 6, code, "of two variables the server's counts")
	require.Contains(t, said, "--base-url")
	code, _, said = parley(t, []string{"PARLEY_DATA=" + dir}, "keys", "list", "--base-url", nowhere)
	require.Equal(t, 6, code, said)
	code, _, said = parley(t, nil, "keys", "list", "--base-url", "localhost:1")
	require.Equal(t, 2, code)
	require.Contains(t, said, "write http://localhost:1")
}

func TestBootstrapKeyByTheEnvironment(t *testing.T) {
	t.Parallel()
	code, key, _ := command("keys", "generate")
	require.Zero(t, code)
	key = strings.TrimSpace(key)
	cmd, url, line := child(t, []string{"PARLEY_BOOTSTRAP_KEY=" + key, "PARLEY_EPHEMERAL=1", "PARLEY_PORT=0", "PARLEY_HOST=0.0.0.0"}, "serve")
	require.NotContains(t, line, key)
	c := &client{t: t, url: url}
	c.get("/ok").is(http.StatusUnauthorized)
	require.Equal(t, []any{"owner"}, c.as(bearer(key)).get("/api/v1/session").ok().json()["roles"])
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	code, _, said := parley(t, []string{"PARLEY_BOOTSTRAP_KEY=change-me", "PARLEY_EPHEMERAL=1", "PARLEY_PORT=0"}, "serve")
	require.Equal(t, 1, code)
	require.Contains(t, said, "pk_<id>_<secret>")
}

func TestServingOthersIsSaidOnTheCommandLine(t *testing.T) {
	t.Parallel()
	code, out, said := command("serve", "--ephemeral", "--host", "0.0.0.0", "--port", "0")
	require.Equal(t, 1, code)
	require.Empty(t, out, "it listens nowhere")
	for _, way := range []string{"parley keys create", "PARLEY_BOOTSTRAP_KEY", "--auth-issuer", "127.0.0.1", "--insecure-anonymous"} {
		require.Contains(t, said, way)
	}
}

func TestIdentityFlags(t *testing.T) {
	t.Parallel()
	o, err := server.ServeOptions(server.Options{}, "--auth-issuer", "https://i.example", "--auth-audience", "a,b", "--auth-jwks", "https://i.example/keys",
		"--auth-principal-claim", "email", "--auth-roles-claim", "groups", "--auth-role-map", "admins=owner;desk=reviewer:support/send_email",
		"--auth-default-role", "none", "--auth-project-claim", "org", "--auth-workspace-claim", "team", "--auth-agent-claim", "bot",
		"--insecure-anonymous", "--self-approval", "--allow-origin", "https://a.example", "--trusted-proxy", "10.0.0.0/8",
		"--max-requests", "10", "--max-burst", "20", "--max-streams", "30", "--max-runs", "40")
	require.NoError(t, err)
	i := o.Identity
	require.Equal(t, []string{"a", "b"}, i.Tokens.Audiences)
	require.Equal(t, map[string]string{"admins": "owner", "desk": "reviewer:support/send_email"}, i.Tokens.Roles)
	require.Equal(t, []string{"https://i.example", "https://i.example/keys", "email", "groups", "none", "org", "team", "bot"},
		[]string{i.Tokens.Issuer, i.Tokens.JWKS, i.Tokens.PrincipalClaim, i.Tokens.RolesClaim, i.Tokens.DefaultRole, i.Tokens.ProjectClaim, i.Tokens.WorkspaceClaim, i.Tokens.AgentClaim})
	require.True(t, i.InsecureAnonymous && i.SelfApproval)
	require.Equal(t, []float64{10, 20, 30, 40}, []float64{i.Limits.Requests, float64(i.Limits.Burst), float64(i.Limits.Streams), float64(i.Limits.Runs)})
	require.Equal(t, []string{"https://a.example"}, o.CORS.AllowOrigins)
	require.Equal(t, []string{"10.0.0.0/8"}, o.TrustedProxies)
	for _, wrong := range [][]string{
		{"--auth-audience", "a"}, {"--auth-issuer", "https://i.example"}, {"--auth-issuer", "http://i.example", "--auth-audience", "a"},
		{"--auth-issuer", "https://i.example", "--auth-audience", "a", "--auth-default-role", "boss"},
	} {
		_, err := server.ServeOptions(server.Options{}, wrong...)
		require.Error(t, err, wrong)
	}
	_, err = server.ServeOptions(server.Options{Auth: tenants()}, "--auth-issuer", "https://i.example", "--auth-audience", "a")
	require.ErrorContains(t, err, "hooks of their own")
}

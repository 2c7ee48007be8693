package token_test

import (
	"net/http"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/token"
)

func TestClaimsSayWhoSomebodyIsAndWhatTheyMay(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	s := signers()[3]
	for name, tt := range map[string]struct {
		options func(*token.Options)
		claims  jwt.MapClaims
		status  int
		want    auth.User
	}{
		"nothing said": {want: auth.User{Identity: "ada", Roles: auth.Roles{"viewer"}}},
		"roles": {
			claims: jwt.MapClaims{"roles": []string{"PROJECT_OWNER", "offline_access", "reviewer:support"}},
			want:   auth.User{Identity: "ada", Roles: auth.Roles{"owner", "reviewer:support"}},
		},
		"roles in one text": {claims: jwt.MapClaims{"roles": "operator reviewer"}, want: auth.User{Identity: "ada", Roles: auth.Roles{"operator", "reviewer"}}},
		"no role is none": {
			options: func(o *token.Options) { o.DefaultRole = "none" },
			claims:  jwt.MapClaims{"roles": []any{"cook", 7}}, status: http.StatusForbidden,
		},
		"mapped": {
			options: func(o *token.Options) {
				o.RolesClaim, o.Roles = "realm_access.roles", map[string]string{"admins": "owner", "desk": "reviewer:support/send_email"}
			},
			claims: jwt.MapClaims{"realm_access": map[string]any{"roles": []string{"desk", "owner"}}, "roles": "owner"},
			want:   auth.User{Identity: "ada", Roles: auth.Roles{"reviewer:support/send_email"}},
		},
		"claim named by a URL": {
			options: func(o *token.Options) { o.RolesClaim = "https://parley.example/roles" },
			claims:  jwt.MapClaims{"https://parley.example/roles": []string{"operator"}},
			want:    auth.User{Identity: "ada", Roles: auth.Roles{"operator"}},
		},
		"by e-mail": {
			options: func(o *token.Options) { o.PrincipalClaim = "email" },
			claims:  jwt.MapClaims{"email": "ada@example.org", "email_verified": true, "name": "Ada L."},
			want:    auth.User{Identity: "ada@example.org", DisplayName: "Ada L.", Roles: auth.Roles{"viewer"}},
		},
		"by an e-mail that nobody has verified": {
			options: func(o *token.Options) { o.PrincipalClaim = "email" },
			claims:  jwt.MapClaims{"email": "ada@example.org", "email_verified": false}, status: http.StatusUnauthorized,
		},
		"by an e-mail that nobody has verified, said as a text": {
			options: func(o *token.Options) { o.PrincipalClaim = "email" },
			claims:  jwt.MapClaims{"email": "ada@example.org", "email_verified": "false"}, status: http.StatusUnauthorized,
		},
		"by an e-mail, verified as a text": {
			options: func(o *token.Options) { o.PrincipalClaim = "email" },
			claims:  jwt.MapClaims{"email": "ada@example.org", "email_verified": "true"},
			want:    auth.User{Identity: "ada@example.org", Roles: auth.Roles{"viewer"}},
		},
		"project and workspace": {
			options: func(o *token.Options) { o.ProjectClaim, o.WorkspaceClaim = "org.id", "team" },
			claims:  jwt.MapClaims{"org": map[string]any{"id": "acme"}, "team": "blue"},
			want:    auth.User{Identity: "ada", Project: "acme", Workspace: "blue", Roles: auth.Roles{"viewer"}},
		},
		"all workspaces": {
			options: func(o *token.Options) { o.ProjectClaim, o.WorkspaceClaim = "org", "team" },
			claims:  jwt.MapClaims{"org": "acme"},
			want:    auth.User{Identity: "ada", Project: "acme", Roles: auth.Roles{"viewer"}},
		},
		"no project":              {options: func(o *token.Options) { o.ProjectClaim = "org" }, status: http.StatusUnauthorized},
		"no such project":         {options: func(o *token.Options) { o.ProjectClaim = "org" }, claims: jwt.MapClaims{"org": "~parley"}, status: http.StatusUnauthorized},
		"no such workspace":       {options: func(o *token.Options) { o.WorkspaceClaim = "team" }, claims: jwt.MapClaims{"team": 7}, status: http.StatusUnauthorized},
		"a program, it says":      {claims: jwt.MapClaims{"agent": true}, want: auth.User{Identity: "ada", Agent: true, Roles: auth.Roles{"viewer"}}},
		"a program, as a text":    {claims: jwt.MapClaims{"agent": "True"}, want: auth.User{Identity: "ada", Agent: true, Roles: auth.Roles{"viewer"}}},
		"a program, as a number":  {claims: jwt.MapClaims{"agent": 1}, want: auth.User{Identity: "ada", Agent: true, Roles: auth.Roles{"viewer"}}},
		"no program, as a text":   {claims: jwt.MapClaims{"agent": "false"}, want: auth.User{Identity: "ada", Roles: auth.Roles{"viewer"}}},
		"a program, by its grant": {claims: jwt.MapClaims{"gty": "client-credentials"}, want: auth.User{Identity: "ada", Agent: true, Roles: auth.Roles{"viewer"}}},
		"a program, its own subject": {
			claims: jwt.MapClaims{"sub": "bot", "client_id": "bot"},
			want:   auth.User{Identity: "bot", Agent: true, Roles: auth.Roles{"viewer"}},
		},
		"a person at a client": {claims: jwt.MapClaims{"client_id": "web", "azp": "web"}, want: auth.User{Identity: "ada", Roles: auth.Roles{"viewer"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := i.verifier(tt.options).User(t.Context(), s.sign(t, i.claims(tt.claims), nil))
			require.Equal(t, tt.status, status(t, err))
			if tt.status != 0 {
				return
			}
			want := tt.want
			want.Kind, want.Expires = auth.KindToken, u.Expires
			if want.DisplayName == "" {
				want.DisplayName = want.Identity
			}
			if want.Project == "" {
				want.Project = "default"
			}
			require.Equal(t, want, *u)
		})
	}
}

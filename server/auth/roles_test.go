package auth_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

func TestRolesAreBroughtIntoOneForm(t *testing.T) {
	t.Parallel()
	roles, err := auth.ParseRoles("viewer", " PROJECT_OWNER", "owner", "reviewer:a/b")
	require.NoError(t, err)
	require.Equal(t, auth.Roles{"owner", "reviewer:a/b", "viewer"}, roles)
	for _, wrong := range []string{"", "admin", "Owner", "reviewer:", "reviewer:/t", "reviewer:a/", "operator:a", "owner "[:5] + "s"} {
		_, err := auth.ParseRoles(wrong)
		require.Error(t, err, wrong)
	}
}

func TestWhatRolesAmountTo(t *testing.T) {
	t.Parallel()
	all := []string{auth.RoleViewer, auth.RoleOperator, auth.RoleReviewer, auth.RoleOwner}
	for role, has := range map[string][]string{
		"viewer": {"viewer"}, "operator": {"viewer", "operator"}, "reviewer": {"viewer", "reviewer"}, "reviewer:a": {"viewer", "reviewer"},
		"reviewer:a/t": {"viewer", "reviewer"}, "owner": all,
	} {
		for _, want := range all {
			expected := false
			for _, h := range has {
				expected = expected || h == want
			}
			require.Equal(t, expected, auth.Roles{role}.Has(want), "%s has %s", role, want)
		}
	}
	require.False(t, auth.Roles(nil).Has(auth.RoleViewer))
}

// D-102: who decides is who the server knows them to be, no program, and somebody else than who asked.
func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	one := thread.Review{ReviewDraft: thread.ReviewDraft{Agent: "support", Tool: "pay", Tools: []string{"pay"}, Requester: "ada"}}
	two := one
	two.Tools = []string{"pay", "send"}
	form := thread.Review{ReviewDraft: thread.ReviewDraft{Agent: "support", Requester: "ada"}}
	escalated := one
	escalated.Role = "reviewer:support"
	toOwners := one
	toOwners.Role = "owner"
	toATeam := one
	toATeam.Role = "team:finance"
	bob := func(roles ...string) thread.Actor {
		return thread.Actor{Principal: "bob", Kind: auth.KindKey, Roles: roles}
	}
	ada := thread.Actor{Principal: "ada", Kind: auth.KindToken, Roles: []string{"owner"}}
	for name, tt := range map[string]struct {
		actor  thread.Actor
		review thread.Review
		self   bool
		code   string // "" for may
	}{
		"viewer":                         {bob("viewer"), one, false, auth.CodeNotReviewer},
		"operator":                       {bob("operator"), one, false, auth.CodeNotReviewer},
		"nobody":                         {bob(), one, false, auth.CodeNotReviewer},
		"reviewer":                       {bob("reviewer"), one, false, ""},
		"owner":                          {bob("owner"), one, false, ""},
		"of the agent":                   {bob("reviewer:support"), one, false, ""},
		"of another agent":               {bob("reviewer:sales"), one, false, auth.CodeNotReviewer},
		"of an agent with the same head": {bob("reviewer:sup"), one, false, auth.CodeNotReviewer},
		"of the tool":                    {bob("reviewer:support/pay"), one, false, ""},
		"of another tool":                {bob("reviewer:support/send"), one, false, auth.CodeNotReviewer},
		"of the tool, another agent":     {bob("reviewer:sales/pay"), one, false, auth.CodeNotReviewer},
		"of one of two tools":            {bob("reviewer:support/pay"), two, false, auth.CodeNotReviewer},
		"of both tools":                  {bob("reviewer:support/pay", "reviewer:support/send"), two, false, ""},
		"of a tool, a form":              {bob("reviewer:support/pay"), form, false, auth.CodeNotReviewer},
		"of the agent, a form":           {bob("reviewer:support"), form, false, ""},
		"escalated":                      {bob("reviewer:support"), escalated, false, ""},
		"escalated, all agents":          {bob("reviewer"), escalated, false, ""},
		"escalated, the tool's":          {bob("reviewer:support/pay"), escalated, false, auth.CodeNotReviewer},
		"escalated to owners":            {bob("reviewer"), toOwners, false, auth.CodeNotReviewer},
		"escalated to owners, an owner":  {bob("owner"), toOwners, false, ""},
		"escalated to a team":            {bob("reviewer"), toATeam, false, auth.CodeNotReviewer},
		"escalated to a team, of it":     {bob("reviewer", "team:finance"), toATeam, false, ""},
		"escalated to a team, no more":   {bob("team:finance"), toATeam, false, auth.CodeNotReviewer},
		"escalated to another team":      {bob("reviewer", "team:law"), toATeam, false, auth.CodeNotReviewer},
		"of a team, without escalation":  {bob("team:finance"), one, false, auth.CodeNotReviewer},
		"requester":                      {ada, one, false, auth.CodeSelfApproval},
		"requester, allowed":             {ada, one, true, ""},
		"a program":                      {thread.Actor{Principal: "bot", Kind: auth.KindAgent, Roles: []string{"owner"}}, one, true, auth.CodeAgent},
		"anonymous":                      {thread.Actor{Kind: auth.KindAnonymous, Roles: []string{"owner"}}, one, false, ""},
		"hooks without roles":            {thread.Actor{Principal: "ada", Kind: auth.KindUser}, one, false, ""},
		"hooks with roles":               {thread.Actor{Principal: "bob", Kind: auth.KindUser, Roles: []string{"viewer"}}, one, false, auth.CodeNotReviewer},
		"hooks with roles, requester":    {thread.Actor{Principal: "ada", Kind: auth.KindUser, Roles: []string{"owner"}}, one, false, auth.CodeSelfApproval},
		"the program itself":             {thread.Actor{}, one, false, ""},
		"a deadline":                     {thread.Actor{Kind: "system"}, one, false, ""},
	} {
		err := auth.DecisionRules{SelfApproval: tt.self}.MayDecide(context.Background(), tt.actor, tt.review)
		if tt.code == "" {
			require.NoError(t, err, name)
			continue
		}
		var e *auth.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, http.StatusForbidden, e.Status, name)
		require.Equal(t, tt.code, e.Code, name)
	}
}

func TestUsersSeeTheirProjectAndWorkspace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		user               *auth.User
		project, workspace string
		want               bool
	}{
		"own":                  {&auth.User{Project: "acme"}, "acme", "w", true},
		"foreign":              {&auth.User{Project: "acme"}, "other", "w", false},
		"default":              {&auth.User{}, "", "", true},
		"default by name":      {&auth.User{}, "default", "default", true},
		"default, of acme":     {&auth.User{Project: "acme"}, "", "", false},
		"bound":                {&auth.User{Project: "acme", Workspace: "w"}, "acme", "w", true},
		"bound, elsewhere":     {&auth.User{Project: "acme", Workspace: "w"}, "acme", "v", false},
		"bound, the default":   {&auth.User{Project: "acme", Workspace: "w"}, "acme", "", false},
		"bound to the default": {&auth.User{Project: "acme", Workspace: "default"}, "acme", "", true},
		"nobody":               {nil, "default", "", false},
	} {
		require.Equal(t, tt.want, tt.user.Sees(tt.project, tt.workspace), name)
	}
}

func TestUsersOfHooksWithoutRolesAreTheHooksAffair(t *testing.T) {
	t.Parallel()
	require.True(t, (*auth.User)(nil).Unruled())
	require.True(t, (&auth.User{Identity: "ann"}).Unruled())
	require.False(t, (&auth.User{Identity: "ann", Roles: auth.Roles{"viewer"}}).Unruled())
	require.False(t, (&auth.User{Kind: auth.KindKey}).Unruled(), "a key without roles opens nothing")
	require.False(t, (&auth.User{Kind: auth.KindToken}).Unruled())
}

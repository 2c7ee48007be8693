package auth_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

var tenants = &auth.Hooks{On: auth.Tenants(), Authenticate: func(*http.Request) (*auth.User, error) { return nil, nil }}

func key(project, workspace string, roles ...string) *auth.User {
	return &auth.User{Kind: auth.KindKey, Identity: "k", Project: project, Workspace: workspace, Roles: roles}
}

// ask asks for an event with metadata and returns the filter and the metadata as they are then.
func ask(t require.TestingT, u *auth.User, resource, action, metadata string) (auth.Filter, thread.Metadata) {
	e := &auth.Event{Resource: resource, Action: action, User: u, Value: auth.Value{"metadata": json.RawMessage(metadata)}}
	f, err := tenants.Authorize(context.Background(), e)
	require.NoError(t, err)
	var m thread.Metadata
	require.NoError(t, json.Unmarshal(e.Value["metadata"], &m))
	return f, m
}

func TestTheHooksAreSound(t *testing.T) {
	t.Parallel()
	require.NoError(t, tenants.Check())
}

func TestWhatIsMadeIsMarkedWhateverTheClientSays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		user *auth.User
		in   string
		want string
	}{
		"nothing said":                {key("acme", ""), `{"a":1}`, `{"a":1,"project_id":"acme"}`},
		"null":                        {key("acme", ""), `null`, `{"project_id":"acme"}`},
		"another project":             {key("acme", ""), `{"project_id":"other"}`, `{"project_id":"acme"}`},
		"null for a project":          {key("acme", ""), `{"project_id":null}`, `{"project_id":"acme"}`},
		"a workspace":                 {key("acme", ""), `{"workspace_id":"w"}`, `{"project_id":"acme"}`},
		"bound":                       {key("acme", "w"), `{"workspace_id":"v"}`, `{"project_id":"acme","workspace_id":"w"}`},
		"default":                     {key("", ""), `{"project_id":"acme"}`, `{"project_id":"default"}`},
		"anonymous, alone on earth":   {&auth.User{Kind: auth.KindAnonymous, Roles: auth.Roles{"owner"}}, `{"project_id":"x"}`, `{"project_id":"x"}`},
		"another spelling is no mark": {key("acme", ""), `{"Project_Id":"other"}`, `{"Project_Id":"other","project_id":"acme"}`},
	} {
		for _, resource := range []string{"threads", "crons", "assistants"} {
			for _, action := range []string{"create", "update"} {
				_, m := ask(t, tt.user, resource, action, tt.in)
				got, err := json.Marshal(m)
				require.NoError(t, err)
				require.JSONEq(t, tt.want, string(got), "%s: %s:%s", name, resource, action)
			}
		}
	}
	_, m := ask(t, key("acme", ""), "threads", "create_run", `{"project_id":"other"}`)
	require.Equal(t, thread.Metadata{"project_id": []byte(`"acme"`)}, m)
}

// A user sees exactly what lies in their project and workspace, by the same rule as everywhere else (User.Sees).
func TestFiltersAgreeWithSees(t *testing.T) {
	t.Parallel()
	names := []string{"", "default", "acme", "other"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string { return rapid.SampledFrom(names).Draw(t, label) }
		u := key(draw("user's project"), draw("user's workspace"))
		project, workspace := draw("project"), draw("workspace")
		m := thread.ScopeMetadata(project, workspace)
		m["x"] = []byte(`1`)
		for _, action := range []string{"read", "update", "delete", "search", "create_run"} {
			f, _ := ask(t, u, "threads", action, `{}`)
			require.Equal(t, u.Sees(project, workspace), f.Matches(m), "%s of %q/%q by %q/%q", action, project, workspace, u.Project, u.Workspace)
		}
	})
}

func TestSystemAssistantsAreSeenByAllAndChangedByFew(t *testing.T) {
	t.Parallel()
	system := thread.Metadata{"created_by": []byte(`"system"`)}
	theirs := thread.Metadata{"project_id": []byte(`"acme"`), "created_by": []byte(`"user"`)}
	for name, tt := range map[string]struct {
		user                 *auth.User
		read, update, delete bool // of system assistants
		own                  bool // sees acme's
	}{
		"acme's owner":       {key("acme", "", "owner"), true, false, false, true},
		"acme's viewer":      {key("acme", "w", "viewer"), true, false, false, false},
		"default's owner":    {key("", "", "owner"), true, true, false, false},
		"default's operator": {key("", "", "operator"), true, false, false, false},
	} {
		for action, want := range map[string]bool{"read": tt.read, "search": tt.read, "update": tt.update, "delete": tt.delete} {
			f, _ := ask(t, tt.user, "assistants", action, `{}`)
			require.Equal(t, want, f.Matches(system), "%s %s", name, action)
			require.Equal(t, tt.own, f.Matches(theirs), "%s %s", name, action)
		}
		for _, action := range []string{"create", "update"} {
			_, m := ask(t, tt.user, "assistants", action, `{"created_by":"system"}`)
			require.NotContains(t, m, "created_by", "nobody makes others see theirs")
			_, m = ask(t, tt.user, "assistants", action, `{"created_by":"me"}`)
			require.Equal(t, `"me"`, string(m["created_by"]))
		}
	}
}

func TestItemsLieInTheirProject(t *testing.T) {
	t.Parallel()
	at := func(u *auth.User, ns string) (string, auth.Filter, error) {
		e := &auth.Event{Resource: "store", Action: "put", User: u, Value: auth.Value{}}
		if ns != "" {
			e.Value["namespace"] = json.RawMessage(ns)
		}
		f, err := tenants.Authorize(context.Background(), e)
		return string(e.Value["namespace"]), f, err
	}
	ns, f, err := at(key("acme", ""), `["a","b"]`)
	require.NoError(t, err)
	require.Equal(t, `["~acme","a","b"]`, ns)
	require.Empty(t, f)
	ns, _, err = at(key("acme", ""), "")
	require.NoError(t, err)
	require.Equal(t, `["~acme"]`, ns, "everything, that is: all of the project's")
	ns, f, err = at(key("", ""), `["a"]`)
	require.NoError(t, err)
	require.Equal(t, `["a"]`, ns)
	require.True(t, f.Matches(map[string]json.RawMessage{"namespace": []byte(`["a"]`)}))
	require.False(t, f.Matches(map[string]json.RawMessage{"namespace": []byte(`["~acme","a"]`)}))
	for _, u := range []*auth.User{key("", ""), key("acme", ""), key("other", "")} {
		_, _, err := at(u, `["~acme","a"]`)
		var e *auth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, http.StatusForbidden, e.Status)
	}
}

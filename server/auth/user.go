package auth

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/thread"
)

// The kinds of users.
const (
	KindKey       = "key"       // an API key
	KindToken     = "token"     // a bearer token of an issuer
	KindUser      = "user"      // found by the deployment's own hooks
	KindAnonymous = "anonymous" // somebody on this machine, while nobody has to say who they are
	KindAgent     = "agent"     // in thread.Actor: a program, by its key or token
)

// Anonymous is what callers are called who need not say who they are. Their identity is "".
const Anonymous = thread.Anonymous

// User is who makes a request, as the authenticator found out.
type User struct {
	// Identity names the user; it is the principal of resumes and the user_id of runs.
	Identity string
	// DisplayName is for people; default: Identity.
	DisplayName string
	// Permissions are what the deployment's authorisers look at; the server gives them no meaning.
	Permissions []string
	// Extra holds further keys, handed to nodes with the user.
	Extra map[string]json.RawMessage
	// Expires ends the user's open streams (D-73); zero for never.
	Expires time.Time

	// Kind is one of the Kind… constants; "" counts as KindUser.
	Kind string
	// Project is the user's only project; "" counts as thread.DefaultProject.
	Project string
	// Workspace bounds the user to one of the project's; "": all of them.
	Workspace string
	// Roles say what the user may do. A user without any who was found by the
	// deployment's own hooks may use the classic API as those hooks allow, and
	// nothing under /api/v1; any other user without roles may do nothing.
	Roles Roles
	// Agent marks a program, which can't decide reviews whatever its roles (D-102).
	Agent bool
	// KeyID is the API key by which the user came; "" for none.
	KeyID string
}

// HasPermission reports whether the user has one of the permissions.
func (u *User) HasPermission(any ...string) bool {
	if u == nil {
		return false
	}
	for _, p := range u.Permissions {
		for _, want := range any {
			if p == want {
				return true
			}
		}
	}
	return false
}

// Unruled reports whether roles say nothing about the user: the deployment's own hooks decide.
func (u *User) Unruled() bool {
	return u == nil || (u.Kind == "" || u.Kind == KindUser) && len(u.Roles) == 0
}

// ProjectID is the user's project.
func (u *User) ProjectID() string {
	if u == nil || u.Project == "" {
		return thread.DefaultProject
	}
	return u.Project
}

// Sees reports whether the user may see things of a project's workspace; "" reads as the default one.
func (u *User) Sees(project, workspace string) bool {
	if u == nil {
		return false
	}
	if project == "" {
		project = thread.DefaultProject
	}
	if workspace == "" {
		workspace = thread.DefaultWorkspace
	}
	return u.ProjectID() == project && (u.Workspace == "" || u.Workspace == workspace)
}

// Actor is the user as the audit log names them; the server adds address, request and dialect.
func (u *User) Actor() thread.Actor {
	if u == nil {
		return thread.Actor{}
	}
	a := thread.Actor{Principal: u.Identity, Kind: u.Kind, Roles: u.Roles}
	switch {
	case u.Agent:
		a.Kind = KindAgent
	case a.Kind == "":
		a.Kind = KindUser
	}
	return a
}

// MarshalJSON gives the user in the form of configurable.langgraph_auth_user.
func (u *User) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	for k, v := range u.Extra {
		m[k] = v
	}
	permissions := u.Permissions
	if permissions == nil {
		permissions = []string{}
	}
	name := u.DisplayName
	if name == "" {
		name = u.Identity
	}
	m["identity"], m["display_name"], m["is_authenticated"], m["permissions"] = u.Identity, name, true, permissions
	if !u.Unruled() {
		m["kind"], m["project_id"], m["roles"] = u.Kind, u.ProjectID(), u.Roles
		if u.Workspace != "" {
			m["workspace_id"] = u.Workspace
		}
		if u.Agent {
			m["agent"] = true
		}
	}
	return json.Marshal(m)
}

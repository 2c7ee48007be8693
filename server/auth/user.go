package auth

import (
	"encoding/json"
	"time"
)

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
	return json.Marshal(m)
}

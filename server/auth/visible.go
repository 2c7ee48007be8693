package auth

import (
	"slices"

	"github.com/parley-dev/parley/thread"
)

// SeesReview reports whether a user may see a review: everybody sees those of their project and
// workspace, but reviewers who are bound to agents or tools, and are nothing else, only theirs. A
// nil user is one of a server without an authenticator.
func (u *User) SeesReview(r thread.Review) bool {
	if u == nil {
		u = &User{}
	}
	if !u.Sees(r.Project, r.Workspace) {
		return false
	}
	for _, role := range []string{RoleOwner, RoleReviewer, RoleOperator, RoleViewer} {
		if slices.Contains(u.Roles, role) {
			return true
		}
	}
	return len(u.Roles) == 0 || r.Role != "" && u.Roles.covers(r.Role) || u.Roles.Reviews(r.Agent, toolsOf(r)...)
}

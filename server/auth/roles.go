package auth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/thread"
)

// The roles. A reviewer may be bound to an agent, "reviewer:AGENT", or to one of its
// tools, "reviewer:AGENT/TOOL". Who has "team:NAME" beside it decides what was escalated to that team, too.
const (
	RoleViewer   = "viewer"   // reads
	RoleOperator = "operator" // reads, starts and cancels runs, edits threads; decides nothing
	RoleReviewer = "reviewer" // reads, decides reviews
	RoleOwner    = "owner"    // everything, also keys and the audit log
)

// rolePrefixTeam begins the roles that only say what people are called when reviews are escalated to them.
const rolePrefixTeam = "team:"

// projectOwner is RoleOwner under the name that spec/executions.md 5 gives it.
const projectOwner = "PROJECT_OWNER"

// Roles are the roles of a user; build them with ParseRoles.
type Roles []string

// ParseRoles checks roles and brings them into one form: sorted, each once, PROJECT_OWNER as owner.
func ParseRoles(names ...string) (Roles, error) {
	roles := make(Roles, 0, len(names))
	for _, name := range names {
		role, err := parseRole(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		roles = append(roles, role)
	}
	slices.Sort(roles)
	return slices.Compact(roles), nil
}

func parseRole(name string) (string, error) {
	switch name {
	case RoleViewer, RoleOperator, RoleReviewer, RoleOwner:
		return name, nil
	case projectOwner:
		return RoleOwner, nil
	}
	if team, ok := strings.CutPrefix(name, rolePrefixTeam); ok && team != "" {
		return name, nil
	}
	scope, ok := strings.CutPrefix(name, RoleReviewer+":")
	agent, tool, bound := strings.Cut(scope, "/")
	if !ok || agent == "" || bound && tool == "" {
		return "", fmt.Errorf("unknown role %q: want viewer, operator, reviewer, reviewer:AGENT, reviewer:AGENT/TOOL, team:NAME or owner", name)
	}
	return name, nil
}

// Has reports whether one of the roles is the named one, or owner, which is all of them.
// RoleReviewer is held by reviewers of any agent or tool, and RoleViewer by everybody.
func (r Roles) Has(role string) bool {
	for _, have := range r {
		switch {
		case have == RoleOwner || have == role || role == RoleViewer:
			return true
		case role == RoleReviewer && strings.HasPrefix(have, RoleReviewer+":"):
			return true
		}
	}
	return false
}

// Reviews reports whether the roles cover reviews of an agent's tools: of all of them,
// since an answer is for all. Without tools only a reviewer of the whole agent will do.
func (r Roles) Reviews(agent string, tools ...string) bool {
	if slices.Contains(r, RoleOwner) || slices.Contains(r, RoleReviewer) || slices.Contains(r, RoleReviewer+":"+agent) {
		return true
	}
	for _, tool := range tools {
		if !slices.Contains(r, RoleReviewer+":"+agent+"/"+tool) {
			return false
		}
	}
	return len(tools) > 0
}

// covers reports whether the roles include a role, with what it is bound to.
func (r Roles) covers(role string) bool {
	if slices.Contains(r, RoleOwner) || slices.Contains(r, role) {
		return true
	}
	scope, ok := strings.CutPrefix(role, RoleReviewer+":")
	if !ok {
		return false
	}
	agent, _, _ := strings.Cut(scope, "/")
	return slices.Contains(r, RoleReviewer) || slices.Contains(r, RoleReviewer+":"+agent)
}

// toolsOf lists the tools of a review.
func toolsOf(r thread.Review) []string {
	if len(r.Tools) > 0 {
		return r.Tools
	}
	if r.Tool != "" {
		return []string{r.Tool}
	}
	return nil
}

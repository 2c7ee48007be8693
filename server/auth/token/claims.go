package token

import (
	"strings"
	"unicode"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// longestPrincipal bounds who somebody can be, in bytes.
const longestPrincipal = 256

// user reads the claims of a token that is valid.
func (v *Verifier) user(claims jwt.MapClaims) (*auth.User, error) {
	u := &auth.User{Kind: auth.KindToken, Project: thread.DefaultProject}
	var ok bool
	if u.Identity, ok = find(claims, v.o.PrincipalClaim).(string); !ok || !names(u.Identity) {
		return nil, refuse("The token names nobody in its claim " + v.o.PrincipalClaim)
	}
	if verified, ok := claims["email_verified"]; ok && v.o.PrincipalClaim == "email" && !said(verified) {
		return nil, refuse("The token's e-mail address isn't verified")
	}
	u.DisplayName = u.Identity
	if name, ok := claims["name"].(string); ok && names(name) {
		u.DisplayName = name
	}
	if v.o.ProjectClaim != "" {
		if u.Project, ok = find(claims, v.o.ProjectClaim).(string); !ok || !thread.ValidScope(u.Project) {
			return nil, refuse("The token names no project in its claim " + v.o.ProjectClaim)
		}
	}
	if v.o.WorkspaceClaim != "" {
		if raw := find(claims, v.o.WorkspaceClaim); raw != nil {
			if u.Workspace, ok = raw.(string); !ok || !thread.ValidScope(u.Workspace) {
				return nil, refuse("The token names no workspace in its claim " + v.o.WorkspaceClaim)
			}
		}
	}
	if u.Roles = v.roles(find(claims, v.o.RolesClaim)); len(u.Roles) == 0 {
		return nil, &auth.Error{Status: 403, Code: "no_role", Message: "The token has no role here in its claim " + v.o.RolesClaim}
	}
	u.Agent = said(find(claims, v.o.AgentClaim)) || byClient(claims)
	exp, err := claims.GetExpirationTime()
	if err != nil || exp == nil { // the parser has demanded it
		return nil, refuse("The token doesn't expire")
	}
	u.Expires = exp.Add(v.o.Leeway)
	return u, nil
}

// said reports whether a claim says yes. Issuers write flags as texts and numbers, too; what isn't a plain no
// counts, so that a program isn't taken for a person.
func said(claim any) bool {
	switch c := claim.(type) {
	case nil:
		return false
	case bool:
		return c
	case string:
		s := strings.ToLower(strings.TrimSpace(c))
		return s != "" && s != "false" && s != "0" && s != "no"
	case float64:
		return c != 0
	}
	return true
}

// byClient reports whether a client got the token for itself, with nobody behind it
// (RFC 9068 2.2; Auth0 says gty).
func byClient(claims jwt.MapClaims) bool {
	sub, _ := claims["sub"].(string)
	for _, key := range []string{"client_id", "azp"} {
		if id, ok := claims[key].(string); ok && id != "" && (sub == id || sub == id+"@clients") {
			return true
		}
	}
	gty, _ := claims["gty"].(string)
	return strings.Contains(gty, "client-credentials") || strings.Contains(gty, "client_credentials")
}

// roles are those that the values of a claim stand for.
func (v *Verifier) roles(claim any) auth.Roles {
	var found []string
	for _, value := range texts(claim) {
		role := value
		if len(v.o.Roles) > 0 {
			role = v.o.Roles[value]
		}
		if _, err := auth.ParseRoles(role); err == nil {
			found = append(found, role)
		}
	}
	if len(found) == 0 && v.o.DefaultRole != noRole {
		found = []string{v.o.DefaultRole}
	}
	roles, err := auth.ParseRoles(found...)
	if err != nil { // each was parsed
		return nil
	}
	return roles
}

// texts are the strings of a claim: of a list, or of a text with spaces between them.
func texts(claim any) []string {
	switch c := claim.(type) {
	case string:
		return strings.Fields(c)
	case []any:
		out := make([]string, 0, len(c))
		for _, e := range c {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// find is the claim of a name or a path; nil for none.
func find(claims map[string]any, path string) any {
	if v, ok := claims[path]; ok {
		return v
	}
	key, rest, ok := strings.Cut(path, ".")
	if !ok {
		return nil
	}
	inner, ok := claims[key].(map[string]any)
	if !ok {
		return nil
	}
	return find(inner, rest)
}

// names reports whether a text can name somebody.
func names(s string) bool {
	if s == "" || len(s) > longestPrincipal || s == auth.Anonymous || strings.TrimSpace(s) != s {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

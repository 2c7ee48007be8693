package conformance

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parley-dev/parley/server/auth"
)

// tokenKey signs the suite's tokens. It is public, and so is everything that it guards.
const tokenKey = "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7"

// users are the users of the suite with the permissions that they may have.
var users = map[string][]string{
	"johndoe": {"read", "write", "assistants:write", "me"},
	"alice":   {"read", "write", "assistants:write", "me"},
}

// Auth returns the auth hooks of the auth suite (spec/conformance-agents.md 5).
func Auth() *auth.Hooks {
	return &auth.Hooks{
		Authenticate: authenticate,
		On: map[string]auth.Authorizer{
			"*":                 needsPermission,
			"assistants:create": createAssistant,
			"assistants:search": ownerFilter,
			"assistants":        own,
			"threads":           own,
			"threads:create":    createThread,
			"store":             ownNamespace,
		},
	}
}

// claims are what a token says.
type claims struct {
	Scopes []string `json:"scopes"`
	jwt.RegisteredClaims
}

func authenticate(r *http.Request) (*auth.User, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, &auth.Error{
			Status: http.StatusUnauthorized, Message: "Not authenticated",
			Header: http.Header{"Www-Authenticate": {"Bearer"}},
		}
	}
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return []byte(tokenKey), nil },
		jwt.WithValidMethods([]string{"HS256"}))
	allowed, known := users[c.Subject]
	if err != nil || !known {
		return nil, auth.Unauthorized("Could not validate credentials")
	}
	u := &auth.User{Identity: c.Subject, DisplayName: c.Subject}
	for _, scope := range c.Scopes {
		if slices.Contains(allowed, scope) {
			u.Permissions = append(u.Permissions, scope)
		}
	}
	if c.ExpiresAt != nil {
		u.Expires = c.ExpiresAt.Time
	}
	return u, nil
}

func needsPermission(_ context.Context, e *auth.Event) (auth.Filter, error) {
	if len(e.User.Permissions) == 0 {
		return nil, auth.Forbidden("Not authorized")
	}
	return nil, nil
}

func createAssistant(ctx context.Context, e *auth.Event) (auth.Filter, error) {
	if !e.User.HasPermission("assistants:write") {
		return nil, auth.Forbidden("Not authorized")
	}
	return own(ctx, e)
}

func createThread(ctx context.Context, e *auth.Event) (auth.Filter, error) {
	if !e.User.HasPermission("me", "threads:write", "threads:*") {
		return nil, auth.Forbidden("Not authorized")
	}
	return own(ctx, e)
}

// own marks what is written with its owner, and shows to each their own.
func own(ctx context.Context, e *auth.Event) (auth.Filter, error) {
	switch e.Action {
	case "create", "update", "create_run":
		e.Value.SetMetadata("owner", e.User.Identity)
	}
	return ownerFilter(ctx, e)
}

func ownerFilter(_ context.Context, e *auth.Event) (auth.Filter, error) {
	return auth.Equal("owner", e.User.Identity), nil
}

// ownNamespace keeps users in namespaces that contain their name.
func ownNamespace(_ context.Context, e *auth.Event) (auth.Filter, error) {
	var ns []string
	if raw, ok := e.Value["namespace"]; ok && json.Unmarshal(raw, &ns) == nil && len(ns) > 0 &&
		!slices.Contains(ns, e.User.Identity) {
		return nil, auth.Forbidden("Not authorized")
	}
	return auth.Contains("namespace", e.User.Identity), nil
}

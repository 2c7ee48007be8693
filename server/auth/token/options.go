// Package token checks bearer tokens of an OpenID Connect issuer: JSON Web Tokens,
// signed with a key that the issuer publishes.
package token

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-dev/parley/server/auth"
)

// Defaults of Options.
const (
	DefaultPrincipalClaim = "sub"
	DefaultRolesClaim     = "roles"
	DefaultAgentClaim     = "agent"
	DefaultRole           = auth.RoleViewer
	DefaultLeeway         = 30 * time.Second
	DefaultRefresh        = time.Hour
	DefaultRetry          = 10 * time.Second
)

// Options say whose tokens are taken, and what their claims mean. A claim is named
// by its key, or by a path of keys with periods between them: "realm_access.roles". A key
// that has periods itself, such as a URL, is found before it is read as a path.
type Options struct {
	// Issuer is what tokens must have as iss. Required.
	Issuer string
	// Audiences are what tokens may have as aud; one of them must be there. Required.
	Audiences []string
	// JWKS is where the issuer's keys are: a URL, or a file's path. Default: the
	// jwks_uri of the issuer's /.well-known/openid-configuration.
	JWKS string

	// PrincipalClaim is who somebody is, e.g. email. Default: DefaultPrincipalClaim. A token with
	// email_verified false names nobody by its email.
	PrincipalClaim string
	// RolesClaim holds roles: a list, or a text with spaces between them. Default: DefaultRolesClaim.
	RolesClaim string
	// Roles maps values of RolesClaim to roles. Default: those that are roles already count, others don't.
	Roles map[string]string
	// DefaultRole is the role of tokens without any. Default: DefaultRole; "none": they are refused.
	DefaultRole string
	// ProjectClaim and WorkspaceClaim name the user's project and workspace. Default: none,
	// everybody is in the default project, and in all of its workspaces. A token without the
	// project's claim is refused, one without the workspace's may use all.
	ProjectClaim, WorkspaceClaim string
	// AgentClaim, when true, marks tokens of programs, which decide nothing (D-102). Default: DefaultAgentClaim.
	// Tokens that a client got for itself are those of programs, too, whatever they say.
	AgentClaim string

	// Leeway is how far clocks may be apart. Default: DefaultLeeway.
	Leeway time.Duration
	// Refresh is how long published keys are believed. Default: DefaultRefresh.
	Refresh time.Duration
	// Retry is the shortest time between two attempts to read them. Default: DefaultRetry.
	Retry time.Duration
	// Client reads them. Default: one with a timeout of 5 s. It follows no redirects.
	Client *http.Client
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// complete checks the options and fills in defaults.
func (o Options) complete() (Options, error) {
	switch {
	case o.Issuer == "":
		return o, errors.New("token: the issuer is missing")
	case len(o.Audiences) == 0:
		return o, errors.New("token: an audience is missing: tokens that the issuer made for others would be taken")
	}
	for _, a := range o.Audiences {
		if a == "" {
			return o, errors.New("token: an audience is empty")
		}
	}
	if o.JWKS == "" || isURL(o.JWKS) {
		for _, address := range []string{o.Issuer, o.JWKS} {
			if err := checkURL(address); address != "" && err != nil {
				return o, err
			}
		}
	}
	setDefault(&o.PrincipalClaim, DefaultPrincipalClaim)
	setDefault(&o.RolesClaim, DefaultRolesClaim)
	setDefault(&o.AgentClaim, DefaultAgentClaim)
	setDefault(&o.DefaultRole, DefaultRole)
	if o.DefaultRole != noRole {
		if _, err := auth.ParseRoles(o.DefaultRole); err != nil {
			return o, fmt.Errorf("token: default role: %w", err)
		}
	}
	for value, role := range o.Roles {
		if _, err := auth.ParseRoles(role); err != nil {
			return o, fmt.Errorf("token: role of %q: %w", value, err)
		}
	}
	if o.Leeway <= 0 {
		o.Leeway = DefaultLeeway
	}
	if o.Refresh <= 0 {
		o.Refresh = DefaultRefresh
	}
	if o.Retry <= 0 {
		o.Retry = DefaultRetry
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: readTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// noRole is the DefaultRole that refuses tokens without roles.
const noRole = "none"

// readTime bounds reading from the issuer.
const readTime = 5 * time.Second

func setDefault(s *string, def string) {
	if *s == "" {
		*s = def
	}
}

func isURL(s string) bool { return strings.Contains(s, "://") }

// checkURL wants addresses at which nobody in between can put keys of their own.
func checkURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("token: %w", err)
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1"):
		return nil
	}
	return fmt.Errorf("token: %s: keys are read over https, or over http from this machine", address)
}

// Validate checks the options without reading anything.
func (o Options) Validate() error {
	_, err := o.complete()
	return err
}

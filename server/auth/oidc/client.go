// Package oidc signs people in with an OpenID Connect provider: the authorization code flow with PKCE, state and
// nonce (OpenID Connect Core 3.1, RFC 7636, RFC 9700), done by the server, so that no page ever sees a token. It keeps
// nothing: what a sign-in has to remember is a Flow, which the caller seals into a cookie.
package oidc

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2" // the token endpoint's protocol, with its two ways of client authentication

	"github.com/parley-dev/parley/server/auth/token"
)

// DefaultScopes are the scopes of Options without any.
const DefaultScopes = "openid profile email"

// timeout bounds a request to the provider.
const timeout = 10 * time.Second

// Options say which client of the issuer this server is.
type Options struct {
	// ClientID is the client's id at the issuer. Required.
	ClientID string
	// ClientSecret is its secret. Default: none, a public client, for which PKCE stands in.
	ClientSecret string
	// Scopes are what is asked for; openid always is. Default: DefaultScopes. Many issuers give refresh
	// tokens, by which sessions outlive their token, for offline_access only.
	Scopes []string
	// Name is what people know the issuer as, for the button. Default: none.
	Name string
	// HTTP talks to the issuer. Default: a client with a timeout of 10 s that follows no redirects.
	HTTP *http.Client
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// Client signs people in.
type Client struct {
	o      Options
	tokens *token.Verifier
}

// New checks the options. The issuer is asked when the first person signs in.
func New(o Options, tokens *token.Verifier) (*Client, error) {
	switch {
	case o.ClientID == "":
		return nil, errors.New("oidc: the client's id is missing")
	case tokens == nil:
		return nil, errors.New("oidc: the issuer is missing")
	}
	if len(o.Scopes) == 0 {
		o.Scopes = strings.Fields(DefaultScopes)
	}
	if !slices.Contains(o.Scopes, "openid") {
		o.Scopes = append([]string{"openid"}, o.Scopes...)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{o, tokens}, nil
}

// Name is what people know the issuer as; "" for nothing in particular.
func (c *Client) Name() string { return c.o.Name }

// config is the client as the issuer's present configuration has it.
func (c *Client) config(ctx context.Context, redirect string) (*oauth2.Config, token.Provider, error) {
	p, err := c.tokens.Provider(ctx)
	if err != nil {
		return nil, p, &Failure{Unavailable, err}
	}
	style := oauth2.AuthStyleInHeader
	if c.o.ClientSecret == "" || len(p.AuthMethods) > 0 && !slices.Contains(p.AuthMethods, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: c.o.ClientID, ClientSecret: c.o.ClientSecret, RedirectURL: redirect, Scopes: c.o.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.Authorization, TokenURL: p.Token, AuthStyle: style},
	}, p, nil
}

// SignOutURL is where the issuer signs people out and then sends them to back (OpenID Connect RP-Initiated Logout
// 1.0); "" where it has no such page, or can't be reached. hint is the session's ID token, if it is known.
func (c *Client) SignOutURL(ctx context.Context, hint, back string) string {
	p, err := c.tokens.Provider(ctx)
	if err != nil || p.EndSession == "" {
		return ""
	}
	u, err := url.Parse(p.EndSession)
	if err != nil { // it was checked
		return ""
	}
	q := u.Query()
	q.Set("client_id", c.o.ClientID)
	q.Set("post_logout_redirect_uri", back)
	if hint != "" {
		q.Set("id_token_hint", hint)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/server/auth/limit"
	"github.com/parley-dev/parley/server/auth/oidc"
	"github.com/parley-dev/parley/server/auth/session"
	"github.com/parley-dev/parley/server/auth/token"
	"github.com/parley-dev/parley/thread"
)

// Identity says how callers say who they are. API keys always count, once the
// store has one; see docs/identity.md. With Options.Auth, that decides instead.
type Identity struct {
	// Tokens names an OpenID Connect issuer whose bearer tokens count, too. Default: nil, none.
	Tokens *token.Options
	// OIDC has people sign in to the web app with the issuer of Tokens, which then needs no audiences: they default to the
	// client's id. Where people reach the server is Announce.PublicURL. Default: nil, they sign in with keys and tokens.
	OIDC *oidc.Options
	// BootstrapKey is an API key, as "parley keys generate" prints it, that shall exist
	// as an owner of the default project. Default: none.
	BootstrapKey string
	// SessionKey seals the cookies of the web app's sessions: 32 bytes or more, the same on all replicas.
	// Default: a random one, made with the first session and kept in the store.
	SessionKey string
	// Limits bound each principal, in each process. Default: none.
	Limits limit.Options
	// InsecureAnonymous lets callers from everywhere do everything while there are no keys
	// and no issuer of tokens. Insecure: whoever reaches the port owns the server. Default: only
	// callers on this machine, through a listener that no other can reach.
	InsecureAnonymous bool
	// SelfApproval lets whoever started a run decide what it asks. Default: somebody else
	// has to; see auth.DecisionRules.
	SelfApproval bool
}

// tokens are the options of Tokens, for the client of OIDC, too.
func (o Identity) tokens() *token.Options {
	if o.Tokens == nil || o.OIDC == nil || len(o.Tokens.Audiences) > 0 {
		return o.Tokens
	}
	tokens := *o.Tokens
	tokens.Audiences = []string{o.OIDC.ClientID}
	return &tokens
}

// identity finds the users of requests.
type identity struct {
	keys     *keys.Verifier  // nil when the store has none
	tokens   *token.Verifier // nil without an issuer
	oidc     *oidc.Client    // nil without Identity.OIDC
	sessions *sessions
	insecure bool
	cors     *cors
	log      *slog.Logger
}

// newIdentity builds it over the store, and makes the bootstrap key.
func newIdentity(ctx context.Context, o Identity, store thread.Store, c *cors, log *slog.Logger) (*identity, error) {
	i := &identity{insecure: o.InsecureAnonymous, cors: c, log: log}
	stored, _ := store.(thread.Keys)
	var err error
	if i.sessions, err = newSessions(stored, o.SessionKey); err != nil {
		return nil, fmt.Errorf("server: Identity.SessionKey: %w", err)
	}
	if tokens := o.tokens(); tokens != nil {
		if i.tokens, err = token.NewVerifier(*tokens); err != nil {
			return nil, fmt.Errorf("server: Identity.Tokens: %w", err)
		}
	}
	if o.OIDC != nil {
		if i.oidc, err = oidc.New(*o.OIDC, i.tokens); err != nil {
			return nil, fmt.Errorf("server: Identity.OIDC: %w", err)
		}
	}
	switch {
	case stored != nil:
		i.keys = keys.NewVerifier(keys.Options{Store: stored})
	case o.BootstrapKey != "":
		return nil, errors.New("server: Identity.BootstrapKey: the store keeps no keys")
	}
	if o.BootstrapKey != "" {
		switch err := keys.Bootstrap(ctx, stored, o.BootstrapKey); {
		case errors.Is(err, keys.ErrRevoked):
			log.Warn("the bootstrap key opens nothing any more", "error", err)
		case err != nil:
			return nil, fmt.Errorf("server: Identity.BootstrapKey: %w", err)
		}
	}
	return i, nil
}

// storeStart is how long the store may take for what a server needs of it to start.
const storeStart = 15 * time.Second

// anonymous reports whether callers need not say who they are.
func (i *identity) anonymous(ctx context.Context) (bool, error) {
	switch {
	case i.tokens != nil:
		return false, nil
	case i.keys == nil:
		return true, nil
	}
	any, err := i.keys.Any(ctx)
	return !any, err
}

var (
	errWho = &auth.Error{
		Status: http.StatusUnauthorized, Code: "unauthenticated", Header: auth.Challenge(""),
		Message: "Say who you are: Authorization: Bearer KEY, or x-api-key: KEY",
	}
	errForeignPage = &auth.Error{
		Status: http.StatusForbidden, Code: "cross_site", Message: "A session is for pages of this server only: Sec-Fetch-Site or Origin must say so",
	}
	errSignedOut = &auth.Error{
		Status: http.StatusUnauthorized, Code: "signed_out", Header: auth.Challenge(""), Message: "The session is over: sign in again",
	}
	errToken = &auth.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Header: auth.Challenge("invalid_token"), Message: "Invalid token"}
)

// user finds the user of a request. An *auth.Error refuses; other errors are the store's.
func (i *identity) user(r *http.Request) (*auth.User, error) {
	free, err := i.anonymous(r.Context())
	switch {
	case err != nil:
		return nil, err
	case free: // whatever credentials it carries are for somebody else
		return i.anybody(r)
	}
	if text := credential(r); text != "" {
		return i.holder(r.Context(), text)
	}
	if value := session.Value(r); value != "" {
		return i.signedIn(r, value)
	}
	return nil, errWho
}

// holder is the user of a key or token.
func (i *identity) holder(ctx context.Context, text string) (*auth.User, error) {
	switch {
	case keys.Looks(text) && i.keys != nil:
		return i.keys.User(ctx, text)
	case i.tokens == nil:
		return nil, errToken
	}
	u, err := i.tokens.User(ctx, text)
	var refused *auth.Error
	if errors.As(err, &refused) && refused.Cause != nil {
		i.log.Warn("token not checked", "error", refused.Cause)
	}
	return u, err
}

// signedIn is the user of a session.
func (i *identity) signedIn(r *http.Request, value string) (*auth.User, error) {
	if !session.MayUse(r) {
		return nil, errForeignPage
	}
	v, err := i.sessions.open(r.Context(), value)
	if err != nil {
		return nil, err
	}
	if v.KeyID == "" {
		return v.TokenUser(), nil
	}
	if i.keys == nil {
		return nil, errSignedOut
	}
	u, err := i.keys.UserOf(r.Context(), v.KeyID)
	if err == nil && (u.Expires.IsZero() || v.End().Before(u.Expires)) {
		u.Expires = v.End()
	}
	return u, err
}

// credential is the key or token that a request carries: a bearer token, else the
// header that the SDKs of this API have for keys.
func credential(r *http.Request) string {
	if text := auth.Bearer(r); text != "" {
		return text
	}
	return r.Header.Get("X-Api-Key")
}

// anybody is the user of callers who need not say who they are.
func (i *identity) anybody(r *http.Request) (*auth.User, error) {
	if !i.insecure {
		if err := i.fromHere(r); err != nil {
			return nil, err
		}
	}
	return &auth.User{DisplayName: auth.Anonymous, Kind: auth.KindAnonymous, Project: thread.DefaultProject, Roles: auth.Roles{auth.RoleOwner}}, nil
}

// fromHere refuses anonymous requests that come from elsewhere, or only seem to come from
// here: through a proxy, from a page of another site, under a foreign name that points here.
func (i *identity) fromHere(r *http.Request) error {
	const how = "; make a key with \"parley keys create\", or see docs/identity.md"
	refuse := func(why string) error {
		return &auth.Error{Status: http.StatusUnauthorized, Code: "unauthenticated", Header: auth.Challenge(""), Message: why + how}
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !isLoopback(host) {
		return refuse("Without keys, only callers on this machine are served")
	}
	if !isLoopback(hostOnly(r.Host)) {
		return refuse("Without keys, the server answers only to the name localhost")
	}
	if !forwardedHere(r.Header) {
		return refuse("Without keys, a proxy may only hand on requests of this machine")
	}
	if origin := r.Header.Get("Origin"); origin != "" && !i.cors.localOrigin(origin) {
		return &auth.Error{Status: http.StatusForbidden, Code: "cross_site", Message: "Without keys, only pages of this machine, and of origins that the server was told to allow, are served" + how}
	}
	return nil
}

// secure sets up who may do what.
func (s *Server) secure() error {
	s.hooks = s.opts.Auth
	if s.hooks != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeStart)
	defer cancel()
	var err error
	if s.identity, err = newIdentity(ctx, s.opts.Identity, s.store, s.cors, s.log); err != nil {
		return err
	}
	s.hooks = &auth.Hooks{On: auth.Tenants()}
	return nil
}

// mayListen refuses to serve whoever comes by: without keys, only this machine is served.
func (s *Server) mayListen(addr net.Addr) error {
	if s.identity == nil || s.identity.insecure || !reachesOut(addr) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeStart)
	defer cancel()
	free, err := s.identity.anonymous(ctx)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if free {
		return fmt.Errorf("server: %s can be reached from other machines, and nobody has to say who they are: make a key "+
			"(parley keys create, or PARLEY_BOOTSTRAP_KEY), name an issuer of tokens (--auth-issuer), listen on 127.0.0.1, "+
			"or, to let everybody do everything, say --insecure-anonymous", addr)
	}
	return nil
}

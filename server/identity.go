package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
)

// Identity says how callers say who they are. API keys always count, once the
// store has one; see docs/identity.md. With Options.Auth, that decides instead.
type Identity struct {
	// BootstrapKey is an API key, as "parley keys generate" prints it, that shall exist
	// as an owner of the default project. Default: none.
	BootstrapKey string
	// InsecureAnonymous lets callers from everywhere do everything while there are no keys
	// and no issuer of tokens. Insecure: whoever reaches the port owns the server. Default: only
	// callers on this machine, through a listener that no other can reach.
	InsecureAnonymous bool
	// SelfApproval lets whoever started a run decide what it asks. Default: somebody else
	// has to; see auth.DecisionRules.
	SelfApproval bool
}

// identity finds the users of requests.
type identity struct {
	keys     *keys.Verifier // nil when the store has none
	insecure bool
	cors     *cors
}

// newIdentity builds it over the store, and makes the bootstrap key.
func newIdentity(ctx context.Context, o Identity, store thread.Store, c *cors) (*identity, error) {
	i := &identity{insecure: o.InsecureAnonymous, cors: c}
	stored, ok := store.(thread.Keys)
	if !ok {
		if o.BootstrapKey != "" {
			return nil, errors.New("server: Identity.BootstrapKey: the store keeps no keys")
		}
		return i, nil
	}
	i.keys = keys.NewVerifier(keys.Options{Store: stored})
	if o.BootstrapKey == "" {
		return i, nil
	}
	if err := keys.Bootstrap(ctx, stored, o.BootstrapKey); err != nil {
		return nil, fmt.Errorf("server: Identity.BootstrapKey: %w", err)
	}
	return i, nil
}

// storeStart is how long the store may take for what a server needs of it to start.
const storeStart = 15 * time.Second

// anonymous reports whether callers need not say who they are.
func (i *identity) anonymous(ctx context.Context) (bool, error) {
	if i.keys == nil {
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
	text := credential(r)
	switch {
	case text == "":
		return nil, errWho
	case keys.Looks(text):
		return i.keys.User(r.Context(), text)
	}
	return nil, errToken
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
	return &auth.User{Identity: auth.Anonymous, Kind: auth.KindAnonymous, Project: thread.DefaultProject, Roles: auth.Roles{auth.RoleOwner}}, nil
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
		return refuse("Without keys, only pages of this machine, and origins that the server was told to allow, are served")
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
	if s.identity, err = newIdentity(ctx, s.opts.Identity, s.store, s.cors); err != nil {
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

package server

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/parley-dev/parley/server/auth/oidc"
	"github.com/parley-dev/parley/server/auth/token"
)

// identityFlags say who may do what. Secrets come by the environment alone:
// command lines are seen by everybody on the machine.
type identityFlags struct {
	Issuer         string            `name:"auth-issuer" help:"OpenID Connect issuer whose bearer tokens are taken." env:"PARLEY_AUTH_ISSUER" placeholder:"URL" group:"Identity (docs/identity.md)"`
	Audience       []string          `name:"auth-audience" help:"What tokens must be for; one of several." env:"PARLEY_AUTH_AUDIENCE" placeholder:"AUDIENCE" group:"Identity (docs/identity.md)"`
	JWKS           string            `name:"auth-jwks" help:"Where the issuer's keys are. Default: where the issuer says." env:"PARLEY_AUTH_JWKS" placeholder:"URL|FILE" group:"Identity (docs/identity.md)"`
	PrincipalClaim string            `name:"auth-principal-claim" help:"Claim that says who somebody is. Default: sub." env:"PARLEY_AUTH_PRINCIPAL_CLAIM" placeholder:"CLAIM" group:"Identity (docs/identity.md)"`
	RolesClaim     string            `name:"auth-roles-claim" help:"Claim with the roles. Default: roles." env:"PARLEY_AUTH_ROLES_CLAIM" placeholder:"CLAIM" group:"Identity (docs/identity.md)"`
	RoleMap        map[string]string `name:"auth-role-map" help:"What values of that claim stand for, e.g. admins=owner;support=reviewer:support. Default: roles themselves." env:"PARLEY_AUTH_ROLE_MAP" mapsep:";" placeholder:"VALUE=ROLE" group:"Identity (docs/identity.md)"`
	DefaultRole    string            `name:"auth-default-role" help:"Role of tokens without one; none refuses them. Default: viewer." env:"PARLEY_AUTH_DEFAULT_ROLE" placeholder:"ROLE" group:"Identity (docs/identity.md)"`
	ProjectClaim   string            `name:"auth-project-claim" help:"Claim with the project. Default: all tokens are for the project default." env:"PARLEY_AUTH_PROJECT_CLAIM" placeholder:"CLAIM" group:"Identity (docs/identity.md)"`
	WorkspaceClaim string            `name:"auth-workspace-claim" help:"Claim with the only workspace. Default: all of the project's." env:"PARLEY_AUTH_WORKSPACE_CLAIM" placeholder:"CLAIM" group:"Identity (docs/identity.md)"`
	AgentClaim     string            `name:"auth-agent-claim" help:"Claim that is true in tokens of programs, which decide nothing. Default: agent." env:"PARLEY_AUTH_AGENT_CLAIM" placeholder:"CLAIM" group:"Identity (docs/identity.md)"`

	ClientID         string   `name:"oidc-client-id" help:"Client of the issuer by which people sign in to the web app." env:"PARLEY_OIDC_CLIENT_ID" placeholder:"ID" group:"Identity (docs/identity.md)"`
	ClientSecretFile string   `name:"oidc-client-secret-file" help:"File with the client's secret. Default: PARLEY_OIDC_CLIENT_SECRET, or a public client." env:"PARLEY_OIDC_CLIENT_SECRET_FILE" type:"path" placeholder:"FILE" group:"Identity (docs/identity.md)"`
	Scopes           []string `name:"oidc-scopes" help:"What is asked for beside openid. Default: profile, email." env:"PARLEY_OIDC_SCOPES" placeholder:"SCOPE" group:"Identity (docs/identity.md)"`
	ProviderName     string   `name:"oidc-name" help:"What people know the issuer as." env:"PARLEY_OIDC_NAME" placeholder:"NAME" group:"Identity (docs/identity.md)"`

	InsecureAnonymous bool     `help:"Insecure: without keys and tokens, let everybody who reaches the port do everything." env:"PARLEY_INSECURE_ANONYMOUS" group:"Identity (docs/identity.md)"`
	SelfApproval      bool     `help:"Let those who start a run decide what it asks." env:"PARLEY_SELF_APPROVAL" group:"Identity (docs/identity.md)"`
	AllowOrigin       []string `help:"Origin of pages that may call, * for all. Default: *, but without keys only pages of this machine." env:"PARLEY_ALLOW_ORIGIN" placeholder:"ORIGIN" group:"Identity (docs/identity.md)"`
	TrustedProxy      []string `help:"Address range whose X-Forwarded-For is believed." env:"PARLEY_TRUSTED_PROXY" placeholder:"CIDR" group:"Identity (docs/identity.md)"`
	MaxRequests       float64  `help:"Requests a second of one principal, in each process. Default: no limit." env:"PARLEY_MAX_REQUESTS" placeholder:"N" group:"Identity (docs/identity.md)"`
	MaxBurst          int      `help:"Requests of one principal at once. Default: twice --max-requests." env:"PARLEY_MAX_BURST" placeholder:"N" group:"Identity (docs/identity.md)"`
	MaxStreams        int      `help:"Open streams of one principal, in each process. Default: no limit." env:"PARLEY_MAX_STREAMS" placeholder:"N" group:"Identity (docs/identity.md)"`
	MaxRuns           int      `help:"Runs of one principal under way, as started by each process. Default: no limit." env:"PARLEY_MAX_RUNS" placeholder:"N" group:"Identity (docs/identity.md)"`
}

// The environment's secrets.
const (
	bootstrapEnv = "PARLEY_BOOTSTRAP_KEY"      // Identity.BootstrapKey
	sessionEnv   = "PARLEY_SESSION_KEY"        // Identity.SessionKey
	clientEnv    = "PARLEY_OIDC_CLIENT_SECRET" //nolint:gosec // a name, no secret
)

// secretsHelp tells of what has no flag.
const secretsHelp = "Secrets come by the environment alone. " +
	bootstrapEnv + ": an owner's API key that shall exist, as \"parley keys generate\" prints it. " +
	sessionEnv + ": what seals the web app's sessions, 32 bytes or more. Default: a random one, kept in the store. " +
	clientEnv + ": the secret of --oidc-client-id."

// Help implements kong.HelpProvider.
func (serveCommand) Help() string { return secretsHelp }

// apply takes the flags and the environment over.
func (f identityFlags) apply(o *Options) error {
	i := &o.Identity
	tokens := f.tokens()
	switch {
	case tokens.Issuer != "" && len(tokens.Audiences) == 0 && f.ClientID == "": // a client is its own audience
		return errors.New("--auth-issuer needs --auth-audience: tokens that the issuer made for others would be taken")
	case tokens.Issuer != "":
		i.Tokens = &tokens
	case f.JWKS != "" || len(f.Audience) > 0:
		return errors.New("--auth-audience and --auth-jwks need --auth-issuer")
	}
	client, err := f.client()
	switch {
	case err != nil:
		return err
	case client != nil && i.Tokens == nil:
		return errors.New("--oidc-client-id needs --auth-issuer")
	case client != nil:
		i.OIDC = client
	}
	if tokens := i.tokens(); tokens != nil {
		if err := tokens.Validate(); err != nil {
			return err
		}
	}
	i.InsecureAnonymous = i.InsecureAnonymous || f.InsecureAnonymous
	i.SelfApproval = i.SelfApproval || f.SelfApproval
	for env, to := range map[string]*string{bootstrapEnv: &i.BootstrapKey, sessionEnv: &i.SessionKey} {
		if v := os.Getenv(env); v != "" {
			*to = v
		}
	}
	override(&i.Limits.Requests, f.MaxRequests)
	override(&i.Limits.Burst, f.MaxBurst)
	override(&i.Limits.Streams, f.MaxStreams)
	override(&i.Limits.Runs, f.MaxRuns)
	if len(f.AllowOrigin) > 0 {
		o.CORS.AllowOrigins, o.CORS.AllowOriginRegex = f.AllowOrigin, ""
	}
	if len(f.TrustedProxy) > 0 {
		o.TrustedProxies = f.TrustedProxy
	}
	if o.Auth != nil && (i.Tokens != nil || i.BootstrapKey != "") {
		return fmt.Errorf("these agents bring auth hooks of their own: --auth-issuer and %s would do nothing", bootstrapEnv)
	}
	return nil
}

func (f identityFlags) tokens() token.Options {
	return token.Options{
		Issuer: f.Issuer, Audiences: f.Audience, JWKS: f.JWKS, PrincipalClaim: f.PrincipalClaim, RolesClaim: f.RolesClaim, Roles: f.RoleMap,
		DefaultRole: f.DefaultRole, ProjectClaim: f.ProjectClaim, WorkspaceClaim: f.WorkspaceClaim, AgentClaim: f.AgentClaim,
	}
}

// client is the client by which people sign in; nil for none.
func (f identityFlags) client() (*oidc.Options, error) {
	secret := os.Getenv(clientEnv)
	if f.ClientSecretFile != "" {
		b, err := os.ReadFile(f.ClientSecretFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
		if secret = strings.TrimSpace(string(b)); secret == "" {
			return nil, fmt.Errorf("--oidc-client-secret-file: %s is empty", f.ClientSecretFile)
		}
	}
	if f.ClientID == "" {
		if f.ClientSecretFile != "" || len(f.Scopes) > 0 {
			return nil, errors.New("--oidc-client-secret-file and --oidc-scopes need --oidc-client-id")
		}
		return nil, nil
	}
	return &oidc.Options{ClientID: f.ClientID, ClientSecret: secret, Scopes: strings.Fields(strings.Join(f.Scopes, " ")), Name: f.ProviderName}, nil
}

// override sets what was given.
func override[T comparable](to *T, given T) {
	var none T
	if given != none {
		*to = given
	}
}

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/server/cli"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
	"github.com/parley-dev/parley/thread/redis"
)

// keysCommand works on API keys: directly in the store, or by way of a server that runs.
type keysCommand struct {
	Create   createKeyCommand   `cmd:"" help:"Make an API key. It is printed once, on standard output."`
	List     listKeysCommand    `cmd:"" help:"List a project's API keys."`
	Revoke   revokeKeyCommand   `cmd:"" help:"End an API key; servers refuse it within 5 s."`
	Generate generateKeyCommand `cmd:"" help:"Print a new key that is stored nowhere, for PARLEY_BOOTSTRAP_KEY."`
}

// keyFlags say where the keys are.
type keyFlags struct {
	Project string `help:"Project of the key." default:"default" env:"PARLEY_PROJECT"`
	BaseURL string `name:"base-url" help:"Address of a running server, which is asked with the key in PARLEY_API_KEY, if there are keys already. Default: the store itself is opened." env:"PARLEY_BASE_URL" placeholder:"URL"`
	storeFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// keyring is where keys are worked on.
type keyring interface {
	create(ctx context.Context, r keys.Request) (keyReply, error)
	list(ctx context.Context, project string) ([]keyReply, error)
	revoke(ctx context.Context, project, id string) (keyReply, error)
}

// with opens the keyring, works on it and closes it.
func (f keyFlags) with(env *environment, work func(ctx context.Context, ring keyring) error) error {
	ctx := thread.WithActor(context.Background(), thread.Actor{Principal: operator(), Kind: "system", Via: "command line"})
	asked, err := f.place(env.stderr)
	if err != nil {
		return err
	}
	if asked {
		return work(ctx, remoteKeys{cli.Connection{BaseURL: f.BaseURL, Key: os.Getenv("PARLEY_API_KEY")}})
	}
	store, err := f.openStore(ctx, env)
	if err != nil {
		return err
	}
	kept, ok := store.(thread.Keys)
	if !ok {
		return errors.Join(errNoKeys, store.Close())
	}
	return errors.Join(work(ctx, storedKeys{kept}), store.Close())
}

// place decides where the keys are, and reports whether that is a server. A flag wins over the other's environment variable,
// which is said; two flags exclude each other, and of two variables the server's counts.
func (f keyFlags) place(stderr io.Writer) (server bool, err error) {
	byFlag := func(value, variable string) bool {
		set := os.Getenv(variable)
		whole, err := filepath.Abs(set)
		return value != "" && value != set && (set == "" || err != nil || value != whole)
	}
	store := ""
	switch {
	case byFlag(f.Redis, "PARLEY_REDIS"):
		store = "--redis"
	case byFlag(f.Data, "PARLEY_DATA"):
		store = "--data"
	}
	switch {
	case f.BaseURL == "" || store == "":
		return f.BaseURL != "", nil
	case byFlag(f.BaseURL, "PARLEY_BASE_URL"):
		return false, &cli.ExitError{Code: usageError, Err: fmt.Errorf("%s and --base-url exclude each other: one opens a store, the other asks a server", store)}
	}
	_, err = fmt.Fprintf(stderr, "The store of %s is opened; the server of PARLEY_BASE_URL isn't asked.\n", store)
	return false, err
}

func (f keyFlags) openStore(ctx context.Context, env *environment) (thread.Store, error) {
	if f.Redis != "" {
		ctx, cancel := context.WithTimeout(ctx, redisStart)
		defer cancel()
		return redis.Open(ctx, redis.Options{URL: f.Redis, Logger: env.logger()})
	}
	store, err := local.Open(ctx, local.Options{Dir: cmp.Or(f.Data, env.options.DataDir, DefaultDataDir), Logger: env.logger()})
	if err != nil {
		return nil, fmt.Errorf("%w (if a server runs on it, ask that: --base-url URL; if it has keys already, with an owner's in PARLEY_API_KEY)", err)
	}
	return store, nil
}

// operator names who is at the command line.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username + " (command line)"
	}
	return "command line"
}

type createKeyCommand struct {
	Role      []string `required:"" help:"Role: viewer, operator, reviewer, reviewer:AGENT, reviewer:AGENT/TOOL, team:NAME, owner. May be repeated."`
	Name      string   `help:"Who holds it, as the audit log and others see them. Default: the key's id."`
	Workspace string   `help:"The only workspace it is for. Default: all of the project's." env:"PARLEY_WORKSPACE"`
	Agent     bool     `help:"It is a program's, which can't decide reviews."`
	Expires   string   `help:"When it ends: a time (RFC 3339), or how long from now: 12h, 90d. Default: never." placeholder:"WHEN"`
	keyFlags
}

// Run implements the command.
func (cmd createKeyCommand) Run(env *environment) error {
	r := keys.Request{Project: cmd.Project, Workspace: cmd.Workspace, Name: cmd.Name, Roles: cmd.Role, Agent: cmd.Agent, CreatedBy: operator()}
	var err error
	if r.ExpiresAt, err = expiry(cmd.Expires, time.Now()); err != nil {
		return err
	}
	return cmd.with(env, func(ctx context.Context, ring keyring) error {
		k, err := ring.create(ctx, r)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return printJSON(env.stdout, k)
		}
		if _, err := fmt.Fprintf(env.stderr, "Key %s of project %s, held by %s: %s%s. It is shown this once:\n",
			k.ID, k.Project, k.Principal, strings.Join(k.Roles, ", "), ends(k)); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, k.Key)
		return err
	})
}

func ends(k keyReply) string {
	if at, ok := k.ExpiresAt.(string); ok {
		return ", until " + at
	}
	return ""
}

// expiry reads when a key ends.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf("--expires: %q is neither a time (2027-01-31T12:00:00Z) nor how long from now (12h, 90d)", text)
}

type listKeysCommand struct{ keyFlags }

// Run implements the command.
func (cmd listKeysCommand) Run(env *environment) error {
	return cmd.with(env, func(ctx context.Context, ring keyring) error {
		list, err := ring.list(ctx, cmd.Project)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return printJSON(env.stdout, list)
		}
		w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
		if _, err := fmt.Fprintln(w, "ID\tHELD BY\tROLES\tCREATED\tSTATE"); err != nil {
			return err
		}
		for _, k := range list {
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Principal, strings.Join(k.Roles, ","), k.CreatedAt, state(k, time.Now())); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

// state says whether a key opens anything.
func state(k keyReply, now time.Time) string {
	said := "valid"
	if at, ok := k.ExpiresAt.(string); ok {
		said = "until " + at
		if end, err := time.Parse(time.RFC3339, at); err == nil && !now.Before(end) {
			said = "expired"
		}
	}
	if k.RevokedAt != nil {
		said = "revoked"
	}
	if k.Agent {
		said += ", a program's"
	}
	if k.Workspace != "" {
		said += ", workspace " + k.Workspace
	}
	return said
}

type revokeKeyCommand struct {
	ID string `arg:"" help:"Id of the key, as list shows it."`
	keyFlags
}

// Run implements the command.
func (cmd revokeKeyCommand) Run(env *environment) error {
	return cmd.with(env, func(ctx context.Context, ring keyring) error {
		k, err := ring.revoke(ctx, cmd.Project, cmd.ID)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return printJSON(env.stdout, k)
		}
		_, err = fmt.Fprintf(env.stdout, "The key %s of %s is revoked.\n", k.ID, k.Principal)
		return err
	})
}

type generateKeyCommand struct{}

// Run implements the command.
func (generateKeyCommand) Run(env *environment) error {
	_, text := keys.New()
	_, err := fmt.Fprintln(env.stdout, text)
	return err
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

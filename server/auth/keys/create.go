package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// Request says what key to create.
type Request struct {
	Project   string   // default: thread.DefaultProject
	Workspace string   // "": all of the project
	Name      string   // its holder, as the audit log and other people see them; "": the key's id
	Roles     []string // required
	Agent     bool     // a program's
	ExpiresAt time.Time
	// CreatedBy is who asks.
	CreatedBy string
	// NeedsOwner refuses the key as long as no owner's key exists, unless it is one: the first key ends the access
	// of anonymous callers, and with another one nobody could make the next. For callers who are in without a key.
	NeedsOwner bool
}

// longestName bounds a key's name in bytes.
const longestName = 200

// Create makes a key and stores it; text is what its holder gets, once. Errors:
// *thread.InvalidInputError and the store's.
func Create(ctx context.Context, store thread.Keys, r Request) (k thread.Key, text string, err error) {
	p, text := New()
	if k, err = r.key(p); err != nil {
		return thread.Key{}, "", err
	}
	if r.NeedsOwner && !owns(k) {
		err = hasOwner(ctx, store)
	}
	if err != nil {
		return thread.Key{}, "", err
	}
	if err = store.CreateKey(ctx, k, created(ctx, k)); err != nil {
		return thread.Key{}, "", err
	}
	k, err = store.GetKey(ctx, k.ID) // with the store's time
	return k, text, err
}

func owns(k thread.Key) bool { return slices.Contains(k.Roles, auth.RoleOwner) && !k.Agent }

// hasOwner fails when there is no owner's key that still works.
func hasOwner(ctx context.Context, store thread.Keys) error {
	list, err := store.ListKeys(ctx, "")
	if err != nil {
		return err
	}
	for _, k := range list {
		if !Internal(k) && owns(k) && k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(time.Now())) {
			return nil
		}
	}
	return &thread.InvalidInputError{Path: []string{"roles"}, Message: "the first key has to be an owner's: it ends the access of callers without one, and with any other nobody could make the next"}
}

// key checks the request.
func (r Request) key(p Presented) (thread.Key, error) {
	invalid := func(field, message string) (thread.Key, error) {
		return thread.Key{}, &thread.InvalidInputError{Path: []string{field}, Message: message}
	}
	if r.Project == "" {
		r.Project = thread.DefaultProject
	}
	const name = " is named by 1 to 63 letters, digits, _ and -"
	switch {
	case !thread.ValidScope(r.Project):
		return invalid("project", "a project"+name)
	case r.Workspace != "" && !thread.ValidScope(r.Workspace):
		return invalid("workspace", "a workspace"+name)
	case len(r.Name) > longestName || !printable(r.Name):
		return invalid("name", fmt.Sprintf("a name is at most %d bytes of visible text in one line", longestName))
	case r.Name == auth.Anonymous:
		return invalid("name", "nobody with a key is "+auth.Anonymous)
	case len(r.Roles) == 0:
		return invalid("roles", "a key needs a role")
	case !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(time.Now()):
		return invalid("expires_at", "the key would have expired already")
	}
	roles, err := auth.ParseRoles(r.Roles...)
	if err != nil {
		return invalid("roles", err.Error())
	}
	return thread.Key{
		ID: p.ID, Project: r.Project, Workspace: r.Workspace, Name: r.Name, Hash: p.Hash(), Roles: roles,
		Agent: r.Agent, CreatedBy: r.CreatedBy, ExpiresAt: r.ExpiresAt.UTC().Truncate(time.Microsecond),
	}, nil
}

// printable reports whether a text is one line that shows all of itself, so that no two names look the same for
// what can't be seen in them, and none acts on a terminal.
func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

// ErrRevoked is returned for a key that shall exist and was revoked; it stays so.
var ErrRevoked = errors.New("keys: revoked")

// Bootstrap makes an owner's key of the default project of a text that New has made, if the
// store doesn't have it yet. It fails on a text that is no key, and on another key of its id;
// ErrRevoked is for the log alone.
func Bootstrap(ctx context.Context, store thread.Keys, text string) error {
	p, err := Parse(text)
	if err != nil {
		return err
	}
	k := thread.Key{
		ID: p.ID, Project: thread.DefaultProject, Name: bootstrapName, Hash: p.Hash(), Roles: auth.Roles{auth.RoleOwner}, CreatedBy: "environment",
	}
	err = store.CreateKey(ctx, k, created(ctx, k))
	if !errors.Is(err, thread.ErrExists) {
		return err
	}
	old, err := store.GetKey(ctx, p.ID)
	switch {
	case err != nil:
		return err
	case !p.Matches(old.Hash):
		return fmt.Errorf("another key has the id %s", p.ID)
	case !old.RevokedAt.IsZero():
		return fmt.Errorf("key %s: %w", p.ID, ErrRevoked)
	}
	return nil
}

const bootstrapName = "bootstrap"

// Revoke ends a key of a project; *thread.NotFoundError for one of another project.
func Revoke(ctx context.Context, store thread.Keys, project, id string) (thread.Key, error) {
	k, err := store.GetKey(ctx, id)
	if err != nil {
		return k, err
	}
	if k.Project != project || Internal(k) {
		return thread.Key{}, &thread.NotFoundError{Kind: "key", ID: id}
	}
	return store.RevokeKey(ctx, id, thread.AuditBody{Action: thread.AuditKeyRevoked, Actor: thread.ActorFrom(ctx), Detail: k.Public()})
}

func created(ctx context.Context, k thread.Key) thread.AuditBody {
	return thread.AuditBody{Action: thread.AuditKeyCreated, Actor: thread.ActorFrom(ctx), Detail: k.Public()}
}

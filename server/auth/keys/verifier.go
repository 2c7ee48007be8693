package keys

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight" // requests that miss at once share one look into the store

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// Defaults of Options.
const (
	DefaultTTL  = 5 * time.Second
	DefaultSize = 4096
)

// Options configure a Verifier.
type Options struct {
	// Store holds the keys. Required.
	Store thread.Keys
	// TTL is how long what was read is believed: a revocation elsewhere takes effect
	// within it. Default: DefaultTTL, which is also the most.
	TTL time.Duration
	// Size is how many keys are remembered. Default: DefaultSize.
	Size int
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// Verifier checks API keys. What it reads it remembers for a while, also that there
// is no such key, so that requests cost no look into the store.
type Verifier struct {
	o       Options
	reading singleflight.Group

	mu    sync.Mutex
	known map[string]entry
	any   anyKey
}

// entry is what the store said of a key's id.
type entry struct {
	key   thread.Key
	there bool
	read  time.Time
}

// anyKey is whether the store has keys; once it has, it always does.
type anyKey struct {
	there bool
	read  time.Time
}

// NewVerifier returns a verifier.
func NewVerifier(o Options) *Verifier {
	if o.TTL <= 0 || o.TTL > DefaultTTL {
		o.TTL = DefaultTTL
	}
	if o.Size <= 0 {
		o.Size = DefaultSize
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Verifier{o: o, known: map[string]entry{}}
}

// Refusals, all 401: who has no valid key isn't told more than they can use.
var (
	errUnknown = &auth.Error{Status: 401, Message: "Invalid API key", Code: "invalid_key", Header: auth.Challenge("invalid_token")}
	errEnded   = &auth.Error{Status: 401, Message: "The API key has expired or was revoked", Code: "key_ended", Header: auth.Challenge("invalid_token")}
)

// User checks a key. An *auth.Error refuses it; any other error is the store's.
func (v *Verifier) User(ctx context.Context, text string) (*auth.User, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, errUnknown
	}
	e, err := v.find(ctx, p.ID, v.o.TTL)
	if err != nil {
		return nil, err
	}
	if !p.Matches(e.key.Hash) || Internal(e.key) { // an unknown key's hash is "", which nothing matches
		return nil, errUnknown
	}
	return v.user(e.key)
}

// UserOf is the user of a key by its id, whose holder has shown the key before.
func (v *Verifier) UserOf(ctx context.Context, id string) (*auth.User, error) {
	return v.userOf(ctx, id, v.o.TTL)
}

func (v *Verifier) userOf(ctx context.Context, id string, age time.Duration) (*auth.User, error) {
	e, err := v.find(ctx, id, age)
	if err != nil {
		return nil, err
	}
	if !e.there || Internal(e.key) {
		return nil, errEnded
	}
	return v.user(e.key)
}

// Ended reports whether a key can't be used any more, as the store says now: whoever holds
// streams open is to lose them in time.
func (v *Verifier) Ended(ctx context.Context, id string) (bool, error) {
	_, err := v.userOf(ctx, id, 0)
	var refused *auth.Error
	if errors.As(err, &refused) {
		return true, nil
	}
	return false, err
}

func (v *Verifier) user(k thread.Key) (*auth.User, error) {
	if !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && !v.o.Now().Before(k.ExpiresAt) {
		return nil, errEnded
	}
	return &auth.User{
		Identity: Principal(k), DisplayName: Principal(k), Kind: auth.KindKey, Project: k.Project, Workspace: k.Workspace,
		Roles: k.Roles, Agent: k.Agent, KeyID: k.ID, Expires: k.ExpiresAt,
	}, nil
}

// Principal is who the holder of a key is: the key's name, or the key itself.
func Principal(k thread.Key) string {
	if k.Name != "" {
		return k.Name
	}
	return "key:" + k.ID
}

// Any reports whether the store has keys, revoked ones included: from then on
// everybody has to say who they are.
func (v *Verifier) Any(ctx context.Context) (bool, error) { return v.anyKey(ctx, v.o.TTL) }

// AnyNow is Any as the store says now.
func (v *Verifier) AnyNow(ctx context.Context) (bool, error) { return v.anyKey(ctx, 0) }

func (v *Verifier) anyKey(ctx context.Context, age time.Duration) (bool, error) {
	now := v.o.Now()
	v.mu.Lock()
	a := v.any
	v.mu.Unlock()
	if a.there || !a.read.IsZero() && now.Sub(a.read) < age {
		return a.there, nil
	}
	there, err, _ := v.reading.Do("", func() (any, error) {
		list, err := v.o.Store.ListKeys(ctx, "")
		for _, k := range list {
			if !Internal(k) {
				return true, err
			}
		}
		return false, err
	})
	if err != nil {
		return false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.any = anyKey{there.(bool) || v.any.there, now}
	return v.any.there, nil
}

// find reads a key by its id, unless that was done less than age ago.
func (v *Verifier) find(ctx context.Context, id string, age time.Duration) (entry, error) {
	now := v.o.Now()
	v.mu.Lock()
	e, ok := v.known[id]
	v.mu.Unlock()
	if ok && now.Sub(e.read) < age {
		return e, nil
	}
	got, err, _ := v.reading.Do(id, func() (any, error) {
		k, err := v.o.Store.GetKey(context.WithoutCancel(ctx), id) // others wait for it, too
		if err != nil && !errors.Is(err, thread.ErrNotFound) {
			return entry{}, err
		}
		e := entry{k, err == nil, now}
		v.remember(id, e)
		return e, nil
	})
	if err != nil {
		return entry{}, err
	}
	return got.(entry), nil
}

// remember keeps what was read; when there is no room, what is old goes first, then anything.
func (v *Verifier) remember(id string, e entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= v.o.Size {
		for other, old := range v.known {
			if e.read.Sub(old.read) >= v.o.TTL {
				delete(v.known, other)
			}
		}
		for other := range v.known {
			if len(v.known) < v.o.Size {
				break
			}
			delete(v.known, other)
		}
	}
	v.known[id] = e
}

// Forget has everything read anew, after a change made here.
func (v *Verifier) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.known)
	v.any.read = time.Time{}
}

// InternalProject holds records of the server itself; no one can have a project of that name.
const InternalProject = "~parley"

// Internal reports whether a record among the keys is the server's own and opens nothing.
func Internal(k thread.Key) bool { return strings.HasPrefix(k.Project, "~") || thread.IsRecord(k) }

package keys_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// counted is a store that counts reads, and can be away.
type counted struct {
	thread.Keys
	reads atomic.Int64
	away  atomic.Bool
}

func (c *counted) GetKey(ctx context.Context, id string) (thread.Key, error) {
	c.reads.Add(1)
	if c.away.Load() {
		return thread.Key{}, thread.ErrUnavailable
	}
	return c.Keys.GetKey(ctx, id)
}

func (c *counted) ListKeys(ctx context.Context, project string) ([]thread.Key, error) {
	c.reads.Add(1)
	if c.away.Load() {
		return nil, thread.ErrUnavailable
	}
	return c.Keys.ListKeys(ctx, project)
}

// bench is a verifier over a real store, with a clock of its own.
type bench struct {
	*keys.Verifier
	store *counted
	now   atomic.Int64 // nanoseconds that the clock is ahead
}

func setup(t *testing.T, o keys.Options) *bench {
	t.Helper()
	s, err := local.Open(t.Context(), local.Options{Ephemeral: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b := &bench{store: &counted{Keys: s}}
	o.Store, o.Now = b.store, func() time.Time { return time.Now().Add(time.Duration(b.now.Load())) }
	b.Verifier = keys.NewVerifier(o)
	return b
}

func (b *bench) pass(d time.Duration) { b.now.Add(int64(d)) }

func (b *bench) create(t *testing.T, r keys.Request) (thread.Key, string) {
	t.Helper()
	if r.Roles == nil {
		r.Roles = []string{auth.RoleViewer}
	}
	k, text, err := keys.Create(t.Context(), b.store, r)
	require.NoError(t, err)
	return k, text
}

// refused wants a 401 that tells how to say who one is.
func refused(t *testing.T, err error) {
	t.Helper()
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, http.StatusUnauthorized, e.Status)
	require.NotEmpty(t, e.Header.Get("Www-Authenticate"))
}

func TestAKeySaysWhoItsHolderIs(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	k, text := b.create(t, keys.Request{Project: "acme", Workspace: "w", Name: "ada", Roles: []string{"PROJECT_OWNER", "viewer"}, Agent: true, ExpiresAt: time.Now().Add(time.Hour)})
	u, err := b.User(t.Context(), text)
	require.NoError(t, err)
	require.Equal(t, &auth.User{
		Identity: "ada", DisplayName: "ada", Kind: auth.KindKey, Project: "acme", Workspace: "w", Roles: auth.Roles{"owner", "viewer"},
		Agent: true, KeyID: k.ID, Expires: k.ExpiresAt,
	}, u)
	require.Equal(t, auth.KindAgent, u.Actor().Kind)
	nameless, text := b.create(t, keys.Request{})
	u, err = b.User(t.Context(), text)
	require.NoError(t, err)
	require.Equal(t, "key:"+nameless.ID, u.Identity)
	require.Equal(t, thread.DefaultProject, u.Project)
}

func TestTheStoreHasNoSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	k, text := b.create(t, keys.Request{Name: "ada"})
	secret := text[len(text)-49:]
	stored, err := b.store.Keys.GetKey(t.Context(), k.ID)
	require.NoError(t, err)
	require.NotContains(t, stored.Hash, secret)
	sealer, ok := b.store.Keys.(thread.Audit)
	require.True(t, ok)
	_, err = sealer.SealAudit(t.Context())
	require.NoError(t, err)
	chain, err := sealer.ProjectAudit(t.Context(), thread.DefaultProject, 0, 10)
	require.NoError(t, err)
	require.Len(t, chain, 1)
	require.Contains(t, string(chain[0].Body), thread.AuditKeyCreated)
	require.NotContains(t, string(chain[0].Body), secret)
	require.NotContains(t, string(chain[0].Body), stored.Hash)
}

func TestRequestsCostNoReads(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	_, text := b.create(t, keys.Request{})
	b.store.reads.Store(0)
	_, unknown := keys.New()
	for range 100 {
		_, err := b.User(t.Context(), text)
		require.NoError(t, err)
		_, err = b.User(t.Context(), unknown)
		refused(t, err)
		_, err = b.User(t.Context(), "pk_nonsense")
		refused(t, err)
		there, err := b.Any(t.Context())
		require.NoError(t, err)
		require.True(t, there)
	}
	require.EqualValues(t, 3, b.store.reads.Load(), "one of each")
}

func TestARevokedKeyIsRefusedWithinSeconds(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{TTL: time.Hour}) // more than is allowed
	k, text := b.create(t, keys.Request{Project: "acme"})
	_, err := b.User(t.Context(), text)
	require.NoError(t, err)
	_, err = keys.Revoke(t.Context(), b.store, "acme", k.ID)
	require.NoError(t, err)
	b.pass(keys.DefaultTTL)
	_, err = b.User(t.Context(), text)
	refused(t, err)
	over, err := b.Ended(t.Context(), k.ID)
	require.NoError(t, err)
	require.True(t, over)

	k, text = b.create(t, keys.Request{Project: "acme"})
	_, err = b.User(t.Context(), text)
	require.NoError(t, err)
	_, err = keys.Revoke(t.Context(), b.store, "acme", k.ID)
	require.NoError(t, err)
	over, err = b.Ended(t.Context(), k.ID)
	require.NoError(t, err)
	require.True(t, over, "of streams the store is asked")

	k, text = b.create(t, keys.Request{Project: "acme"})
	_, err = b.User(t.Context(), text)
	require.NoError(t, err)
	_, err = keys.Revoke(t.Context(), b.store, "acme", k.ID)
	require.NoError(t, err)
	b.Forget()
	_, err = b.User(t.Context(), text)
	refused(t, err)
}

func TestAnExpiredKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	k, text := b.create(t, keys.Request{ExpiresAt: time.Now().Add(2 * time.Second)})
	_, err := b.User(t.Context(), text)
	require.NoError(t, err)
	b.pass(2 * time.Second)
	_, err = b.User(t.Context(), text)
	refused(t, err)
	over, err := b.Ended(t.Context(), k.ID)
	require.NoError(t, err)
	require.True(t, over)
}

func TestAStoreThatIsAwayRefusesNobody(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	k, text := b.create(t, keys.Request{})
	b.store.away.Store(true)
	_, err := b.User(t.Context(), text)
	require.ErrorIs(t, err, thread.ErrUnavailable)
	_, err = b.Any(t.Context())
	require.ErrorIs(t, err, thread.ErrUnavailable)
	over, err := b.Ended(t.Context(), k.ID)
	require.ErrorIs(t, err, thread.ErrUnavailable)
	require.False(t, over, "its streams stay")
	b.store.away.Store(false)
	_, err = b.User(t.Context(), text)
	require.NoError(t, err, "what failed isn't remembered")
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{Size: 10})
	_, text := b.create(t, keys.Request{})
	for range 100 {
		_, unknown := keys.New()
		_, err := b.User(t.Context(), unknown)
		refused(t, err)
	}
	require.LessOrEqual(t, keys.Remembered(b.Verifier), 10)
	_, err := b.User(t.Context(), text)
	require.NoError(t, err)
}

func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	for field, r := range map[string]keys.Request{
		"project":    {Project: "~parley", Roles: []string{"owner"}},
		"workspace":  {Workspace: "a b", Roles: []string{"owner"}},
		"name":       {Name: "two\nlines", Roles: []string{"owner"}},
		"roles":      {Roles: []string{"admin"}},
		"expires_at": {Roles: []string{"owner"}, ExpiresAt: time.Now().Add(-time.Second)},
	} {
		_, _, err := keys.Create(t.Context(), b.store, r)
		var invalid *thread.InvalidInputError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, []string{field}, invalid.Path)
	}
	unseen := []keys.Request{}
	for _, name := range []string{"ada ", " ada", "ada\u200b", "ada\u202e", "ada\u009b2J", "ada\u00a0"} { // who looks like another, or acts on a terminal
		unseen = append(unseen, keys.Request{Name: name, Roles: []string{"owner"}})
	}
	for _, r := range append(unseen, keys.Request{}, keys.Request{Name: auth.Anonymous, Roles: []string{"owner"}}, keys.Request{Name: strings.Repeat("x", 201), Roles: []string{"owner"}}) {
		_, _, err := keys.Create(t.Context(), b.store, r)
		require.Error(t, err)
	}
	there, err := b.Any(t.Context())
	require.NoError(t, err)
	require.False(t, there)
}

func TestAKeyIsRevokedInItsOwnProjectOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	k, text := b.create(t, keys.Request{Project: "acme"})
	_, err := keys.Revoke(t.Context(), b.store, "other", k.ID)
	require.ErrorIs(t, err, thread.ErrNotFound)
	_, err = keys.Revoke(t.Context(), b.store, "acme", "nope")
	require.ErrorIs(t, err, thread.ErrNotFound)
	_, err = b.User(t.Context(), text)
	require.NoError(t, err)
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	p, text := keys.New()
	require.ErrorIs(t, keys.Bootstrap(t.Context(), b.store, "change-me"), keys.ErrFormat)
	for range 2 { // each replica does it, at each start
		require.NoError(t, keys.Bootstrap(t.Context(), b.store, text))
	}
	u, err := b.User(t.Context(), text)
	require.NoError(t, err)
	require.True(t, u.Roles.Has(auth.RoleOwner))
	require.Equal(t, thread.DefaultProject, u.Project)
	list, err := b.store.ListKeys(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = keys.Revoke(t.Context(), b.store, thread.DefaultProject, p.ID)
	require.NoError(t, err)
	require.ErrorIs(t, keys.Bootstrap(t.Context(), b.store, text), keys.ErrRevoked, "a start doesn't undo that")
}

// Records of the server's own among the keys open nothing, whatever is presented.
func TestTheServersOwnRecordsOpenNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, keys.Options{})
	p, text := keys.New()
	own := thread.Key{ID: p.ID, Project: keys.InternalProject, Hash: p.Hash(), Roles: []string{"owner"}}
	require.NoError(t, b.store.CreateKey(t.Context(), own, thread.AuditBody{Action: thread.AuditKeyCreated}))
	_, err := b.User(t.Context(), text)
	refused(t, err)
	_, err = b.UserOf(t.Context(), p.ID)
	refused(t, err)
	_, err = keys.Revoke(t.Context(), b.store, keys.InternalProject, p.ID)
	require.ErrorIs(t, err, thread.ErrNotFound)
	there, err := b.Any(t.Context())
	require.NoError(t, err)
	require.False(t, there)
}

package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func TestAReopenedStoreHasWhatWasStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	want := thread.Thread{ID: "x", Metadata: thread.Metadata{"a": json.RawMessage("1")}}
	require.NoError(t, s.CreateThread(t.Context(), want))
	admitted, err := s.AdmitRun(t.Context(), thread.Admission{Run: thread.Run{ID: "r", ThreadID: "x"}, Claim: &thread.Claim{Worker: "w", Lease: time.Hour}})
	require.NoError(t, err)
	require.NotNil(t, admitted.Lease)
	require.NoError(t, s.Close())
	s, err = Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	got, err := s.GetThread(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, want.Metadata, got.Metadata)
	run, lease, ok, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w"})
	require.NoError(t, err)
	require.True(t, ok, "the owner of the lease is gone with its process")
	require.Equal(t, 2, run.Attempt)
	require.Greater(t, lease.NextPos, admitted.Lease.PosReserved)
	list, total, err := s.SearchThreads(t.Context(), thread.ThreadQuery{Metadata: want.Metadata})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Len(t, list, 1)
}

func TestDataOfALaterVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	c, err := openConn(filepath.Join(dir, File), false)
	require.NoError(t, err)
	require.NoError(t, c.run("PRAGMA user_version=1000"))
	c.close()
	_, err = Open(t.Context(), Options{Dir: dir})
	require.ErrorContains(t, err, "1000")
	_, err = Open(t.Context(), Options{Dir: dir})
	require.ErrorContains(t, err, "1000", "a failed start gives the directory back")
}

func TestMigrationsRunOnceAndWhole(t *testing.T) {
	t.Parallel()
	c, err := openConn(":memory:", false)
	require.NoError(t, err)
	defer c.close()
	steps := []string{"CREATE TABLE a(x);", "CREATE TABLE b(x); INSERT INTO nowhere VALUES(1);"}
	require.Error(t, migrateBy(c, steps))
	version := func() (v int64) {
		_, err := c.one(func(r *rows) { v = r.int(0) }, "PRAGMA user_version")
		require.NoError(t, err)
		return v
	}
	require.EqualValues(t, 1, version())
	_, err = c.exec("SELECT 1 FROM b")
	require.Error(t, err, "half a migration is none")
	steps[1] = "CREATE TABLE b(x);"
	require.NoError(t, migrateBy(c, steps))
	require.NoError(t, migrateBy(c, steps))
	require.EqualValues(t, 2, version())
}

func TestAnEphemeralStoreLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Ephemeral: true})
	require.NoError(t, err)
	require.NoError(t, s.CreateThread(t.Context(), thread.Thread{ID: "x"}))
	require.NoError(t, s.Close())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestTimeIsTheStoresClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := Open(t.Context(), Options{Ephemeral: true, Clock: func() time.Time { return now }})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.AdmitRun(t.Context(), thread.Admission{CreateThread: &thread.Thread{ID: "x"}, Run: thread.Run{ID: "r", ThreadID: "x", NotBefore: now.Add(time.Hour)}})
	require.NoError(t, err)
	claim := func() bool {
		_, _, ok, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w", Lease: time.Minute, MaxAttempts: 9})
		require.NoError(t, err)
		return ok
	}
	require.False(t, claim())
	now = now.Add(time.Hour)
	require.True(t, claim())
	require.False(t, claim())
	now = now.Add(time.Minute)
	require.True(t, claim(), "the lease ran out")
	got, err := s.GetThread(t.Context(), "x")
	require.NoError(t, err)
	require.True(t, got.CreatedAt.Equal(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)))
}

func TestReadsStartTTLsOfItemsAnew(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := Open(t.Context(), Options{Ephemeral: true, Clock: func() time.Time { return now }})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ns := []string{"n"}
	for _, key := range []string{"got", "found", "listed", "unread"} {
		require.NoError(t, s.PutItem(t.Context(), agent.Item{Namespace: []string{"n", key}, Key: key, Value: json.RawMessage("{}")}, time.Minute))
	}
	keys := func(refresh bool, ns ...string) (keys []string) {
		list, err := s.SearchItems(t.Context(), thread.ItemQuery{Prefix: ns, Refresh: refresh})
		require.NoError(t, err)
		for _, it := range list {
			keys = append(keys, it.Key)
		}
		return keys
	}
	now = now.Add(40 * time.Second)
	require.NoError(t, s.RefreshItem(t.Context(), []string{"n", "got"}, "got"))
	require.Equal(t, []string{"found"}, keys(true, "n", "found"))
	require.Equal(t, []string{"listed"}, keys(false, "n", "listed"))
	now = now.Add(40 * time.Second)
	require.ElementsMatch(t, []string{"got", "found"}, keys(false, ns...))
	now = now.Add(20 * time.Second)
	require.Empty(t, keys(false, ns...))
	_, err = s.ExpireLogs(t.Context(), now, 10)
	require.NoError(t, err)
	require.NoError(t, s.read(t.Context(), func(c *conn) error {
		left := int64(-1)
		_, err := c.one(func(r *rows) { left = r.int(0) }, `SELECT count(*) FROM items`)
		require.Zero(t, left, "retention removes what nobody can see")
		return err
	}))
}

func TestItemsOfTheFirstSchemaKeepTheirTTL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := openConn(filepath.Join(dir, File), false)
	require.NoError(t, err)
	require.NoError(t, migrateBy(c, migrations[:1]))
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	hour := time.Hour.Microseconds()
	for key, expires := range map[string]int64{"hour": micros(now) + hour, "ever": 0} {
		_, err := c.exec(`INSERT INTO items(namespace, key, value, created, updated, expires) VALUES('n',?,'{}',1,?,?)`, key, micros(now), expires)
		require.NoError(t, err)
	}
	c.close()
	s, err := Open(t.Context(), Options{Dir: dir, Clock: func() time.Time { return now }})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for key, want := range map[string]time.Duration{"hour": time.Hour, "ever": 0} {
		_, ttl, err := s.GetItem(t.Context(), []string{"n"}, key)
		require.NoError(t, err)
		require.Equal(t, want, ttl, key)
	}
}

func TestOpenNeedsADirectory(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{})
	require.Error(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(t.Context(), Options{Dir: file})
	require.Error(t, err)
}

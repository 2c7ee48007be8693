package deploytest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis/redistest"
)

// parley runs a command of the program to its end.
func parley(t *testing.T, args ...string) (says string, ok bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput() //nolint:gosec // ours
	return string(out), err == nil
}

// serving starts a server of the benchmark's agents that ends with the test.
func serving(t *testing.T, env ...string) (*replica, client) {
	t.Helper()
	r := &replica{t: t, port: freePort(t), env: append([]string{"PARLEY_AGENTS=bench"}, env...)}
	r.start()
	r.ready()
	return r, client{t: t, url: r.url()}
}

// TestSuspendedThreadMovesToRedis: a question that was asked on the embedded store is
// answered on Redis, under the same id; the way leads over the commands of docs/operations.md.
func TestSuspendedThreadMovesToRedis(t *testing.T) {
	t.Parallel()
	dir, backup := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "parley.dump")
	local, c := serving(t, "PARLEY_DATA="+dir)
	thread := c.thread()
	c.ok(http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"approval","input":{"messages":[{"role":"user","content":"tokens=2"}]}}`)
	asked := c.ok(http.MethodGet, "/threads/"+thread, "")["interrupts"]
	f := c.follow(thread)
	f.until(0, "input.requested", "May I run transfer?")
	last := f.last()

	url := redistest.Start(t, "--appendonly", "yes").URL()
	migrate := []string{"migrate", "--from", "local:" + dir, "--to", url}
	says, ok := parley(t, migrate...)
	require.False(t, ok, "the server still runs")
	require.Contains(t, says, "in use")
	local.stop()
	says, ok = parley(t, migrate...)
	require.True(t, ok, says)
	require.Contains(t, says, "1 threads, 1 runs")
	says, ok = parley(t, migrate...)
	require.False(t, ok)
	require.Contains(t, says, "not empty")

	remote, moved := serving(t, "PARLEY_REDIS="+url)
	require.Equal(t, asked, moved.ok(http.MethodGet, "/threads/"+thread, "")["interrupts"])
	g := moved.follow(thread)
	g.until(0, "input.requested", "May I run transfer?")
	require.Equal(t, list(f.all()), list(g.all()), "the same events under the same numbers")
	moved.ok(http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"approval","command":{"resume":{"decisions":[{"type":"approve"}]}}}`)
	g.until(0, "lifecycle", `"completed"`)
	require.Equal(t, last+1, g.all()[len(f.all())].Seq, "the numbers of events go on")
	g.whole()

	says, ok = parley(t, "backup", backup, "--redis", url)
	require.False(t, ok)
	require.Contains(t, says, "servers are connected")
	remote.stop()
	says, ok = parley(t, "backup", backup, "--redis", url)
	require.True(t, ok, says)
	info, err := os.Stat(backup)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it has everything that people wrote")
	back := filepath.Join(t.TempDir(), "back")
	says, ok = parley(t, "restore", backup, "--data", back)
	require.True(t, ok, says)
	_, restored := serving(t, "PARLEY_DATA="+back)
	state := restored.ok(http.MethodGet, "/threads/"+thread+"/state", "")
	require.Len(t, state["values"].(map[string]any)["messages"], 4)
	require.Empty(t, state["next"])
}

// TestPlacesThatAreNone: mistakes are told, and leave nothing behind.
func TestPlacesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"no data":       {[]string{"migrate", "--from", "local:" + filepath.Join(dir, "none"), "--to", "file:" + filepath.Join(dir, "x")}, "no data in"},
		"which Redis":   {[]string{"migrate", "--from", "redis", "--to", "local:" + filepath.Join(dir, "to")}, "--redis URL"},
		"unknown place": {[]string{"migrate", "--from", "postgres", "--to", "local"}, "unknown place"},
		"no password":   {[]string{"migrate", "--from", "redis://u:secret@127.0.0.1:1", "--to", "local:" + filepath.Join(dir, "to")}, "redis://…@127.0.0.1:1"},
		"no dump":       {[]string{"restore", filepath.Join(dir, "missing")}, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says, ok := parley(t, tt.args...)
			require.False(t, ok)
			require.Contains(t, says, tt.says)
			require.NotContains(t, says, "secret")
		})
	}
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

package executions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

const crmToken = "tok-4711-never-stored"

// sealed is the body of an invocation with a sealed context.
func sealed(agent, message string) string {
	b, err := json.Marshal(map[string]any{"agent": agent, "message": message, "sealed_context": map[string]string{"Crm-Token": crmToken}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func ring(t *testing.T, keys ...byte) *thread.Keyring {
	t.Helper()
	var all [][]byte
	for _, b := range keys {
		all = append(all, bytes.Repeat([]byte{b}, thread.KeyBytes))
	}
	k, err := thread.NewKeyring(all...)
	require.NoError(t, err)
	return k
}

// D-75: named values outlive a suspension, encrypted; the agent reads them as headers, in every process, and nobody else ever does.
func TestASealedContextReachesTheAgentAndNobodyElse(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		o := c.with("X-Session-ID", "s").post(invokePath, sealed("vault", "x")).ok()
		require.Equal(t, "suspended", o["status"])
		id := o.text("execution_id")
		require.Equal(t, 1, w.effects.count("before "+crmToken))
		c.at(1).resume(id, `{"decision":"approve"}`).ok()
		e := c.becomes(id, "completed")
		require.Equal(t, 1, w.effects.count("after "+crmToken))

		threadID := e.text("thread_id")
		for _, path := range []string{
			c.base + "/executions/" + id, c.base + "/executions", c.base + "/sessions/s/runs", c.base + "/reviews", c.base + "/audit", c.base + "/audit/export",
			"/threads/" + threadID, "/threads/" + threadID + "/state", "/threads/" + threadID + "/history", "/threads/" + threadID + "/runs",
			"/threads/" + threadID + "/runs/" + id, "/threads/" + threadID + "/runs/" + id + "/stream", "/metrics",
		} {
			body := c.do(http.MethodGet, path, "").is(http.StatusOK).body
			require.NotContains(t, body, crmToken, path)
			require.NotContains(t, strings.ToLower(body), "crm-token", path)
			require.NotContains(t, body, "sealed_context", path)
		}
		with := c.with("X-Parley-Custom-Crm-Token", "of the request").post(invokePath, sealed("vault", "x")).ok()
		require.Equal(t, 1, w.effects.count("before of the request"), "a header wins")
		c.resume(with.text("execution_id"), `{"decision":"approve"}`).ok()
		c.becomes(with.text("execution_id"), "completed")
		require.Equal(t, 2, w.effects.count("after "+crmToken))
		for _, post := range []string{streamPath, "/executions?workspace_id=default"} {
			body := c.post(post, sealed("vault", "x")).body
			require.NotContains(t, body, crmToken)
		}
	}, func(o *server.Options) { o.ContextKeys = ring(t, 1) })
}

func TestASealedContextThatCantBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	without := local(t).anybody()
	for _, path := range []string{invokePath, streamPath, "/executions?workspace_id=default"} {
		o := without.post(path, sealed("vault", "x")).field("INVALID_ATTRIBUTE", "sealed_context")
		require.Contains(t, o["detail"], "--context-key-file")
	}
	require.Equal(t, "suspended", without.post(invokePath, `{"agent":"vault","message":"x","sealed_context":{}}`).ok()["status"])
	c := local(t, func(o *server.Options) { o.ContextKeys = ring(t, 1) }).anybody()
	for body, field := range map[string]string{
		`7`: "sealed_context", `["a"]`: "sealed_context", `{"a":7}`: "sealed_context.a", `{"a":null}`: "sealed_context.a", `{"a b":"x"}`: "sealed_context",
		`{"a":"x","A":"y"}`: "sealed_context.a",
	} {
		c.post(invokePath, `{"agent":"vault","message":"x","sealed_context":`+body+`}`).field("INVALID_ATTRIBUTE", field)
	}
}

// A server that lacks the key answers nothing and says so; a new key takes the place of the old one step by step.
func TestKeysOfSealedContextsAreRotated(t *testing.T) {
	t.Parallel()
	dir, w := t.TempDir(), empty(t)
	serve := func(keys *thread.Keyring) *client {
		for _, stop := range w.stops {
			stop()
		}
		w.start(server.Options{DataDir: dir, ContextKeys: keys}, nil)
		return w.anybody().at(len(w.urls) - 1)
	}
	id := serve(ring(t, 1)).post(invokePath, sealed("vault", "x")).ok().text("execution_id")
	for _, wrong := range []*thread.Keyring{ring(t, 2), nil} {
		c := serve(wrong)
		o := c.resume(id, `{"decision":"approve"}`).code(http.StatusServiceUnavailable, "CONTEXT_UNREADABLE")
		require.Contains(t, o["detail"], "doesn't have the key")
		require.Equal(t, "suspended", c.execution(id)["status"])
	}
	c := serve(ring(t, 2, 1))
	c.resume(id, `{"decision":"approve"}`).ok()
	c.becomes(id, "completed")
	id = c.post(invokePath, sealed("vault", "x")).ok().text("execution_id")
	c = serve(ring(t, 2))
	c.resume(id, `{"decision":"approve"}`).ok()
	c.becomes(id, "completed")
	require.Equal(t, 2, w.effects.count("after "+crmToken))
}

// What lies on the disk, and in Redis, doesn't have the values; their execution does, as the session's name shows.
func TestASealedContextIsNowhereInTheClear(t *testing.T) {
	t.Parallel()
	const session = "session-marker-4711"
	keys := func(o *server.Options) { o.ContextKeys = ring(t, 1) }
	whole := func(t *testing.T, w *world, raw func() []byte) {
		c := w.anybody()
		id := c.with("X-Session-ID", session).post(invokePath, sealed("vault", "x")).ok().text("execution_id")
		check := func() {
			t.Helper()
			b := raw()
			require.True(t, bytes.Contains(b, []byte(session)), "the search can find something")
			require.False(t, bytes.Contains(b, []byte(crmToken)))
			require.False(t, bytes.Contains(b, []byte("Crm-Token")))
		}
		check()
		c.resume(id, `{"decision":"approve"}`).ok()
		c.becomes(id, "completed")
		require.Equal(t, 1, w.effects.count("after "+crmToken))
		check()
	}
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		dir, w := t.TempDir(), empty(t)
		w.start(server.Options{DataDir: dir}, []func(*server.Options){keys})
		whole(t, w, func() (all []byte) {
			require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				b, err := os.ReadFile(path)
				all = append(all, b...)
				return err
			}))
			return all
		})
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		if shared == nil {
			t.Skip("install redis-server (Debian: apt-get install redis-server)")
		}
		prefix, w := "test:"+uuid.NewString()[:8]+":", empty(t)
		for range 2 {
			w.start(server.Options{Redis: redis.Options{URL: shared.URL(), Prefix: prefix}}, []func(*server.Options){keys})
		}
		o, err := rds.ParseURL(shared.URL())
		require.NoError(t, err)
		client := rds.NewClient(o)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		whole(t, w, func() []byte { return everything(t, client, prefix) })
	})
}

// everything is all that Redis keeps under a prefix.
func everything(t *testing.T, client *rds.Client, prefix string) []byte {
	t.Helper()
	ctx, all := context.Background(), []byte{}
	keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	n := 0
	for keys.Next(ctx) {
		n++
		kind, err := client.Type(ctx, keys.Val()).Result()
		require.NoError(t, err)
		var parts []string
		switch kind {
		case "string":
			var one string
			one, err = client.Get(ctx, keys.Val()).Result()
			parts = []string{one}
		case "hash":
			var fields map[string]string
			fields, err = client.HGetAll(ctx, keys.Val()).Result()
			for k, v := range fields {
				parts = append(parts, k, v)
			}
		case "zset":
			parts, err = client.ZRange(ctx, keys.Val(), 0, -1).Result()
		case "set":
			parts, err = client.SMembers(ctx, keys.Val()).Result()
		case "list":
			parts, err = client.LRange(ctx, keys.Val(), 0, -1).Result()
		case "stream":
			var entries []rds.XMessage
			entries, err = client.XRange(ctx, keys.Val(), "-", "+").Result()
			for _, e := range entries {
				for k, v := range e.Values {
					parts = append(parts, k, fmt.Sprint(v))
				}
			}
		case "none": // it is gone by now
		default:
			require.Fail(t, "a type that isn't looked into", kind)
		}
		require.NoError(t, err)
		all = append(all, strings.Join(append(parts, keys.Val()), "\n")...)
	}
	require.NoError(t, keys.Err())
	require.NotZero(t, n)
	return all
}

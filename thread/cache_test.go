package thread

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

func jsonValue(n int) agent.Value { return agent.Value{JSON: raw(strings.Repeat("1", n))} }

func TestCacheStaysWithinItsBytesAndDropsTheLeastUsed(t *testing.T) {
	t.Parallel()
	c := newCache(10_000)
	for _, key := range []string{"a", "b", "c"} {
		c.of("t").Put(key, jsonValue(3000), 3000)
	}
	_, ok := c.of("t").Get("a")
	require.True(t, ok)
	c.of("u").Put("d", jsonValue(3000), 3000)
	require.LessOrEqual(t, c.bytes, 10_000)
	for key, kept := range map[string]bool{"a": true, "b": false, "c": true} {
		_, ok := c.of("t").Get(key)
		require.Equal(t, kept, ok, key)
	}
	c.of("t").Put("huge", jsonValue(1), 6000)
	_, ok = c.of("t").Get("huge")
	require.False(t, ok, "one value doesn't push everything else out")
	c.forget("t")
	_, ok = c.of("t").Get("a")
	require.False(t, ok)
	_, ok = c.of("u").Get("d")
	require.True(t, ok)
	c.sweep(time.Now().Add(time.Minute))
	require.Zero(t, c.bytes)
	require.Empty(t, c.threads)
}

func TestCacheKeepsTheNewestCheckpointOfEachNamespace(t *testing.T) {
	t.Parallel()
	c := newCache(1 << 20).of("t")
	root, nested := checkpoint("2", "1"), checkpoint("3", "")
	nested.NS = "sub:1"
	c.keep(root)
	c.keep(nested)
	c.keep(checkpoint("1", "")) // an older one is read
	require.Same(t, root, c.checkpoint("", "2"))
	require.Same(t, nested, c.checkpoint("sub:1", "3"))
	require.Nil(t, c.checkpoint("", "1"))
	newer := checkpoint("4", "2")
	c.keep(newer)
	require.Same(t, newer, c.checkpoint("", "4"))
	require.Nil(t, c.checkpoint("", "2"))
}

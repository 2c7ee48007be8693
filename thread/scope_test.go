package thread_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/thread"
)

func TestFiltersBeyondEquality(t *testing.T) {
	t.Parallel()
	doc := thread.Metadata{"p": []byte(`"acme"`), "n": []byte(`null`), "namespace": []byte(`["a","b"]`), "theirs": []byte(`["~p","b"]`), "none": []byte(`[]`)}
	for filter, want := range map[string]bool{
		`{"p":{"$ne":"acme"}}`:                                false,
		`{"p":{"$ne":"other"}}`:                               true,
		`{"q":{"$ne":"other"}}`:                               true,
		`{"q":{"$absent":true}}`:                              true,
		`{"q":{"$absent":false}}`:                             false,
		`{"p":{"$absent":true}}`:                              false,
		`{"n":{"$absent":true}}`:                              false,
		`{"q":{"$absent":true,"$ne":1}}`:                      true,
		`{"q":{"$absent":true,"$eq":1}}`:                      false,
		`{"q":{}}`:                                            false,
		`{"$or":[{"p":"acme"},{"p":"x"}]}`:                    true,
		`{"$or":[{"p":"x"},{"q":{"$absent":true}}]}`:          true,
		`{"$or":[{"p":"x"},{"p":"y"}]}`:                       false,
		`{"$or":[]}`:                                          false,
		`{"$or":[{}]}`:                                        false,
		`{"$or":{"p":"acme"}}`:                                false,
		`{"$or":[{"p":"acme"}],"p":"x"}`:                      false,
		`{"$or":[{"$or":[{"p":"acme"}]}]}`:                    true,
		`{"namespace":{"$unscoped":true}}`:                    true,
		`{"none":{"$unscoped":true}}`:                         true,
		`{"theirs":{"$unscoped":true}}`:                       false,
		`{"p":{"$unscoped":true}}`:                            false,
		`{"namespace":{"$unscoped":false}}`:                   false,
		`{"missing":{"$unscoped":true}}`:                      false,
		`{"$or":[{"p":{"$ne":"acme"}},{"p":{"$eq":"acme"}}]}`: true,
	} {
		var f thread.Filter
		require.NoError(t, json.Unmarshal([]byte(filter), &f))
		require.Equal(t, want, f.Matches(doc), filter)
	}
}

func TestScopesAreReadAsTheyWereMarked(t *testing.T) {
	t.Parallel()
	for _, tt := range [][4]string{{"", "", "default", "default"}, {"acme", "", "acme", "default"}, {"acme", "w", "acme", "w"}} {
		p, w := thread.ScopeOf(thread.ScopeMetadata(tt[0], tt[1]))
		require.Equal(t, []string{tt[2], tt[3]}, []string{p, w})
	}
	p, w := thread.ScopeOf(thread.Metadata{"project_id": []byte(`7`), "workspace_id": []byte(`null`)})
	require.Equal(t, []string{"default", "default"}, []string{p, w})
	for name, want := range map[string]bool{
		"default": true, "a": true, "A-b_9": true, strings.Repeat("x", 63): true, strings.Repeat("x", 64): false,
		"": false, "-a": false, "~a": false, "a b": false, "a/b": false, "a.b": false, "ä": false, "a\n": false,
	} {
		require.Equal(t, want, thread.ValidScope(name), "%q", name)
	}
}

// No two workspaces' namespaces meet, whatever the namespaces are.
func TestNamespacesOfProjectsAndWorkspacesAreDisjoint(t *testing.T) {
	t.Parallel()
	label := rapid.StringMatching(`[~/a-c]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		ns := func(name string) []string {
			n := rapid.SliceOfN(label, 1, 3).Filter(func(n []string) bool { return !thread.Reserved(n) })
			return n.Draw(t, name)
		}
		scope := rapid.SampledFrom([][2]string{
			{"default", "default"}, {"default", "a"}, {"default", "b"}, {"a", "default"}, {"a", "a"}, {"a", "b"}, {"b", "default"}, {"b", "a"}, {"ab", "default"},
		})
		p, q := scope.Draw(t, "p"), scope.Draw(t, "q")
		one, two := ns("one"), ns("two")
		a, b := thread.ScopedNamespace(p[0], p[1], one), thread.ScopedNamespace(q[0], q[1], two)
		require.Equal(t, one, thread.UnscopedNamespace(p[0], p[1], a))
		if p != q {
			require.NotEqual(t, a, b)
			require.True(t, a[0] != b[0] || !thread.Reserved(a), "not even as a prefix")
		}
	})
	require.Equal(t, []string{"a"}, thread.ScopedNamespace("", "", []string{"a"}), "the default ones are as they were")
	require.Equal(t, []string{"~p", "a"}, thread.ScopedNamespace("p", "default", []string{"a"}))
	require.Equal(t, []string{"~p/w", "a"}, thread.ScopedNamespace("p", "w", []string{"a"}))
	require.Equal(t, []string{"~default/w", "a"}, thread.ScopedNamespace("", "w", []string{"a"}))
}

package mcp_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/mcp"
)

func TestNamesForTheModel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	for _, c := range []struct {
		cfg        mcp.ServerConfig
		tool, want string
	}{
		{mcp.ServerConfig{Name: "files"}, "read_file", "files_read_file"},
		{mcp.ServerConfig{Name: "files"}, "read/file.txt é", "files_read_file_txt__"},
		{mcp.ServerConfig{Name: "files", Prefix: "f"}, "read-file", "f_read-file"},
		{mcp.ServerConfig{Name: "files", NoPrefix: true}, "read_file", "read_file"},
		{mcp.ServerConfig{Name: "files"}, long, "files_" + strings.Repeat("x", 49) + "_308f5acd"},
	} {
		require.Equal(t, c.want, c.cfg.ToolName(c.tool))
	}
}

func TestEveryNameIsOneThatProvidersAccept(t *testing.T) {
	t.Parallel()
	ok := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		cfg := mcp.ServerConfig{Name: rapid.StringMatching(`[a-zA-Z0-9_-]{1,80}`).Draw(t, "server")}
		one, other := rapid.StringN(1, 100, -1).Draw(t, "tool"), rapid.StringMatching(`[a-zA-Z0-9_-]{1,100}`).Draw(t, "other")
		require.Regexp(t, ok, cfg.ToolName(one))
		if regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(one) && one != other {
			require.NotEqual(t, cfg.ToolName(one), cfg.ToolName(other), "safe names stay apart, however long")
		}
	})
}

func TestConfigurationsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]mcp.ServerConfig{
		"needs a name":                    {Command: "x"},
		"made of letters":                 {Name: "a.b", Command: "x"},
		"needs a command or a url":        {Name: "a"},
		"and not both":                    {Name: "a", Command: "x", URL: "http://x"},
		"belong to a command":             {Name: "a", URL: "http://x", Dir: "/"},
		"headers belong":                  {Name: "a", Command: "x", Headers: map[string]string{"a": "b"}},
		"neither":                         {Name: "a", Command: "x", OnDown: "panic"},
		"exclude each other":              {Name: "a", Command: "x", Prefix: "p", NoPrefix: true},
		"can't be negative":               {Name: "a", Command: "x", MaxText: -1},
		"is no http or https address":     {Name: "a", URL: "ftp://user:secret-secret@x"},
		`server "a": the url is no http `: {Name: "a", URL: "::"},
	} {
		_, err := mcp.Connect(t.Context(), cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret-secret")
	}
}

func TestReferencesToTools(t *testing.T) {
	t.Parallel()
	one, other := child(t, "tools"), child(t, "tools")
	one.Name, other.Name, other.Allow = "one", "other", []string{"echo", "fail"}
	set, err := mcp.ConnectAll(t.Context(), one, other)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	for refs, want := range map[string]string{
		"one.echo":                       "one_echo",
		"other.*":                        "other_echo other_fail",
		"other":                          "other_echo other_fail",
		"other.fail one.echo other.echo": "other_fail one_echo other_echo",
		"other.fail other.* other.fail":  "other_fail other_echo",
	} {
		tools, err := set.Tools(strings.Fields(refs)...)
		require.NoError(t, err)
		var got []string
		for _, found := range tools {
			got = append(got, found.Definition().Name)
		}
		require.Equal(t, want, strings.Join(got, " "), refs)
	}
	_, err = set.Tools("none.x")
	require.ErrorContains(t, err, `there is no server "none"`)
	_, err = set.Tools("other.big")
	require.EqualError(t, err, `mcp: server "other" offers no tool "big", only echo, fail`)
}

func TestNamesThatCollideAcrossServersAreRefused(t *testing.T) {
	t.Parallel()
	one, other := child(t, "tools"), child(t, "tools")
	one.Name, one.NoPrefix, other.Name, other.NoPrefix = "one", true, "other", true
	set, err := mcp.ConnectAll(t.Context(), one, other)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	_, err = set.Tools("one.echo", "other.echo")
	require.EqualError(t, err, `mcp: one.echo and other.echo would both be named "echo" to the model: give one of their servers another prefix, or deny one of them`)
	_, err = set.Tools("one.echo", "other.fail")
	require.NoError(t, err)
}

func TestOneServerThatIsDownEndsAll(t *testing.T) {
	t.Parallel()
	good, bad, worse := child(t, "tools"), child(t, "exit"), child(t, "exit")
	bad.Name, worse.Name = "bad", "worse"
	_, err := mcp.ConnectAll(t.Context(), good, bad, worse)
	require.ErrorContains(t, err, `server "bad" is down`)
	require.ErrorContains(t, err, `server "worse" is down`)
	_, err = mcp.ConnectAll(t.Context(), good, good)
	require.ErrorContains(t, err, `two servers are named "srv"`)
}

func TestAnAgentHasTheToolsThatThereAre(t *testing.T) {
	t.Parallel()
	set, err := mcp.ConnectAll(t.Context(), child(t, "tools"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	var built [][]string
	a := set.Agent("desk", func(tools []tool.Tool) (*agent.Graph, error) {
		var all []string
		for _, found := range tools {
			all = append(all, found.Definition().Name)
		}
		built = append(built, all)
		return agent.NewGraph[desk]("desk").Node("n", func(agent.Context, desk) (agent.Update, error) { return nil, nil }).Edge(agent.Start, "n").Compile()
	}, "srv.fail", "srv.echo")
	require.Equal(t, "desk", a.Name())
	first, err := a.Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	again, err := a.Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	require.Same(t, first, again, "nothing has changed")
	s, _ := set.Server("srv")
	require.Equal(t, "grown", call(t, s, "srv_grow", `{}`).Text()) // takes "fail" away
	require.Eventually(t, func() bool {
		g, err := a.Graph(t.Context(), agent.Config{})
		require.NoError(t, err)
		return g != first && len(built[len(built)-1]) == 1
	}, patience, 5e6)
	require.Equal(t, []string{"srv_fail", "srv_echo"}, built[0])
	require.Equal(t, []string{"srv_echo"}, built[len(built)-1])

	missing := set.Agent("desk", func([]tool.Tool) (*agent.Graph, error) { return nil, errors.New("not reached") }, "srv.nothing")
	_, err = missing.Graph(context.Background(), agent.Config{})
	require.ErrorContains(t, err, `offers no tool "nothing"`)
}

func TestWhatNeedsReview(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	s := connect(t, cfg)
	for name, want := range map[string]bool{
		"srv_echo": false, "srv_die": true, "srv_die_idempotent": false, "srv_fail": true, "srv_die_reading": false,
	} {
		require.Equal(t, want, mcp.NeedsReview(toolNamed(t, s, name)), name)
	}
	policy := mcp.DefaultPolicy(s.Tools()...)
	require.NotContains(t, policy, "srv_echo")
	require.Equal(t, hitl.Rule{Decisions: hitl.All()}, policy["srv_die"])
	cfg.IgnoreAnnotations = true
	distrusted := connect(t, cfg)
	require.Len(t, mcp.DefaultPolicy(distrusted.Tools()...), len(distrusted.Tools()))
	require.Equal(t, tool.Annotations{Title: "Echo"}, tool.AnnotationsOf(toolNamed(t, distrusted, "srv_echo")))
}

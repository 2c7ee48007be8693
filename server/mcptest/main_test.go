package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a condition may take on a loaded machine.
const patience = time.Minute

// program is a file of an installed package.
func program(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join("node_modules", "@modelcontextprotocol", filepath.FromSlash(path)))
	require.NoError(t, err)
	_, missing := exec.LookPath("node")
	if _, err := os.Stat(full); err != nil || missing != nil {
		if os.Getenv("PARLEY_MCP") == "required" {
			t.Fatalf("%s isn't installed", path)
		}
		t.Skip("npm's MCP packages aren't installed: run make test-mcp (needs Node.js 20 or newer with npm)")
	}
	return full
}

func everything(t *testing.T) string { return program(t, "server-everything/dist/index.js") }

func connect(t *testing.T, cfg mcp.ServerConfig) *mcp.Server {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.ConnectTimeout = patience
	s, err := mcp.Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// node runs a server of npm's that listens on a port, until stop.
func node(t *testing.T, port int, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command("node", args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	require.NoError(t, cmd.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err == nil && conn.Close() == nil
	}, patience, 20*time.Millisecond)
	return stop
}

type desk struct {
	Messages message.List `json:"messages"`
}

// call runs one call of a tool in an agent's run; deltas are what the tool showed meanwhile.
func call(t *testing.T, s *mcp.Server, name, args string) (m message.Message, deltas []string) {
	t.Helper()
	return callIn(t.Context(), t, s, name, args)
}

func callIn(ctx context.Context, t *testing.T, s *mcp.Server, name, args string) (m message.Message, deltas []string) {
	t.Helper()
	set, err := tool.NewSet(s.Tools()...)
	require.NoError(t, err)
	g := agent.NewGraph[desk]("desk").Node("tools", func(ctx agent.Context, _ desk) (agent.Update, error) {
		return set.Run(ctx, message.NewToolCall("c1", name, json.RawMessage(args)), nil)
	}).Edge(agent.Start, "tools").MustCompile()
	th := agenttest.New(g)
	th.Clock().AutoAdvance = true
	res, err := th.Run(ctx, map[string]any{"messages": "go"})
	require.NoError(t, err)
	for _, e := range res.Events {
		if n, ok := e.Payload.(agent.ToolNote); ok && len(n.Delta) > 0 {
			deltas = append(deltas, string(n.Delta))
		}
	}
	state, err := th.State(context.WithoutCancel(ctx), "")
	require.NoError(t, err)
	m, _ = state.State.Messages()["messages"].Last()
	return m, deltas
}

func names(s *mcp.Server) []string {
	var all []string
	for _, found := range s.Tools() {
		all = append(all, found.Definition().Name)
	}
	return all
}

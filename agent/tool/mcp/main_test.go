package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// childEnv makes the test binary an MCP server of the kind that it names.
const childEnv = "PARLEY_TEST_MCP"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childEnv); kind != "" {
		os.Exit(serveChild(kind))
	}
	goleak.VerifyTestMain(m)
}

// child is the configuration of a server that this binary plays.
func child(t *testing.T, kind string) mcp.ServerConfig {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return mcp.ServerConfig{
		Name: "srv", Command: self, Env: map[string]string{childEnv: kind, "MCP_DIR": t.TempDir(), "GORACE": "atexit_sleep_ms=0"},
		Timeout: time.Minute, ConnectTimeout: time.Minute, Logger: discard(),
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logs is a logger that keeps everything.
func logs() (*slog.Logger, *syncBuffer) {
	var b syncBuffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), &b
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func connect(t *testing.T, cfg mcp.ServerConfig) *mcp.Server {
	t.Helper()
	s, err := mcp.Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// file is a file of the child's.
func file(cfg mcp.ServerConfig, name string) string { return filepath.Join(cfg.Env["MCP_DIR"], name) }

// lines are the lines of a file of the child's; none without it.
func lines(t *testing.T, cfg mcp.ServerConfig, name string) []string {
	t.Helper()
	b, err := os.ReadFile(file(cfg, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(string(b))
}

type desk struct {
	Messages message.List `json:"messages"`
}

// thread runs one call of one of the tools.
func thread(t *testing.T, tools []tool.Tool, name, args string) *agenttest.Thread {
	t.Helper()
	set, err := tool.NewSet(tools...)
	require.NoError(t, err)
	g := agent.NewGraph[desk]("desk").Node("tools", func(ctx agent.Context, _ desk) (agent.Update, error) {
		return set.Run(ctx, message.NewToolCall("c1", name, json.RawMessage(args)), nil)
	}).Edge(agent.Start, "tools").MustCompile()
	th := agenttest.New(g)
	th.Clock().AutoAdvance = true
	return th
}

// call calls a tool in a run of its own and returns the tool message.
func call(t *testing.T, s *mcp.Server, name, args string) message.Message {
	t.Helper()
	m, _ := callIn(t.Context(), t, s.Tools(), name, args)
	return m
}

func callIn(ctx context.Context, t *testing.T, tools []tool.Tool, name, args string) (message.Message, agenttest.Result) {
	t.Helper()
	th := thread(t, tools, name, args)
	res, err := th.Run(ctx, map[string]any{"messages": "go"})
	require.NoError(t, err)
	return last(t, th), res
}

// last is the newest message of a thread.
func last(t *testing.T, th *agenttest.Thread) message.Message {
	t.Helper()
	s, err := th.State(context.WithoutCancel(t.Context()), "")
	require.NoError(t, err)
	m, ok := s.State.Messages()["messages"].Last()
	require.True(t, ok)
	return m
}

func toolNamed(t *testing.T, s *mcp.Server, name string) tool.Tool {
	t.Helper()
	for _, found := range s.Tools() {
		if found.Definition().Name == name {
			return found
		}
	}
	require.Failf(t, "no such tool", "%s among %v", name, names(s))
	return nil
}

func names(s *mcp.Server) []string {
	var all []string
	for _, found := range s.Tools() {
		all = append(all, found.Definition().Name)
	}
	return all
}

package mcptest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/mcp"
	"github.com/parley-dev/parley/server"
)

// Librarian is an agent that looks after the files of a folder.
func Librarian(ctx context.Context, m model.Model, folder string) (agent.Agent, *mcp.Servers, error) {
	servers, err := mcp.ConnectAll(ctx, mcp.ServerConfig{
		Name: "files", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", folder},
	})
	if err != nil {
		return nil, nil, err
	}
	build := func(tools []tool.Tool) (*agent.Graph, error) {
		return react.New(react.Config{
			Name: "librarian", Model: m, Tools: tools,
			Review: hitl.Config{Policy: mcp.DefaultPolicy(tools...)},
		})
	}
	return servers.Agent("librarian", build, "files.read_text_file", "files.write_file"), servers, nil
}

// Remote is a server that runs elsewhere, and that isn't trusted.
func Remote() mcp.ServerConfig {
	return mcp.ServerConfig{
		Name:              "wiki",
		URL:               "https://wiki.example.com/mcp",
		Headers:           map[string]string{"Authorization": "Bearer " + os.Getenv("WIKI_TOKEN")},
		OnDown:            mcp.Degrade,
		Deny:              []string{"delete_page"},
		IgnoreAnnotations: true,
	}
}

// Offer serves an agent to MCP hosts at /mcp, beside the other routes.
func Offer(a agent.Agent) server.Options {
	return server.Options{Agents: []agent.Agent{a}, MCP: &server.MCP{}}
}

// What may destroy something waits for a person, without a word in the agent about it.
func TestTheLibrarianAsksBeforeItWrites(t *testing.T) {
	program(t, "server-filesystem/dist/index.js")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	target := filepath.Join(folder, "a.txt")
	args := func(v map[string]string) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return string(raw)
	}
	m := scripted.Script{Choose: scripted.Sequence(
		scripted.CallTool("c1", "files_write_file", args(map[string]string{"path": target, "content": "draft"})),
		scripted.CallTool("c2", "files_read_text_file", args(map[string]string{"path": target})),
		scripted.Say("Done."),
	)}
	librarian, servers, err := Librarian(t.Context(), m, folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	g, err := librarian.Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	th := agenttest.New(g)
	th.Clock().AutoAdvance = true
	res, err := th.Run(t.Context(), map[string]any{"messages": "write it"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.NoFileExists(t, target)
	_, err = th.Resume(t.Context(), map[string]any{"decisions": []any{map[string]any{"type": "approve"}}})
	require.NoError(t, err)
	written, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "draft", string(written))
	state, err := th.State(t.Context(), "")
	require.NoError(t, err)
	messages := state.State.Messages()["messages"]
	require.Equal(t, "draft", messages.At(messages.Len()-2).Text(), "reading needs no review")
	require.Equal(t, "Done.", messages.At(messages.Len()-1).Text())
}

func TestTheExamplesAreSound(t *testing.T) {
	t.Parallel()
	cfg := Remote()
	cfg.URL, cfg.Headers, cfg.Logger = "http://127.0.0.1:1/mcp", nil, slog.New(slog.DiscardHandler) // nobody is there: it starts degraded
	s, err := mcp.Connect(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	o := Offer(agents()[0])
	o.Ephemeral = true
	served, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, served.Shutdown(t.Context()))
}

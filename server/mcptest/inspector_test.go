package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
)

// inspector runs a method with npm's inspector against a server, and returns its reply.
func inspector(t *testing.T, target []string, args ...string) map[string]any {
	t.Helper()
	out, err := inspect(t, target, args...)
	require.NoError(t, err, string(out))
	var reply map[string]any
	require.NoError(t, json.Unmarshal(out, &reply), string(out))
	return reply
}

func inspect(t *testing.T, target []string, args ...string) ([]byte, error) {
	t.Helper()
	js := program(t, "inspector/clients/launcher/build/index.js")
	cmd := exec.CommandContext(t.Context(), "node", append(append([]string{js, "--cli"}, target...), args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "MCP_CATALOG_PATH="+filepath.Join(t.TempDir(), "mcp.json"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		return append(stdout.Bytes(), stderr.Bytes()...), err
	}
	return stdout.Bytes(), nil
}

// agents are an agent that answers, one that asks, and one without messages.
func agents() []agent.Agent {
	answer := func(text string) agent.Update { return agent.Set("messages", []message.Message{message.NewAI(text)}) }
	type form struct {
		Amount int    `json:"amount"`
		Note   string `json:"note"`
	}
	return []agent.Agent{
		agent.NewGraph[desk]("greeter").Node("n", func(_ agent.Context, s desk) (agent.Update, error) {
			m, _ := s.Messages.Last()
			return answer("Hello, " + m.Text()), nil
		}).Edge(agent.Start, "n").MustCompile(),
		agent.NewGraph[desk]("careful").Node("n", func(ctx agent.Context, _ desk) (agent.Update, error) {
			d, err := agent.Interrupt[struct {
				Decisions []struct {
					Type hitl.Decision `json:"type"`
				} `json:"decisions"`
			}](ctx, map[string]any{"actionRequests": []any{map[string]any{"name": "pay", "args": map[string]any{"amount": 5}}}})
			if err != nil {
				return nil, err
			}
			return answer("It was " + string(d.Decisions[0].Type) + "d"), nil
		}).Edge(agent.Start, "n").MustCompile(),
		agent.NewGraph[form]("counter").Node("n", func(_ agent.Context, s form) (agent.Update, error) {
			return agent.Set("amount", s.Amount+1), nil
		}).Edge(agent.Start, "n").MustCompile(),
	}
}

// parley serves the agents and returns the address of their MCP server.
func parley(t *testing.T, o server.Options) string {
	t.Helper()
	o.Agents, o.MCP, o.Ephemeral, o.Logger = agents(), &server.MCP{}, true, slog.New(slog.DiscardHandler)
	s, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		web.Close()
	})
	return web.URL + "/mcp"
}

func TestTheInspectorDrivesOurServer(t *testing.T) {
	url := []string{parley(t, server.Options{})}
	list := inspector(t, url, "--method", "tools/list", "--strict") // no schema that a host might stumble over
	var all []string
	for _, found := range list["tools"].([]any) {
		all = append(all, found.(map[string]any)["name"].(string))
	}
	require.ElementsMatch(t, []string{"greeter", "careful", "counter", "resume"}, all)

	reply := inspector(t, url, "--method", "tools/call", "--tool-name", "greeter", "--tool-arg", "message=Ann")
	require.Equal(t, "Hello, Ann", textOf(reply))
	require.Equal(t, "success", outcomeOf(reply)["status"])

	reply = inspector(t, url, "--method", "tools/call", "--tool-name", "counter", "--tool-arg", `input={"amount":41,"note":""}`)
	require.JSONEq(t, `{"amount":42,"note":""}`, textOf(reply))

	asked := outcomeOf(inspector(t, url, "--method", "tools/call", "--tool-name", "careful", "--tool-arg", "message=pay"))
	require.Equal(t, "interrupted", asked["status"])
	done := inspector(t, url, "--method", "tools/call", "--tool-name", "resume",
		"--tool-arg", "thread_id="+asked["thread_id"].(string), "--tool-arg", "decision=approve")
	require.Equal(t, "It was approved", textOf(done))
}

func TestTheInspectorSaysWhoItIs(t *testing.T) {
	url := []string{parley(t, server.Options{Auth: &auth.Hooks{Authenticate: auth.APIKeys(map[string]string{"k-ann": "ann"})}})}
	_, err := inspect(t, url, "--method", "tools/list")
	require.Error(t, err)
	list := inspector(t, url, "--method", "tools/list", "--header", "X-Api-Key: k-ann")
	require.Len(t, list["tools"], 4)
}

func TestTheInspectorStartsOurBinary(t *testing.T) {
	program(t, "inspector/clients/launcher/build/index.js")
	bin := filepath.Join(t.TempDir(), "parley")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../../cmd/parley").CombinedOutput()
	require.NoError(t, err, string(out))
	list := inspector(t, []string{bin, "mcp"}, "-e", "PARLEY_EPHEMERAL=1", "--method", "tools/list", "--strict")
	require.NotEmpty(t, list["tools"])
}

func textOf(reply map[string]any) string {
	return reply["content"].([]any)[0].(map[string]any)["text"].(string)
}

func outcomeOf(reply map[string]any) map[string]any {
	return reply["structuredContent"].(map[string]any)
}

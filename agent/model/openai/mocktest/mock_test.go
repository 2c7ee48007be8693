package mocktest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
	"github.com/parley-dev/parley/agent/model/openai"
)

// start runs a server of ours in Node.js and returns its address.
func start(t *testing.T, program string, args ...string) string {
	t.Helper()
	_, missing := exec.LookPath("node")
	if _, err := os.Stat(filepath.FromSlash(program)); err != nil || missing != nil {
		if os.Getenv("PARLEY_MOCKS") == "required" {
			t.Fatalf("%s isn't installed", program)
		}
		t.Skip("the mock servers aren't installed: run make test-models (needs Node.js 20 or newer with npm)")
	}
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), "node", append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), "HOST=127.0.0.1", fmt.Sprintf("PORT=%d", port))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	require.Eventually(t, func() bool {
		resp, err := http.Get(address + "/health") //nolint:noctx // Eventually bounds it
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	return address
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // only the number counts
	at, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return at.Port
}

func newModel(t *testing.T, address string, change func(*openai.Options)) *openai.Model {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("test-key"), 0o600))
	o := openai.Options{Model: "gpt-test", BaseURL: address + "/v1", Key: model.FileKey(key)}
	change(&o)
	m, err := openai.New(o)
	require.NoError(t, err)
	return m
}

func streamed(*openai.Options) {}

// whole has the server answer without a stream: its streams have texts only.
func whole(o *openai.Options) {
	o.Extra = map[string]json.RawMessage{"stream": json.RawMessage("false")}
	o.NoStreamUsage = true
}

func withTool(text string) model.Request {
	req := wiretest.Ask(text)
	req.Tools = []model.Tool{{Name: "geo.weather", Description: "Tells the weather.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
	return req
}

func TestMockLLM(t *testing.T) {
	t.Parallel()
	address := start(t, "node_modules/@dwmkerr/mock-llm/dist/main.js", "--config", "mock-llm.yaml")

	t.Run("a streamed text", func(t *testing.T) {
		t.Parallel()
		got := wiretest.Call(t.Context(), newModel(t, address, streamed), wiretest.Ask("Say this again, please."))
		require.NoError(t, got.Err)
		require.Equal(t, "Say this again, please.", got.Text())
		require.Equal(t, "stop", got.Reason)
		require.Len(t, got.Chunks, 5, "four of 7 characters and the end")
		require.Contains(t, string(got.ResponseMetadata), `"model_name":"gpt-test"`)
	})
	t.Run("the key", func(t *testing.T) {
		t.Parallel()
		got := wiretest.Call(t.Context(), newModel(t, address, streamed), wiretest.Ask("authorization?"))
		require.NoError(t, got.Err)
		require.Equal(t, "Bearer test-key", got.Text())
	})
	t.Run("an answer without a stream", func(t *testing.T) {
		t.Parallel()
		got := wiretest.Call(t.Context(), newModel(t, address, whole), wiretest.Ask("hi"))
		require.NoError(t, got.Err)
		require.Equal(t, "hi", got.Text())
		require.Equal(t, &message.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7}, got.Usage)
	})
	t.Run("tool calls and their results", func(t *testing.T) {
		t.Parallel()
		m := newModel(t, address, whole)
		req := withTool("What is the weather?")
		got := wiretest.Call(t.Context(), m, req)
		require.NoError(t, got.Err)
		require.Equal(t, []message.ToolCall{
			message.NewToolCall("call_1", "geo.weather", json.RawMessage(`{"city":"Ulm"}`)),
			message.NewToolCall("call_2", "geo.weather", json.RawMessage(`{"city":"Bonn"}`)),
		}, got.ToolCalls)
		require.Equal(t, "tool_use", got.Reason)

		req.Messages = req.Messages.Append(got.Message, message.NewTool("call_1", "geo.weather", "sunny"), message.NewTool("call_2", "geo.weather", "wet weather"))
		got = wiretest.Call(t.Context(), m, req)
		require.NoError(t, got.Err)
		require.Equal(t, "wet weather", got.Text(), "it repeats the last message")
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		for _, form := range []func(*openai.Options){streamed, whole} {
			m := newModel(t, address, form)
			for ask, want := range map[string]struct {
				status int
				again  bool
			}{"error-429": {429, true}, "error-401": {401, false}} {
				var e *model.Error
				require.ErrorAs(t, wiretest.Call(t.Context(), m, wiretest.Ask(ask)).Err, &e)
				require.Equal(t, want.again, e.Retryable(), e)
				require.Equal(t, want.status, e.StatusCode(), "in the stream by name, with status 200")
			}
		}
	})
}

func TestOpenAIAPIMock(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules"); err != nil && os.Getenv("PARLEY_MOCKS") != "required" {
		t.Skip("the mock servers aren't installed: run make test-models (needs Node.js 20 or newer with npm)")
	}
	address := start(t, "openai-api-mock.mjs")

	t.Run("a stream that ends by [DONE] alone", func(t *testing.T) {
		t.Parallel()
		got := wiretest.Call(t.Context(), newModel(t, address, streamed), wiretest.Ask("hi"))
		require.NoError(t, got.Err)
		require.NotEmpty(t, got.Text())
		require.Len(t, got.Chunks, 5)
		require.Contains(t, string(got.ResponseMetadata), `"model_name":"gpt-test-mock"`)
	})
	t.Run("a tool call", func(t *testing.T) {
		t.Parallel()
		got := wiretest.Call(t.Context(), newModel(t, address, whole), withTool("What is the weather?"))
		require.NoError(t, got.Err)
		require.Len(t, got.ToolCalls, 1)
		require.Equal(t, "geo.weather", got.ToolCalls[0].Name)
		require.NotEmpty(t, got.ToolCalls[0].ID)
		require.Equal(t, "tool_use", got.Reason)
	})
	t.Run("an answer without a stream", func(t *testing.T) {
		t.Parallel()
		got := wiretest.Call(t.Context(), newModel(t, address, whole), wiretest.Ask("hi"))
		require.NoError(t, got.Err)
		require.NotEmpty(t, got.Text())
		require.Positive(t, got.Usage.TotalTokens)
	})
}

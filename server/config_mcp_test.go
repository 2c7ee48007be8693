package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A change of the servers' part connects anew; the old connection lasts as long as a run
// that began with it.
func TestServersOfAChangedFileLastAsLongAsTheirRuns(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 9), make(chan struct{})
	notes := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	sdk.AddTool(notes, &sdk.Tool{Name: "wait", Description: "Waits.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			entered <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			return text("waited"), nil, nil
		})
	sdk.AddTool(notes, &sdk.Tool{Name: "read", Description: "Reads.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("read"), nil, nil
		})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return notes }, nil))
	t.Cleanup(web.Close)

	file := func(path string) string {
		return `
models:
  m:
    script:
      - {when: wait, turns: [{call: [{tool: notes.wait}]}, {call: [{tool: notes.read}]}, {say: "{result}"}]}
      - {turns: [{call: [{tool: notes.read}]}, {say: "{result}"}]}
mcp:
  notes: {url: "` + web.URL + path + `"}
agents:
  a: {model: m, tools: [notes.*]}
`
	}
	s := serveFile(t, file("/one"))
	busy := s.thread()
	run := s.post("/threads/"+busy+"/runs", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"wait"}]}}`).ok().str("run_id")
	select {
	case <-entered:
	case <-time.After(long):
		t.Fatal("the tool isn't called")
	}
	s.rewrite(file("/two"))
	require.Equal(t, "read", s.says(s.thread(), "a", "hi"))
	close(release)
	joined := s.get("/threads/" + busy + "/runs/" + run + "/join").ok().json()
	require.Equal(t, "read", lastText(t, joined), "and its next call is made over the old connection")
}

package manifest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// childEnv makes the test binary an MCP server; it holds a file that gets a line per start.
const childEnv = "PARLEY_TEST_NOTES"

func TestMain(m *testing.M) {
	if starts := os.Getenv(childEnv); starts != "" {
		if err := serveNotes(starts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type note struct {
	Text string `json:"text"`
}

// serveNotes is a server with a tool that reads, one that adds and one that destroys.
func serveNotes(starts string) error {
	f, err := os.OpenFile(starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, dir, os.Getenv("GREETING")); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	no := false
	add := func(name string, a *sdk.ToolAnnotations) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: name, Annotations: a},
			func(_ context.Context, _ *sdk.CallToolRequest, n note) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + ": " + n.Text}}}, nil, nil
			})
	}
	add("read", &sdk.ToolAnnotations{ReadOnlyHint: true})
	add("read_all", &sdk.ToolAnnotations{ReadOnlyHint: true})
	add("append", &sdk.ToolAnnotations{DestructiveHint: &no})
	add("wipe", nil)
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

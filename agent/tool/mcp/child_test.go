package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveChild is the server that the test binary plays; it returns the exit code.
func serveChild(kind string) int {
	switch kind {
	case "tools":
		return serveTools(sdk.NewServer(&sdk.Implementation{Name: "tools", Version: "1"}, &sdk.ServerOptions{PageSize: 2}))
	case "noisy":
		fmt.Println("Welcome to the noisy server!")
		return serveTools(sdk.NewServer(&sdk.Implementation{Name: "noisy", Version: "1"}, nil))
	case "exit":
		fmt.Fprintf(os.Stderr, "starting\ncan't open the database with %s\n", os.Getenv("DB_PASSWORD"))
		return 3
	case "silent": // reads, says nothing, and doesn't want to end
		signal.Ignore(syscall.SIGTERM)
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() { //nolint:revive // reads on
		}
		select {}
	case "late":
		if _, err := os.Stat(childFile("up")); err != nil {
			fmt.Fprintln(os.Stderr, "not up yet")
			return 1
		}
		return serveTools(sdk.NewServer(&sdk.Implementation{Name: "late", Version: "1"}, nil))
	case "same":
		s := sdk.NewServer(&sdk.Implementation{Name: "same", Version: "1"}, nil)
		for _, name := range []string{"a.b", "a_b"} {
			s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		}
		return run(s)
	case "malformed":
		return serveMalformed()
	}
	fmt.Fprintf(os.Stderr, "no such server: %q\n", kind)
	return 2
}

func childFile(name string) string { return filepath.Join(os.Getenv("MCP_DIR"), name) }

// note appends a line to a file that the test reads.
func note(name, line string) {
	f, err := os.OpenFile(childFile(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, line)
	f.Close()
}

func run(s *sdk.Server) int {
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type nothing struct{}

// serveTools serves a bit of everything.
func serveTools(s *sdk.Server) int {
	note("pids", fmt.Sprint(os.Getpid()))
	addTools(s)
	return run(s)
}

func text(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func addTools(s *sdk.Server) {
	yes, no := true, false
	type echo struct {
		Text string `json:"text" jsonschema:"what to say"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again", Title: "Echo", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}},
		func(_ context.Context, _ *sdk.CallToolRequest, in echo) (*sdk.CallToolResult, any, error) {
			return text("%s", in.Text), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("the disk is full")
	})
	type sum struct {
		Sum int `json:"sum"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "structured"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, sum, error) {
		return nil, sum{7}, nil
	})
	s.AddTool(&sdk.Tool{Name: "media", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "see"},
			&sdk.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			&sdk.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", MIMEType: "application/pdf", Blob: []byte("pdf")}},
			&sdk.ResourceLink{URI: "file:///c", Name: "c.txt", MIMEType: "text/plain"},
		}}, nil
	})
	type size struct {
		Bytes int `json:"bytes"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "big", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, _ *sdk.CallToolRequest, in size) (*sdk.CallToolResult, any, error) {
		note("big", "called")
		return text("%s", strings.Repeat("é", in.Bytes/2)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "progress"}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		for i := 1; i <= 2; i++ {
			err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 2, Message: fmt.Sprintf("part %d", i),
			})
			if err != nil {
				return nil, nil, err
			}
		}
		// The client hears of progress and of the result by ways of their own: wait for a word that it heard.
		waitFor("heard")
		return text("done"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "slow"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		note("slow", "started")
		<-ctx.Done()
		note("slow", "cancelled")
		return nil, nil, ctx.Err()
	})
	for name, hints := range map[string]*sdk.ToolAnnotations{
		"die": {DestructiveHint: &yes}, "die_reading": {ReadOnlyHint: true}, "die_idempotent": {IdempotentHint: true, DestructiveHint: &no},
	} {
		// Dies on the first call and answers the next one.
		sdk.AddTool(s, &sdk.Tool{Name: name, Annotations: hints}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			_, err := os.Stat(childFile(name))
			note(name, "called")
			if err != nil {
				fmt.Fprintln(os.Stderr, "out of memory")
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return text("alive"), nil, nil
		})
	}
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		s.AddTool(&sdk.Tool{Name: "grown", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("new"), nil
		})
		s.RemoveTools("fail")
		return text("grown"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "environment"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		return text("%s", strings.Join(os.Environ(), "\n")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "spawn"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		cmd := exec.Command("sleep", "600")
		cmd.Stderr = os.Stderr // holds the stream open
		if err := cmd.Start(); err != nil {
			return nil, nil, err
		}
		return text("%d", cmd.Process.Pid), nil, nil
	})
}

// waitFor waits until the test has made a file.
func waitFor(name string) {
	for {
		if _, err := os.Stat(childFile(name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond) // polls a file
	}
}

// serveMalformed speaks JSON-RPC by hand, and badly.
func serveMalformed() int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		reply := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result) }
		switch req.Method {
		case "initialize":
			reply(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"malformed","version":"1"}}`)
		case "tools/list":
			reply(strings.ReplaceAll(`{"tools":[
				{"name":"content","inputSchema":{"type":"object"}},
				{"name":"kind","inputSchema":{"type":"object"}},
				{"name":"data","inputSchema":{"type":"object"}},
				{"name":"line","inputSchema":{"type":"object"}},
				{"name":"error","inputSchema":{"type":"object"}},
				{"name":"bare","inputSchema":{}},
				{"name":"badschema","inputSchema":{"type":"strng"}},
				{"name":"elsewhere","inputSchema":{"$ref":"http://169.254.169.254/latest"}}]}`, "\n", " "))
		case "tools/call":
			switch req.Params.Name {
			case "content":
				reply(`{"content":"just text"}`)
			case "kind":
				reply(`{"content":[{"type":"hologram","data":"eA=="}]}`)
			case "data":
				reply(`{"content":[{"type":"image","data":"x"}]}`)
			case "line":
				fmt.Println(`{"jsonrpc":"2.0","id":`)
			case "error":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such page"}}`+"\n", req.ID)
			default:
				reply(`{"content":[]}`)
			}
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`+"\n", req.ID)
		}
	}
	return 0
}

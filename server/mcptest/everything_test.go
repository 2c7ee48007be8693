package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/tool/mcp"
)

// over are the two ways to server-everything.
func over(t *testing.T) map[string]func(t *testing.T) mcp.ServerConfig {
	js := everything(t)
	return map[string]func(t *testing.T) mcp.ServerConfig{
		"stdio": func(*testing.T) mcp.ServerConfig {
			return mcp.ServerConfig{Name: "every", Command: "node", Args: []string{js, "stdio"}}
		},
		"http": func(t *testing.T) mcp.ServerConfig {
			port := freePort(t)
			node(t, port, js, "streamableHttp")
			return mcp.ServerConfig{Name: "every", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}
		},
	}
}

func TestServerEverything(t *testing.T) {
	for name, config := range over(t) {
		t.Run(name, func(t *testing.T) {
			s := connect(t, config(t))
			require.Subset(t, names(s), []string{"every_echo", "every_get-sum", "every_get-tiny-image", "every_trigger-long-running-operation"})

			m, _ := call(t, s, "every_echo", `{"message":"hi <b>"}`)
			require.Equal(t, []string{"success", "Echo: hi <b>"}, []string{m.Status, m.Text()})

			m, _ = call(t, s, "every_get-sum", `{"a":2,"b":40}`)
			require.Equal(t, "The sum of 2 and 40 is 42.", m.Text())

			m, _ = call(t, s, "every_get-sum", `{"a":"two","b":40}`)
			require.Equal(t, "error", m.Status)
			require.Contains(t, m.Text(), "a: ", "refused before the server is asked")

			m, _ = call(t, s, "every_get-tiny-image", `{}`)
			var blocks []map[string]string
			require.NoError(t, json.Unmarshal(m.Content, &blocks))
			require.Equal(t, "image", blocks[1]["type"])
			require.Equal(t, "image/png", blocks[1]["mime_type"])
			require.NotEmpty(t, blocks[1]["data"])

			m, _ = call(t, s, "every_get-structured-content", `{"location":"Chicago"}`)
			require.JSONEq(t, m.Text(), string(structured(t, m.Artifact)))

			m, _ = call(t, s, "every_get-resource-reference", `{"resourceType":"Text","resourceId":1}`)
			require.Equal(t, "success", m.Status)
			require.Contains(t, m.Text(), "Resource 1: This is a plaintext resource")

			m, _ = call(t, s, "every_get-resource-links", `{"count":2}`)
			require.Contains(t, m.Text(), "Resource demo://resource/dynamic/")

			m, deltas := call(t, s, "every_trigger-long-running-operation", `{"duration":1,"steps":4}`)
			require.Contains(t, m.Text(), "Long running operation completed")
			require.NotEmpty(t, deltas)
			require.JSONEq(t, `{"progress":1,"total":4}`, deltas[0])
		})
	}
}

func structured(t *testing.T, artifact json.RawMessage) json.RawMessage {
	t.Helper()
	var a struct {
		StructuredContent json.RawMessage `json:"structured_content"`
	}
	require.NoError(t, json.Unmarshal(artifact, &a))
	return a.StructuredContent
}

func TestServerEverythingIsCancelledWithTheRun(t *testing.T) {
	for name, config := range over(t) {
		t.Run(name, func(t *testing.T) {
			s := connect(t, config(t))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			callIn(ctx, t, s, "every_trigger-long-running-operation", `{"duration":600,"steps":2}`)
			require.Less(t, time.Since(began), patience)
			m, _ := call(t, s, "every_echo", `{"message":"still there"}`)
			require.Equal(t, "Echo: still there", m.Text())
		})
	}
}

// A restarted server-everything says 400 about a session that it doesn't know, not 404.
func TestServerEverythingRestarted(t *testing.T) {
	js := everything(t)
	port := freePort(t)
	stop := node(t, port, js, "streamableHttp")
	s := connect(t, mcp.ServerConfig{Name: "every", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)})
	m, _ := call(t, s, "every_echo", `{"message":"one"}`)
	require.Equal(t, "Echo: one", m.Text())
	stop()
	node(t, port, js, "streamableHttp")
	m, _ = call(t, s, "every_echo", `{"message":"two"}`)
	require.Equal(t, "Echo: two", m.Text())
}

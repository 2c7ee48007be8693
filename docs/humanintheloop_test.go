package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/server"
)

// treasurer is the guide's agent, whose model asks for one transfer.
func treasurer(t *testing.T, name string, mode hitl.Mode) agent.Agent {
	t.Helper()
	type transfer struct {
		To     string `json:"to"`
		Amount int    `json:"amount" jsonschema:"minimum=1"`
	}
	a, err := react.NewAgent(react.Config{
		Name: name,
		Model: scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) {
			if last, ok := c.Messages.Last(); ok && last.Type == message.Tool {
				return scripted.Say(last.Text()), nil
			}
			return scripted.Turn{ToolCalls: []message.ToolCall{message.NewToolCall("call-1", "transfer", json.RawMessage(`{"to":"Grace","amount":250}`))}}, nil
		}},
		Tools: []tool.Tool{tool.Func("transfer", "Transfers money", func(tool.CallContext, transfer) (string, error) { return "Transferred.", nil })},
		Review: hitl.Config{Mode: mode, Policy: hitl.Policy{
			"transfer": {Decisions: []hitl.Decision{hitl.Approve, hitl.Edit, hitl.Reject}},
		}},
	})
	require.NoError(t, err)
	return a
}

// guideJSON are the labelled JSON blocks of a guide.
func guideJSON(t *testing.T, guide string) map[string]json.RawMessage {
	t.Helper()
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	blocks := map[string]json.RawMessage{}
	for _, m := range regexp.MustCompile("(?s)```json ([a-z-]+)\n(.*?)\n```").FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = json.RawMessage(m[2])
	}
	return blocks
}

// The JSON of the guide is what the server says and takes.
func TestTheJSONOfTheReviewGuideIsWhatTheServerSpeaks(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Agents: []agent.Agent{treasurer(t, "batch", hitl.Batch), treasurer(t, "per_call", hitl.PerCall)}, Ephemeral: true})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		require.NoError(t, s.Shutdown(context.Background()))
	})
	post := func(path string, body any, status int) map[string]json.RawMessage {
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, bytes.NewReader(raw))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		require.Equal(t, status, reply.StatusCode, "%s", text)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &fields), "%s", text)
		return fields
	}
	guide := guideJSON(t, "human-in-the-loop.md")
	require.Len(t, guide, 6)

	for agent, blocks := range map[string][2]string{"batch": {"batch-question", "batch-answer"}, "per_call": {"call-question", "call-answer"}} {
		var id string
		require.NoError(t, json.Unmarshal(post("/threads", map[string]any{}, 200)["thread_id"], &id))
		wait := "/threads/" + id + "/runs/wait"
		asked := post(wait, map[string]any{"assistant_id": agent, "input": map[string]any{"messages": "Send Grace 250 EUR"}}, 200)
		var questions []struct {
			ID    string          `json:"id"`
			Value json.RawMessage `json:"value"`
		}
		require.NoError(t, json.Unmarshal(asked["__interrupt__"], &questions))
		require.Len(t, questions, 1)
		require.JSONEq(t, string(guide[blocks[0]]), string(questions[0].Value))

		if agent == "batch" {
			refused := post(wait, map[string]any{"assistant_id": agent, "command": map[string]any{"resume": guide["refused-answer"]}}, 422)
			var want struct {
				Error, Message string
				Issues         []struct{ Path, Message string }
			}
			got := want
			require.NoError(t, json.Unmarshal(guide["refusal"], &want))
			raw, err := json.Marshal(refused)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, &got))
			require.Equal(t, want, got)
			require.Contains(t, refused, "pending")
		}
		ended := post(wait, map[string]any{"assistant_id": agent, "command": map[string]any{"resume": map[string]any{questions[0].ID: guide[blocks[1]]}}}, 200)
		require.NotContains(t, ended, "__interrupt__")
		require.True(t, strings.HasSuffix(string(ended["messages"]), "]") && strings.Contains(string(ended["messages"]), "Transferred."), "%s", ended["messages"])
	}
}

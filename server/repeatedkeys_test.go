package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// Of a key that stands twice one reader takes the first value and another the last: what a tool shows, and what is
// logged and carried out, may differ. Whichever way an answer comes, it is refused, and the key is named.
func TestAnAnswerWithAKeyTwiceIsRefusedWhicheverWayItComes(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{MCP: &server.MCP{}})
	starter, owner := k.holder("acme", "starter", "operator"), k.holder("acme", "ann", "owner")
	thread, interrupt := asks(starter, "ask")
	at := "/threads/" + thread
	api := "/api/v1/projects/acme"
	review := owner.get(api + "/reviews").ok().json()["reviews"].([]any)[0].(map[string]any)
	decide := api + "/reviews/" + review["review_id"].(string)
	execution := api + "/executions/" + review["execution_id"].(string)
	mcp := owner.as(map[string]string{"Accept": "application/json, text/event-stream", "Content-Type": "application/json"})
	for name, tt := range map[string]struct {
		c          *client
		path, body string
		status     int
		key        string
	}{
		"plain":                   {owner, at + "/runs", `{"assistant_id":"ask","command":{"resume":{"a":"no","a":"yes"}}}`, 422, "a"},
		"by id":                   {owner, at + "/runs/wait", `{"assistant_id":"ask","command":{"resume":{"` + interrupt + `":"no","` + interrupt + `":"yes"}}}`, 422, interrupt},
		"two resumes":             {owner, at + "/runs/stream", `{"assistant_id":"ask","command":{"resume":"no","resume":"yes"}}`, 422, "resume"},
		"two commands":            {owner, at + "/runs", `{"assistant_id":"ask","command":{"resume":"no"},"command":{"resume":"yes"}}`, 422, "command"},
		"escaped":                 {owner, at + "/runs", `{"assistant_id":"ask","command":{"resume":"no","r\u0065sume":"yes"}}`, 422, "resume"},
		"update":                  {owner, at + "/runs", `{"assistant_id":"ask","command":{"resume":"yes","update":{"note":"a","note":"b"}}}`, 422, "note"},
		"input.respond":           {owner, at + "/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"` + interrupt + `","response":"no","response":"yes"}}`, 200, "response"},
		"input.respond, nested":   {owner, at + "/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"` + interrupt + `","response":{"a":1,"a":2}}}`, 200, "a"},
		"two methods":             {owner, at + "/commands", `{"id":1,"method":"state.get","method":"input.respond","params":{"interrupt_id":"` + interrupt + `","response":"yes"}}`, 200, "method"},
		"run.start":               {owner, at + "/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"ask","input":"no","input":"yes"}}`, 200, "input"},
		"decide":                  {owner, decide + "/decide", `{"decision":"no","decision":"yes"}`, 400, "decision"},
		"decide, nested":          {owner, decide + "/decide", `{"answer":{"a":[{"b":1,"b":2}]}}`, 400, "answer/a/0/b"},
		"comment":                 {owner, decide + "/comments", `{"text":"no","text":"yes"}`, 400, "text"},
		"resume of the execution": {owner, execution + "/resume?workspace_id=default", `{"decision":"no","decision":"yes"}`, 400, "decision"},
		"mcp":                     {mcp, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"resume","arguments":{"thread_id":"` + thread + `","answer":"no","answer":"yes"}}}`, 200, "answer"},
	} {
		got := tt.c.in(t).post(tt.path, tt.body)
		require.Equal(t, tt.status, got.status, "%s: %s", name, got.body)
		require.Contains(t, got.body, tt.key, name)
		require.Contains(t, got.body, "twice", name)
		if strings.HasPrefix(tt.path, at) && tt.status == http.StatusUnprocessableEntity {
			require.Equal(t, "invalid_answer", got.str("error"), name)
		}
	}
	s := owner.socket(thread)
	s.send(`{"id":1,"method":"input.respond","params":{"interrupt_id":"` + interrupt + `","response":"no","response":"yes"}}`)
	require.Contains(t, s.next()["message"], "twice")
	require.NoError(t, s.conn.CloseNow())
	require.Equal(t, []string{interrupt}, questionsOf(owner.get(at+"/state").ok().json()), "the question waits")
	owner.post(at+"/runs", `{"assistant_id":"ask","input":{"note":"a","note":"b"},"multitask_strategy":"enqueue"}`).ok() // answers nothing
}

package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// commandsFor are commands, by method, that would work for the thread's owner.
func commandsFor(question, checkpoint string) map[string]string {
	return map[string]string{
		"run.start":                `{"assistant_id":"ask","input":{"note":"stolen"},"multitaskStrategy":"rollback","metadata":{"owner":"bob"}}`,
		"input.respond":            `{"interrupt_id":"` + question + `","response":"stolen","update":{"note":"stolen"}}`,
		"input.inject":             `{"message":{"type":"human","content":"stolen"}}`,
		"state.get":                `{}`,
		"state.listCheckpoints":    `{}`,
		"state.fork":               `{"checkpoint_id":"` + checkpoint + `"}`,
		"agent.getTree":            `{}`,
		"subscription.subscribe":   `{"channels":["values","lifecycle","input"]}`,
		"subscription.unsubscribe": `{"subscription_id":"x"}`,
		"subscription.reconnect":   `{"subscription_id":"x"}`,
		"no.such":                  `{}`,
	}
}

func commandText(method, params string) string {
	return `{"id":7,"method":"` + method + `","params":` + params + `}`
}

// D-72: a foreign thread is to every command, on either transport, what a thread
// is that doesn't exist, and stays what it was.
func TestWrongTenantWithEveryCommand(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Auth: tenants()})
	ann, bob := c.as(map[string]string{"x-user": "ann"}), c.as(map[string]string{"x-user": "bob"})
	later := uuid.NewString()
	spy := bob.socket(later) // before there is such a thread
	spy.send(commandText("subscription.subscribe", `{"channels":["lifecycle"]}`))
	require.Equal(t, "success", spy.next()["type"])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	silent := bob.open(ctx, http.MethodPost, "/threads/"+later+"/stream/events", `{"channels":`+allChannels+`}`)
	defer silent.Body.Close() //nolint:errcheck // it has no end

	mine := ann.thread()
	for _, id := range []string{mine, later} {
		p := &protocol{ann, id, 0}
		p.success("run.start", `{"assistant_id":"ask","input":{"note":"`+secret+`"}}`)
		p.ended()
	}
	state := func(id string) map[string]any { return ann.get("/threads/" + id + "/state").ok().json() }
	snapshot := func() (all []string) {
		for _, id := range []string{mine, later} {
			all = append(all, ann.get("/threads/"+id).ok().body, ann.get("/threads/"+id+"/state").ok().body, ann.get("/threads/"+id+"/runs").ok().body)
		}
		return all
	}
	before := snapshot()
	commands := commandsFor(questionsOf(state(mine))[0], state(mine)["checkpoint"].(map[string]any)["checkpoint_id"].(string))
	missing := uuid.NewString()
	over := func(user *client, id, method string) (int, string) {
		a := user.post("/threads/"+id+"/commands", commandText(method, commands[method]))
		return a.status, strings.ReplaceAll(a.body, id, "ID")
	}
	for method := range commands {
		status, body := over(bob, mine, method)
		require.NotContains(t, body, secret, method)
		require.NotContains(t, body, `"type":"success"`, method)
		require.NotContains(t, body, "applied_through_seq", method)
		if method == "run.start" { // which would make a thread that doesn't exist
			require.Equal(t, http.StatusNotFound, status)
			require.Equal(t, "Thread with ID ID not found", body)
		} else {
			wantStatus, want := over(bob, missing, method)
			require.Equal(t, wantStatus, status, method)
			require.Equal(t, want, body, "%s: as if it weren't there", method)
		}
		status, _ = over(c, mine, method)
		require.Equal(t, http.StatusUnauthorized, status, "%s by nobody", method)
	}

	for method, params := range commandsFor(questionsOf(state(later))[0], state(later)["checkpoint"].(map[string]any)["checkpoint_id"].(string)) {
		spy.send(commandText(method, params))
		reply := spy.next() // and no event comes in between
		require.EqualValues(t, 7, reply["id"], method)
		if method == "subscription.subscribe" {
			require.Equal(t, "success", reply["type"], "who waits may go on waiting")
			require.EqualValues(t, 0, reply["result"].(map[string]any)["replayed_events"])
			require.EqualValues(t, 0, reply["meta"].(map[string]any)["applied_through_seq"])
			continue
		}
		require.Equal(t, "error", reply["type"], method)
		require.NotContains(t, reply["message"], secret)
		require.NotContains(t, reply, "meta", method)
	}
	require.Equal(t, before, snapshot(), "ann's threads are as they were")
	for _, id := range []string{mine, later} {
		p := &protocol{ann, id, 0}
		p.success("input.respond", `{"interrupt_id":"`+p.question()+`","response":"stays hers"}`)
		require.Equal(t, "stays hers", p.ended()["values"].(map[string]any)["answer"])
	}
	spy.send(commandText("no.such", `{}`))
	require.Equal(t, "unknown_command", spy.next()["error"], "nothing of what went on was heard")
	cancel()
	heard, _ := io.ReadAll(silent.Body)
	require.NotContains(t, string(heard), "data:")
}

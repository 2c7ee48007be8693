package server_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// commandsOf says, in words of its own, who may use each command of the thread protocol.
var commandsOf = map[string]string{
	"run.start": "operator", "input.respond": "reviewer", "input.inject": "operator", "state.get": "viewer", "state.listCheckpoints": "viewer",
	"state.fork": "operator", "agent.getTree": "viewer",
	"subscription.subscribe": "viewer", "subscription.unsubscribe": "viewer", "subscription.reconnect": "viewer",
}

// TestEveryCommandTimesEveryRole: over HTTP and over a socket a command is refused by the same rule.
func TestEveryCommandTimesEveryRole(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	require.ElementsMatch(t, server.Commands(), keysOf(commandsOf), "each command has a class, and is tested here")
	starter := k.holder("acme", "starter", "operator")
	for _, role := range []string{"viewer", "operator", "reviewer", "reviewer:other", "owner"} {
		c := k.holder("acme", role, role)
		for method, want := range commandsOf {
			text := commandText(method, commandsFor("0123456789abcdef0123456789abcdef", uuid.NewString())[method])
			over := c.post("/threads/"+starter.thread()+"/commands", text)
			require.Equal(t, !holds(role, want), over.status == 403, "%s by %s over HTTP: %d %s", method, role, over.status, over.body)
			s := c.socket(starter.thread())
			s.send(text)
			reply := s.next()
			require.Equal(t, !holds(role, want), reply["error"] == "permission_denied", "%s by %s over a socket: %v", method, role, reply)
			require.NoError(t, s.conn.CloseNow())
		}
		unknown := c.post("/threads/"+starter.thread()+"/commands", commandText("no.such", "{}")).ok()
		var reply map[string]any
		require.NoError(t, json.Unmarshal([]byte(unknown.body), &reply))
		require.Equal(t, "unknown_command", reply["error"])
	}
}

func keysOf(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// deciders are all ways to answer a question; each returns the reply's status, or 403 for what is
// said in another way.
func deciders() map[string]func(c *client, thread, interrupt string) int {
	denied := func(a answer) int {
		if strings.Contains(a.body, `"permission_denied"`) {
			return http.StatusForbidden
		}
		return a.status
	}
	classic := func(path string) func(c *client, thread, interrupt string) int {
		return func(c *client, thread, interrupt string) int {
			return c.post("/threads/"+thread+path, `{"assistant_id":"ask","command":{"resume":{"`+interrupt+`":"yes"}}}`).status
		}
	}
	review := func(c *client, thread string) string {
		c.t.Helper()
		list, _ := c.get("/api/v1/projects/acme/reviews?status=pending&limit=200").json()["reviews"].([]any)
		for _, r := range list {
			if v := r.(map[string]any); v["thread_id"] == thread {
				return v["review_id"].(string)
			}
		}
		return "unseen"
	}
	return map[string]func(c *client, thread, interrupt string) int{
		"runs": classic("/runs"), "runs/stream": classic("/runs/stream"), "runs/wait": classic("/runs/wait"),
		"plain resume": func(c *client, thread, _ string) int {
			return c.post("/threads/"+thread+"/runs", `{"assistant_id":"ask","command":{"resume":"yes"}}`).status
		},
		"resume with update": func(c *client, thread, _ string) int {
			return c.post("/threads/"+thread+"/runs", `{"assistant_id":"ask","command":{"resume":"yes","update":{"note":"x"}}}`).status
		},
		"input.respond": func(c *client, thread, interrupt string) int {
			return denied(c.post("/threads/"+thread+"/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"`+interrupt+`","response":"yes"}}`))
		},
		"run.start": func(c *client, thread, _ string) int {
			return denied(c.post("/threads/"+thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"ask","input":"yes"}}`))
		},
		"socket": func(c *client, thread, interrupt string) int {
			s := c.socket(thread)
			s.send(`{"id":1,"method":"input.respond","params":{"interrupt_id":"` + interrupt + `","response":"yes"}}`)
			if s.next()["error"] == "permission_denied" {
				return http.StatusForbidden
			}
			return http.StatusOK
		},
		"reviews": func(c *client, thread, _ string) int {
			return c.post("/api/v1/projects/acme/reviews/"+review(c, thread)+"/decide", `{"answer":"yes"}`).status
		},
		"mcp": func(c *client, thread, interrupt string) int {
			a := c.as(map[string]string{"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}).post("/mcp",
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"resume","arguments":{"thread_id":"`+thread+`","interrupt_id":"`+interrupt+`","answer":"yes"}}}`)
			if strings.Contains(a.body, `"isError":true`) {
				return http.StatusForbidden
			}
			return a.status
		},
	}
}

// D-102: whichever way an answer comes, the same people may give it.
func TestEveryWayToDecideTimesEveryCaller(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{MCP: &server.MCP{}})
	starter := k.holder("acme", "starter", "operator")
	_, program := k.make(apikeys.Request{Project: "acme", Name: "bot", Roles: []string{"owner"}, Agent: true})
	_, elsewhere := k.make(apikeys.Request{Project: "acme", Name: "eve", Roles: []string{"owner"}, Workspace: "blue"})
	refused := map[string]*client{
		"nobody": k.client, "viewer": k.holder("acme", "v", "viewer"), "operator": k.holder("acme", "o", "operator"),
		"reviewer of another agent": k.holder("acme", "r", "reviewer:two"), "reviewer of a tool": k.holder("acme", "rt", "reviewer:ask/tool"),
		"owner of another project": k.holder("other", "x", "owner"), "owner of another workspace": k.as(bearer(elsewhere)),
		"a program": k.as(bearer(program)), "who asked": k.holder("acme", "starter", "owner"),
	}
	allowed := map[string]*client{
		"reviewer of the agent": k.holder("acme", "ra", "reviewer:ask"), "reviewer": k.holder("acme", "rr", "reviewer"), "owner": k.holder("acme", "ow", "owner"),
	}
	for way, decide := range deciders() {
		t.Run(way, func(t *testing.T) {
			starter := starter.in(t)
			thread, interrupt := asks(starter, "ask")
			for name, c := range refused {
				c = c.in(t)
				if way == "socket" && (name == "nobody" || strings.Contains(name, "another")) && name != "reviewer of another agent" {
					continue // no socket at all: see the tests of sockets
				}
				got := decide(c, thread, interrupt)
				switch name {
				case "nobody":
					require.Equal(t, http.StatusUnauthorized, got, name)
				case "owner of another project", "owner of another workspace":
					if way != "mcp" && got == http.StatusOK { // v2 says so in its own way
						require.Contains(t, []string{"input.respond", "run.start"}, way, name)
					}
				default:
					want := []int{http.StatusForbidden}
					if way == "reviews" && strings.HasPrefix(name, "reviewer of") {
						want = append(want, http.StatusNotFound) // bound reviewers don't see it
					}
					require.Contains(t, want, got, name)
				}
				state := starter.get("/threads/" + thread + "/state").ok().json()
				require.Equal(t, []string{interrupt}, questionsOf(state), "%s has answered", name)
			}
			for name, c := range allowed {
				c = c.in(t)
				thread, interrupt := asks(starter, "ask")
				require.Less(t, decide(c, thread, interrupt), 300, name)
				starter.until("the answer is in", func() bool {
					return starter.get("/threads/" + thread + "/state").ok().json()["values"].(map[string]any)["answer"] == "yes"
				})
			}
		})
	}
}

func TestRefusedDecisionsAreAudited(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	starter, owner := k.holder("acme", "starter", "owner"), k.holder("acme", "ada", "owner")
	thread, _ := asks(starter, "ask")
	starter.post("/threads/"+thread+"/runs", `{"assistant_id":"ask","command":{"resume":"yes"}}`).is(http.StatusForbidden)
	owner.until("it is in the log", func() bool {
		a := owner.get("/api/v1/projects/acme/audit?limit=100").ok().body
		return strings.Contains(a, "review.refused") && strings.Contains(a, `"starter"`)
	})
}

// Whoever answers second without naming the question learns who was faster, and what they said (D-32).
func TestThePlainAnswerThatCameSecondLearnsOfTheFirst(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	starter, bob, carl := k.holder("acme", "ada", "operator"), k.holder("acme", "bob", "owner"), k.holder("acme", "carl", "owner")
	thread, interrupt := asks(starter, "ask")
	bob.post("/threads/"+thread+"/runs/wait", `{"assistant_id":"ask","command":{"resume":{"approved":true}}}`).ok()
	for _, path := range []string{"/runs", "/runs/wait", "/runs/stream"} {
		late := carl.post("/threads/"+thread+path, `{"assistant_id":"ask","command":{"resume":"no"}}`).is(http.StatusConflict).json()
		require.Equal(t, "nothing_pending", late["error"])
		require.Equal(t, "bob", late["by"])
		require.Equal(t, map[string]any{"approved": true}, late["decision"])
		require.Equal(t, interrupt, late["interrupt_id"])
		require.NotEmpty(t, late["at"])
	}
	never := carl.thread()
	carl.post("/threads/"+never+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	require.NotContains(t, carl.post("/threads/"+never+"/runs", `{"assistant_id":"echo","command":{"resume":"no"}}`).is(http.StatusConflict).json(), "by", "nothing was asked")
}

func TestSelfApprovalCanBeAllowed(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{Identity: server.Identity{SelfApproval: true}})
	ada := k.holder("acme", "ada", "owner")
	thread, _ := asks(ada, "ask")
	ada.post("/threads/"+thread+"/runs/wait", `{"assistant_id":"ask","command":{"resume":"yes"}}`).ok()
}

// A cron is a program, whoever has made it.
func TestACronDecidesNothing(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	starter, bob := k.holder("acme", "ada", "owner"), k.holder("acme", "bob", "owner")
	thread, interrupt := asks(starter, "ask")
	const answering = `{"assistant_id":"ask","schedule":"0 0 1 1 *","command":{"resume":"yes"}}`
	refused := bob.post("/threads/"+thread+"/runs/crons", answering).is(http.StatusUnprocessableEntity)
	require.Equal(t, "invalid_command", refused.str("error"))
	require.Contains(t, refused.json()["problems"].([]any)[0], "command.resume")
	id := bob.post("/threads/"+thread+"/runs/crons", `{"assistant_id":"ask","schedule":"0 0 1 1 *"}`).ok().str("cron_id")
	bob.patch("/runs/crons/"+id, answering).is(http.StatusUnprocessableEntity)
	made, err := k.store.GetCron(t.Context(), id)
	require.NoError(t, err)
	made.Payload = []byte(`{"command":{"resume":"yes"}}`) // as an earlier version left it
	require.NoError(t, k.store.PutCron(t.Context(), made))
	require.NoError(t, k.fire(id, bob))
	bob.until("it was refused", func() bool {
		return strings.Contains(bob.get("/api/v1/projects/acme/audit?limit=100").ok().body, "review.refused")
	})
	require.Equal(t, []string{interrupt}, questionsOf(starter.get("/threads/"+thread+"/state").ok().json()))
}

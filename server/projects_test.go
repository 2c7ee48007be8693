package server_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
)

// marks are the project and workspace that a thread, an assistant or a cron shows.
func marks(v map[string]any) [2]any {
	m := v["metadata"].(map[string]any)
	return [2]any{m["project_id"], m["workspace_id"]}
}

// D-72: whatever makes a thread marks it, and whatever clients say, it stays so.
func TestThreadsBelongToTheProjectOfWhoMakesThem(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	ada := k.holder("acme", "ada", "owner")
	_, text := k.make(apikeys.Request{Project: "acme", Name: "bob", Roles: []string{"owner"}, Workspace: "blue"})
	bob := k.as(bearer(text))
	const lie = `"metadata":{"project_id":"other","workspace_id":"red","a":1}`
	const honest = `"metadata":{"project_id":"acme","workspace_id":"blue"}`
	for who, tt := range map[string]struct {
		c    *client
		want [2]any
	}{"ada": {ada, [2]any{"acme", nil}}, "bob": {bob, [2]any{"acme", "blue"}}} {
		for _, said := range []string{`"x":1`, lie, honest} {
			c := tt.c
			plain := c.post("/threads", "{"+said+"}").ok().str("thread_id")
			byRun, byCommand := uuid.NewString(), uuid.NewString()
			c.post("/threads/"+byRun+"/runs/wait", `{"assistant_id":"echo","input":{},"if_not_exists":"create",`+said+`}`).ok()
			p := &protocol{c, byCommand, 0}
			p.success("run.start", `{"assistant_id":"echo","input":{},`+said+`}`)
			p.ended()
			stateless := c.post("/runs/wait", `{"assistant_id":"echo","input":{},"on_completion":"keep",`+said+`}`).ok().header.Get("Content-Location")
			copied := c.post("/threads/"+plain+"/copy", "").ok().str("thread_id")
			ids := []string{plain, byRun, byCommand, copied}
			if len(stateless) > len("/threads/")+36 {
				ids = append(ids, stateless[len("/threads/"):len("/threads/")+36])
			}
			for _, id := range ids {
				require.Equal(t, tt.want, marks(c.get("/threads/"+id).ok().json()), "%s %s", who, said)
				c.patch("/threads/"+id, `{`+lie+`}`).ok()
				c.patch("/threads/"+id+"/state", `{`+lie+`}`).is(http.StatusNoContent)
				c.post("/threads/"+id+"/state", `{"values":{"note":"x"},"as_node":"say"}`)
				c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{},`+lie+`}`).ok()
				require.Equal(t, tt.want, marks(c.get("/threads/"+id).ok().json()), "%s %s", who, said)
			}
			cron := c.post("/runs/crons", `{"assistant_id":"echo","schedule":"0 0 1 1 *","input":{},`+said+`}`).ok()
			require.Equal(t, tt.want, marks(cron.json()))
			require.Equal(t, tt.want, marks(c.patch("/runs/crons/"+cron.str("cron_id"), `{`+lie+`}`).ok().json()))
			assistant := c.post("/assistants", `{"graph_id":"echo",`+said+`}`).ok()
			require.Equal(t, tt.want, marks(assistant.json()))
			require.Equal(t, tt.want, marks(c.patch("/assistants/"+assistant.str("assistant_id"), `{`+lie+`}`).ok().json()))
		}
	}
	// Ada sees all of the project, and what she changes stays where it is; Bob sees his workspace.
	his, hers := bob.thread(), ada.thread()
	ada.patch("/threads/"+his, `{"metadata":{"b":1}}`).ok()
	ada.post("/threads/"+his+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	require.Equal(t, [2]any{"acme", "blue"}, marks(bob.get("/threads/"+his).ok().json()))
	bob.get("/threads/" + hers).is(http.StatusNotFound)
	run, err := k.store.NewestRun(t.Context(), his)
	require.NoError(t, err)
	require.Equal(t, []string{"acme", "blue"}, []string{run.Project, run.Workspace})
}

// What was made before there were keys belongs to the default project.
func TestWhatHasNoProjectIsTheDefaultOnes(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	old := c.post("/threads", `{"metadata":{"a":1}}`).ok().str("thread_id")
	c.do(http.MethodPut, "/store/items", `{"namespace":["n"],"key":"k","value":{"v":1}}`).is(http.StatusNoContent)
	ada := c.as(bearer(c.post("/api/v1/projects/default/keys", `{"name":"ada","roles":["owner"]}`).is(http.StatusCreated).str("key")))
	ada.get("/threads/" + old).ok()
	require.Len(t, ada.post("/threads/search", `{}`).ok().list(), 1)
	require.Equal(t, "1", ada.post("/threads/count", `{"metadata":{"a":1}}`).ok().body)
	require.Contains(t, ada.get("/store/items?namespace=n&key=k").ok().body, `"v":1`)
	bound := c.as(bearer(ada.post("/api/v1/projects/default/keys", `{"roles":["viewer"],"workspace_id":"default"}`).is(http.StatusCreated).str("key")))
	bound.get("/threads/" + old).ok()
	elsewhere := c.as(bearer(ada.post("/api/v1/projects/default/keys", `{"roles":["viewer"],"workspace_id":"blue"}`).is(http.StatusCreated).str("key")))
	elsewhere.get("/threads/" + old).is(http.StatusNotFound)
}

func TestItemsAreKeptApart(t *testing.T) {
	t.Parallel()
	remember := agent.NewGraph[state]("remember").Node("say", func(ctx agent.Context, s state) (agent.Update, error) {
		if s.Note != "" {
			if err := ctx.Items().Put(ctx, []string{"memories"}, "k", []byte(`{"note":"`+s.Note+`"}`)); err != nil {
				return nil, err
			}
		}
		it, err := ctx.Items().Get(ctx, []string{"memories"}, "k")
		if err != nil {
			return nil, err
		}
		all, err := ctx.Items().Search(ctx, nil, nil, 0, 0)
		if err != nil || it == nil {
			return agent.Values{"answer": nil, "extra": map[string]any{"found": len(all)}}, err
		}
		return agent.Values{"answer": string(it.Value), "extra": map[string]any{"found": len(all), "at": all[0].Namespace}}, nil
	}).Edge(agent.Start, "say").Edge("say", agent.End).MustCompile()
	k := serveKeyed(t, server.Options{Agents: append(testAgents(), remember)})
	projects := []string{"default", "acme", "other"}
	holders := map[string]*client{}
	for _, p := range projects {
		holders[p] = k.holder(p, "ada", "owner")
	}
	says := func(c *client, note string) map[string]any {
		return c.post("/runs/wait", `{"assistant_id":"remember","input":{"note":"`+note+`"}}`).ok().json()
	}
	for _, p := range projects {
		c := holders[p]
		require.Nil(t, says(c, "")["answer"], "nobody else's memories")
		v := says(c, "of "+p)
		require.Equal(t, map[string]any{"found": 1.0, "at": []any{"memories"}}, v["extra"])
		c.do(http.MethodPut, "/store/items", `{"namespace":["n","m"],"key":"k","value":{"of":"`+p+`"}}`).is(http.StatusNoContent)
	}
	for _, p := range projects {
		c := holders[p]
		require.Equal(t, `{"note":"of `+p+`"}`, says(c, "")["answer"])
		item := c.get("/store/items?namespace=n.m&key=k").ok().json()
		require.Equal(t, map[string]any{"of": p}, item["value"])
		require.Equal(t, []any{"n", "m"}, item["namespace"], "the label isn't shown")
		require.Contains(t, c.get("/store/items?namespace=memories&key=k").ok().body, "of "+p, "agents and clients share them")
		for _, prefix := range []string{`[]`, `["n"]`, `["n","m"]`} {
			found := c.post("/store/items/search", `{"namespace_prefix":`+prefix+`}`).ok().json()["items"].([]any)
			for _, it := range found {
				require.Contains(t, []any{"n", "memories"}, it.(map[string]any)["namespace"].([]any)[0])
			}
			require.Len(t, found, map[string]int{`[]`: 2}[prefix]+map[bool]int{true: 1}[prefix != `[]`])
		}
		require.JSONEq(t, `{"namespaces":[["memories"],["n","m"]]}`, c.post("/store/namespaces", `{}`).ok().body)
		require.JSONEq(t, `{"namespaces":[["memories"],["n"]]}`, c.post("/store/namespaces", `{"max_depth":1}`).ok().body)
		require.JSONEq(t, `{"namespaces":[["n","m"]]}`, c.post("/store/namespaces", `{"prefix":["n"]}`).ok().body)
		c.do(http.MethodPut, "/store/items", `{"namespace":["~acme","n"],"key":"k","value":{}}`).is(http.StatusForbidden)
		c.get("/store/items?namespace=~acme.n&key=k").is(http.StatusForbidden)
		c.post("/store/namespaces", `{"prefix":["~other"]}`).is(http.StatusForbidden)
		c.post("/store/items/search", `{"namespace_prefix":["~other"]}`).is(http.StatusForbidden)
	}
	// Keys that are bound to a workspace have its items, and so have its runs; that of the default one shares the project's.
	for _, p := range []string{"default", "acme"} {
		for _, w := range []string{"blue", "red"} {
			c := k.boundTo(p, w)
			require.Nil(t, says(c, "")["answer"], "nobody else's memories")
			require.Equal(t, "null", c.get("/store/items?namespace=n.m&key=k").ok().body)
			require.Empty(t, c.post("/store/items/search", `{"namespace_prefix":[]}`).ok().json()["items"])
			require.JSONEq(t, `{"namespaces":[]}`, c.post("/store/namespaces", `{}`).ok().body)
			require.Equal(t, map[string]any{"found": 1.0, "at": []any{"memories"}}, says(c, w)["extra"])
			c.do(http.MethodPut, "/store/items", `{"namespace":["n"],"key":"k","value":{"of":"`+w+`"}}`).is(http.StatusNoContent)
			require.Contains(t, c.get("/store/items?namespace=n&key=k").ok().body, `"namespace":["n"]`)
			require.Contains(t, c.get("/store/items?namespace=memories&key=k").ok().body, `"note":"`+w+`"`)
			require.JSONEq(t, `{"namespaces":[["memories"],["n"]]}`, c.post("/store/namespaces", `{"max_depth":1}`).ok().body)
			c.get("/store/items?namespace=~" + p + ".n.m&key=k").is(http.StatusForbidden)
			c.do(http.MethodDelete, "/store/items", `{"namespace":["n","m"],"key":"k"}`).is(http.StatusNoContent)
		}
		require.Contains(t, k.boundTo(p, "default").get("/store/items?namespace=n.m&key=k").ok().body, `"of":"`+p+`"`)
		require.Len(t, holders[p].post("/store/items/search", `{"namespace_prefix":[]}`).ok().json()["items"], 2, "none of the workspaces'")
	}
	holders["acme"].do(http.MethodDelete, "/store/items", `{"namespace":["n","m"],"key":"k"}`).is(http.StatusNoContent)
	require.Equal(t, "null", holders["acme"].get("/store/items?namespace=n.m&key=k").ok().body)
	holders["other"].get("/store/items?namespace=n.m&key=k").ok()
	require.NotEqual(t, "null", holders["other"].get("/store/items?namespace=n.m&key=k").ok().body)
}

func TestSystemAssistantsAreEverybodys(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	system := thread.SystemAssistantID("echo")
	acme, owner, operator := k.holder("acme", "ada", "owner"), k.holder("default", "ada", "owner"), k.holder("default", "bob", "operator")
	for _, c := range []*client{acme, owner, operator} {
		c.get("/assistants/" + system).ok()
		c.get("/assistants/echo/schemas").ok()
		c.do(http.MethodDelete, "/assistants/"+system+"?delete_threads=true", "").is(http.StatusNotFound)
	}
	acme.patch("/assistants/"+system, `{"name":"stolen"}`).is(http.StatusNotFound)
	operator.patch("/assistants/"+system, `{"name":"stolen"}`).is(http.StatusNotFound)
	owner.patch("/assistants/"+system, `{"name":"renamed"}`).ok()
	require.Equal(t, "renamed", acme.get("/assistants/"+system).ok().str("name"))
	fake := acme.post("/assistants", `{"graph_id":"echo","metadata":{"created_by":"system"}}`).ok().str("assistant_id")
	owner.get("/assistants/" + fake).is(http.StatusNotFound)
}

// A cron's runs make threads of the cron's project.
func TestCronsMakeThreadsOfTheirProject(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	ada, eve := k.holder("acme", "ada", "owner"), k.holder("default", "eve", "owner")
	id := ada.post("/runs/crons", `{"assistant_id":"echo","schedule":"0 0 1 1 *","input":{},"on_run_completed":"keep"}`).ok().str("cron_id")
	require.NoError(t, k.fire(id, ada))
	ada.until("its thread is there", func() bool { return len(ada.post("/threads/search", "{}").ok().list()) == 1 })
	require.Empty(t, eve.post("/threads/search", "{}").ok().list())
}

// An Idempotency-Key is its project's: the same one of the same name elsewhere finds nothing of it.
func TestIdempotencyKeysAreKeptApartByProject(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	with := map[string]string{"Idempotency-Key": "nightly"}
	acme, other := k.holder("acme", "ci", "operator").as(with), k.holder("other", "ci", "operator").as(with)
	for _, path := range []string{"/runs/wait", "/runs/stream", "/runs"} {
		body := func(note string) string {
			return `{"assistant_id":"ask","on_completion":"keep","input":{"note":"` + note + `"}}`
		}
		first := acme.post(path, body("acme's")).ok()
		foreign := other.post(path, body("other's")).ok()
		require.NotContains(t, foreign.body, "acme's", path)
		require.NotEqual(t, first.header.Get("Content-Location"), foreign.header.Get("Content-Location"), path)
		again := acme.post(path, body("acme's")).ok()
		require.Equal(t, first.header.Get("Content-Location"), again.header.Get("Content-Location"), "%s: the owner's own repeat", path)
	}
}

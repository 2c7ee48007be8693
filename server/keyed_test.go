package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// keyed is a server with API keys.
type keyed struct {
	*client // without a key
	t       *testing.T
	store   *local.Store
}

// serveKeyed starts a server whose store has a key already.
func serveKeyed(t *testing.T, o server.Options) *keyed {
	t.Helper()
	store, err := local.Open(t.Context(), local.Options{Ephemeral: true, Logger: o.Logger})
	require.NoError(t, err)
	o.Store = store
	k := &keyed{t: t, store: store}
	k.make(apikeys.Request{Project: "unused", Roles: []string{"viewer"}})
	k.client = serveTest(t, o)
	return k
}

// make stores a key.
func (k *keyed) make(r apikeys.Request) (id, text string) {
	k.t.Helper()
	stored, text, err := apikeys.Create(k.t.Context(), k.store, r)
	require.NoError(k.t, err)
	return stored.ID, text
}

// holder is a client with a new key.
func (k *keyed) holder(project, name string, roles ...string) *client {
	k.t.Helper()
	_, text := k.make(apikeys.Request{Project: project, Name: name, Roles: roles})
	return k.as(bearer(text))
}

// boundTo is a client with a new owner's key that is bound to a workspace.
func (k *keyed) boundTo(project, workspace string) *client {
	k.t.Helper()
	_, text := k.make(apikeys.Request{Project: project, Workspace: workspace, Name: "bound", Roles: []string{"owner"}})
	return k.as(bearer(text))
}

func bearer(text string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + text}
}

// in is the client of a subtest.
func (c *client) in(t *testing.T) *client { return &client{t, c.url, c.headers} }

// asks creates a thread whose run has stopped at a question of an agent, and returns the interrupt's id.
func asks(c *client, agent string) (threadID, interruptID string) {
	c.t.Helper()
	threadID = c.thread()
	c.post("/threads/"+threadID+"/runs/wait", `{"assistant_id":"`+agent+`","input":{}}`).ok()
	state := c.get("/threads/" + threadID + "/state").ok().json()
	return threadID, questionsOf(state)[0]
}

// mark is what only the owner of a thing may read.
const mark = "acme-secret"

// acmesThings creates one of everything in a project.
func acmesThings(c *client, project string) belongings {
	c.t.Helper()
	b := belongings{"project_id": project, "workspace_id": thread.DefaultWorkspace, "session_id": "s", "delivery_id": missingID, "namespace": "x", "agent": "none"}
	b["assistant_id"] = c.post("/assistants", `{"graph_id":"ask","name":"`+mark+`"}`).ok().str("assistant_id")
	b["thread_id"] = c.post("/threads", `{"metadata":{"x":"`+mark+`"}}`).ok().str("thread_id")
	a := c.post("/threads/"+b["thread_id"]+"/runs/wait", `{"assistant_id":"`+b["assistant_id"]+`","input":{"note":"`+mark+`"}}`).ok()
	b["run_id"] = a.header.Get("Content-Location")[len("/threads/"+b["thread_id"]+"/runs/"):]
	b["execution_id"] = b["run_id"]
	b["checkpoint_id"] = c.get("/threads/" + b["thread_id"] + "/state").ok().json()["checkpoint"].(map[string]any)["checkpoint_id"].(string)
	b["cron_id"] = c.post("/runs/crons", `{"assistant_id":"ask","schedule":"0 0 1 1 *","input":{"note":"`+mark+`"}}`).ok().str("cron_id")
	c.do(http.MethodPut, "/store/items", `{"namespace":["n"],"key":"k","value":{"x":"`+mark+`"}}`).is(http.StatusNoContent)
	b["key_id"] = c.post("/api/v1/projects/"+project+"/keys", `{"roles":["viewer"],"name":"`+mark+`"}`).is(http.StatusCreated).str("id")
	b["review_id"] = c.get("/api/v1/projects/" + project + "/reviews").ok().json()["reviews"].([]any)[0].(map[string]any)["review_id"].(string)
	return b
}

// fire has a cron fire now, whatever its schedule says, and waits for that.
func (k *keyed) fire(id string, c *client) error {
	k.t.Helper()
	cron, err := k.store.GetCron(k.t.Context(), id)
	if err != nil {
		return err
	}
	cron.NextRun = time.Now().Add(-time.Second)
	if err := k.store.PutCron(k.t.Context(), cron); err != nil {
		return err
	}
	c.post("/runs/crons", `{"assistant_id":"echo","schedule":"0 0 1 1 *","input":{}}`).ok() // has the server look what is due
	c.until("it has fired", func() bool {
		cron, err = k.store.GetCron(k.t.Context(), id)
		return err != nil || cron.NextRun.After(time.Now())
	})
	return err
}

// lent is a store that somebody else closes.
type lent struct{ *local.Store }

// Close leaves the store open.
func (lent) Close() error { return nil }

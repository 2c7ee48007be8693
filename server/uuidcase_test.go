package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// An id in capitals is the same id: as another one, its thread would be missing where people look for what happened on it.
func TestIdsAreTheSameInCapitals(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := uuid.NewString()
	capitals := strings.ToUpper(id)
	require.Equal(t, id, c.post("/threads", `{"thread_id":"`+capitals+`"}`).ok().str("thread_id"))
	c.post("/threads", `{"thread_id":"`+id+`"}`).is(http.StatusConflict)
	run := c.post("/threads/"+capitals+"/runs", `{"assistant_id":"ask","input":{}}`).ok().str("run_id")
	c.get("/threads/" + capitals + "/runs/" + strings.ToUpper(run) + "/join").ok()
	require.Len(t, c.get("/threads/"+id+"/runs").ok().list(), 1)
	require.Len(t, c.post("/threads/search", `{"ids":["`+capitals+`"]}`).ok().list(), 1)
	question := questionsOf(c.get("/threads/" + capitals + "/state").ok().json())[0]
	c.post("/threads/"+capitals+"/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"`+question+`","response":"x"}}`).ok()
	require.Len(t, c.get("/threads/"+id+"/runs").ok().list(), 2)
	other := strings.ToUpper(uuid.NewString())
	c.post("/threads/"+other+"/runs/wait", `{"assistant_id":"echo","input":{},"if_not_exists":"create"}`).ok()
	c.get("/threads/" + strings.ToLower(other)).ok()
	c.do(http.MethodDelete, "/threads/"+other, "").is(http.StatusNoContent)
}

package reviews_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
)

// others are those of whom a caller is told.
func (c *client) others(id, body string) []string {
	c.t.Helper()
	names := []string{}
	for _, v := range c.post("/reviews/"+id+"/presence", body).ok().list("viewers") {
		name, ok := v["principal"].(string)
		if !ok {
			name = "somebody"
		}
		names = append(names, name)
	}
	return names
}

// Whoever looks at a review is told who else does, on whatever replica.
func TestReviewersSeeWhoElseLooks(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, bob := w.staff()
		_, id := op.question("patient", "Refund")
		_, other := op.question("patient", "Another")
		require.Empty(t, ann.others(id, "{}"))
		require.Equal(t, []string{"ann"}, bob.at(1).others(id, "{}"))
		require.Equal(t, []string{"bob"}, ann.others(id, "{}"))
		require.Equal(t, []string{"bob"}, ann.at(1).others(id, `{"tab":"second"}`), "one isn't another one in another tab")
		require.Equal(t, []string{"ann", "bob"}, w.person("eve", auth.RoleViewer).others(id, ""), "who may read may look")
		require.Empty(t, bob.others(other, "{}"), "it is about one review")
		require.Empty(t, bob.at(1).others(id, `{"leave":true}`))
		require.Equal(t, []string{"eve"}, ann.others(id, "{}"), "who has left isn't there")

		before := ann.get("/reviews/" + id).ok()
		ann.others(id, "{}")
		after := ann.get("/reviews/" + id).ok()
		require.Equal(t, before["updated_at"], after["updated_at"], "looking changes nothing")
		require.Equal(t, before["status"], after["status"])

		ann.post("/reviews/"+id+"/presence", `{"tab":"a b"}`).field(http.StatusBadRequest, "tab")
		ann.post("/reviews/"+id+"/presence", `{"leave":"yes"}`).field(http.StatusBadRequest, "leave")
		ann.post("/reviews/"+id+"/presence", `{"principal":"bob"}`).field(http.StatusBadRequest, "principal")
		stranger := w.holder(keys.Request{Project: "acme", Name: "ann", Roles: []string{auth.RoleOwner}})
		stranger.post("/reviews/"+id+"/presence", "{}").is(http.StatusNotFound)
	})
}

// Callers who need not say who they are are told apart by their tabs.
func TestAnonymousViewersAreToldApartByTheirTabs(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := &client{w: w, t: t, base: "/api/v1/projects/default"}
		_, id := c.question("plain", "?")
		require.Empty(t, c.others(id, `{"tab":"one"}`))
		require.Equal(t, []string{"somebody"}, c.at(1).others(id, `{"tab":"two"}`))
		require.Equal(t, []string{"somebody"}, c.others(id, `{"tab":"one"}`))
		require.Empty(t, c.others(id, `{"tab":"two","leave":true}`))
		require.Empty(t, c.at(1).others(id, `{"tab":"one"}`))
	})
}

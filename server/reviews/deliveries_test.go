package reviews_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
)

// What nobody took is listed, without what only its receiver should know, and can be sent again.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		var taken, refuse atomic.Int64
		refuse.Store(1)
		receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if refuse.Load() == 1 {
				rw.WriteHeader(http.StatusInternalServerError)
				return
			}
			taken.Add(1)
		}))
		t.Cleanup(receiver.Close)
		op, _, ann, _ := w.staff()
		threadID := op.do(http.MethodPost, "/threads", "{}").ok().text("thread_id")
		address := strings.Replace(receiver.URL, "http://", "http://user:pass-word@", 1) + "/hook?token=s3cr3t"
		op.do(http.MethodPost, "/threads/"+threadID+"/runs/wait", `{"assistant_id":"plain","input":{},"webhook":"`+address+`"}`).is(http.StatusOK)
		store, svc := w.store(), w.servers[0].Service()
		var id string
		op.until("it was tried", func() bool {
			due, err := svc.Store().DueDeliveries(t.Context(), time.Now().Add(24*time.Hour), 10)
			require.NoError(t, err)
			if len(due) == 0 || due[0].Attempt == 0 {
				return false
			}
			id = due[0].ID
			return true
		})
		require.Empty(t, op.get("/deliveries?dead=1").ok().list("deliveries"))
		require.NoError(t, store.FailDelivery(t.Context(), id, errors.New("Post "+address+": refused").Error()))
		list := op.at(1).get("/deliveries?dead=1").ok().list("deliveries")
		require.Len(t, list, 1)
		require.Equal(t, id, list[0]["delivery_id"])
		require.Equal(t, true, list[0]["dead"])
		require.Equal(t, receiver.URL+"/hook", list[0]["url"])
		require.NotContains(t, list[0].text("last_error"), "s3cr3t")
		require.NotContains(t, list[0].text("last_error"), "pass-word")
		require.NotEmpty(t, list[0]["dead_since"])
		other := w.holder(keys.Request{Name: "x", Project: "other", Roles: []string{auth.RoleOperator}})
		require.Empty(t, other.get("/deliveries?dead=1").ok().list("deliveries"))
		other.post("/deliveries/"+id+"/retry", "").code(http.StatusNotFound, "DELIVERY_NOT_FOUND")
		bound := w.holder(keys.Request{Name: "y", Workspace: "w", Roles: []string{auth.RoleOperator}})
		bound.get("/deliveries?dead=1").is(http.StatusForbidden)
		bound.post("/deliveries/"+id+"/retry", "").is(http.StatusForbidden)
		ann.get("/deliveries?dead=1").is(http.StatusForbidden)
		ann.post("/deliveries/"+id+"/retry", "").is(http.StatusForbidden)
		op.get("/deliveries").field(http.StatusBadRequest, "dead")
		refuse.Store(0)
		op.post("/deliveries/"+id+"/retry", "").ok()
		op.until("it is taken", func() bool { return taken.Load() == 1 })
		op.until("and gone", func() bool { return len(op.get("/deliveries?dead=1").ok().list("deliveries")) == 0 })
		op.post("/deliveries/"+id+"/retry", "").is(http.StatusNotFound)
	})
}

func TestWhatIsShownOfAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example/x?token=1#y":      "https://a.example/x",
		"https://user:p%40ss@a.example:8/x/": "https://a.example:8/x/",
		"https://a:b@c:d@e/x@y":              "https://e/x@y",
		"https://a.example?x=@b":             "https://a.example",
		"/runs/wait?key=1":                   "/runs/wait",
		"mailto:ann@example.org":             "mailto:ann@example.org",
	} {
		require.Equal(t, want, thread.Delivery{URL: address}.Shown(), address)
	}
}

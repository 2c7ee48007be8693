package server_test

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread/local"
)

func TestItems(t *testing.T) { // spec/rest-api.md 2.5
	t.Parallel()
	c := serveTest(t, server.Options{})
	put := func(body string) answer { return c.do(http.MethodPut, "/store/items", body) }
	require.Equal(t, "null", c.get("/store/items?namespace=a.b&key=k").ok().body, "a missing item is null")
	put(`{"namespace":["a","b"],"key":"k","value":{"x":1}}`).is(http.StatusNoContent)
	first := c.get("/store/items?namespace=a.b&key=k").ok().json()
	require.Equal(t, []any{"a", "b"}, first["namespace"])
	require.Equal(t, map[string]any{"x": float64(1)}, first["value"])
	put(`{"namespace":["a","b"],"key":"k","value":{"x":2}}`).is(http.StatusNoContent)
	second := c.get("/store/items?namespace=a.b&key=k").ok().json()
	require.Equal(t, first["created_at"], second["created_at"])
	require.GreaterOrEqual(t, second["updated_at"], first["updated_at"])
	put(`{"namespace":["a"],"key":"l","value":{"x":3},"index":false,"ttl":5}`).is(http.StatusNoContent)

	found := func(body string) int {
		return len(c.post("/store/items/search", body).ok().json()["items"].([]any))
	}
	require.Equal(t, 2, found(`{"namespace_prefix":[]}`))
	require.Equal(t, 2, found(`{"namespace_prefix":["a"],"query":"anything"}`))
	require.Equal(t, 1, found(`{"namespace_prefix":["a","b"]}`))
	require.Equal(t, 1, found(`{"namespace_prefix":["a"],"filter":{"x":{"$gt":2}}}`))
	require.Equal(t, 1, found(`{"namespace_prefix":["a"],"filter":{"x":2}}`))
	require.Equal(t, 1, found(`{"namespace_prefix":["a"],"limit":1,"offset":1}`))
	require.Zero(t, found(`{"namespace_prefix":["zzz"]}`))
	names := c.post("/store/namespaces", `{}`).ok().json()["namespaces"]
	require.Equal(t, []any{[]any{"a"}, []any{"a", "b"}}, names)
	require.Equal(t, []any{[]any{"a"}}, c.post("/store/namespaces", `{"max_depth":1}`).ok().json()["namespaces"])
	require.Equal(t, []any{[]any{"a", "b"}}, c.post("/store/namespaces", `{"prefix":["*","b"]}`).ok().json()["namespaces"])
	require.Equal(t, []any{}, c.post("/store/namespaces", `{"suffix":["zzz"]}`).ok().json()["namespaces"])

	c.do(http.MethodDelete, "/store/items", `{"namespace":["a","b"],"key":"k"}`).is(http.StatusNoContent)
	c.do(http.MethodDelete, "/store/items", `{"namespace":["a","b"],"key":"k"}`).is(http.StatusNoContent)
	require.Equal(t, "null", c.get("/store/items?namespace=a.b&key=k").ok().body)

	put(`{"namespace":[],"key":"k","value":{}}`).text(http.StatusBadRequest, "Namespace is required")
	put(`{"namespace":["a."],"key":"k","value":{}}`).text(http.StatusUnprocessableEntity, "Namespace labels cannot be empty or contain periods. Received: a.")
	put(`{"namespace":["langgraph"],"key":"k","value":{}}`).is(http.StatusUnprocessableEntity)
	put(`{"namespace":["a"],"key":"k"}`).fault("value")
	put(`{"namespace":["a"],"key":"k","value":1}`).fault("value")
	put(`{"namespace":"a","key":"k","value":{}}`).fault("namespace")
	c.get("/store/items?key=k").text(http.StatusBadRequest, "Namespace is required")
	c.get("/store/items?namespace=a").fault("key")
	c.do(http.MethodDelete, "/store/items", `{"key":"k"}`).text(http.StatusBadRequest, "Namespace is required")
	c.post("/store/items/search", `{}`).fault("namespace_prefix")
	c.post("/store/namespaces", `{"prefix":[]}`).fault("prefix")
}

func TestReadsStartTheTTLOfAnItemAnew(t *testing.T) { // spec/rest-api.md 2.5
	t.Parallel()
	var past atomic.Int64
	start := time.Now()
	store, err := local.Open(t.Context(), local.Options{Ephemeral: true, Clock: func() time.Time { return start.Add(time.Duration(past.Load())) }})
	require.NoError(t, err)
	c := serveTest(t, server.Options{Store: store})
	keys := []string{"got", "got not refreshed", "found", "found not refreshed", "forever"}
	for _, key := range keys {
		ttl := `,"ttl":1.5`
		if key == "forever" {
			ttl = ""
		}
		c.do(http.MethodPut, "/store/items", `{"namespace":["n"],"key":"`+key+`","value":{"is":"`+key+`"}`+ttl+`}`).is(http.StatusNoContent)
	}
	get := func(key, query string) string {
		return c.get("/store/items?namespace=n&key=" + url.QueryEscape(key) + query).ok().body
	}
	past.Add(int64(time.Minute))
	for _, query := range []string{"", "&refresh_ttl=true"} {
		require.NotEqual(t, "null", get("got", query))
	}
	require.NotEqual(t, "null", get("got not refreshed", "&refresh_ttl=false"))
	c.post("/store/items/search", `{"namespace_prefix":["n"],"filter":{"is":"found"}}`).ok()
	c.post("/store/items/search", `{"namespace_prefix":["n"],"refresh_ttl":false}`).ok()
	past.Add(int64(time.Minute))
	var left []string
	for _, key := range keys {
		if get(key, "&refresh_ttl=0") != "null" {
			left = append(left, key)
		}
	}
	require.Equal(t, []string{"got", "found", "forever"}, left)
	past.Add(int64(time.Minute))
	require.Equal(t, "null", get("got", ""))
	require.NotEqual(t, "null", get("forever", ""))
}

func TestCrons(t *testing.T) { // spec/rest-api.md 2.6
	t.Parallel()
	c := serveTest(t, server.Options{})
	made := c.post("/runs/crons", `{"assistant_id":"echo","schedule":"0 4 * * *","input":{"note":"x"},"metadata":{"a":1},"timezone":"Europe/Berlin"}`).ok().json()
	id := made["cron_id"].(string)
	require.Nil(t, made["thread_id"])
	require.Equal(t, true, made["enabled"])
	require.Equal(t, "delete", made["on_run_completed"])
	require.NotNil(t, made["next_run_date"])
	require.Equal(t, map[string]any{"note": "x"}, made["payload"].(map[string]any)["input"])
	require.Equal(t, echoID(c), made["assistant_id"])
	th := c.thread()
	onThread := c.post("/threads/"+th+"/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *","enabled":false,"end_time":"2099-01-01T00:00:00Z"}`).ok().json()
	require.Equal(t, th, onThread["thread_id"])
	require.Equal(t, "2099-01-01T00:00:00.000Z", onThread["end_time"])

	require.Len(t, c.post("/runs/crons/search", `{}`).ok().list(), 2)
	require.Len(t, c.post("/runs/crons/search", `{"thread_id":"`+th+`"}`).ok().list(), 1)
	require.Len(t, c.post("/runs/crons/search", `{"assistant_id":"echo","enabled":true}`).ok().list(), 1)
	require.Empty(t, c.post("/runs/crons/search", `{"assistant_id":"nope"}`).ok().list())
	require.Equal(t, "1", c.post("/runs/crons/count", `{"metadata":{"a":1}}`).ok().body)
	page := c.post("/runs/crons/search", `{"limit":1,"select":["cron_id"]}`).ok()
	require.Equal(t, "2", page.header.Get("X-Pagination-Total"))
	require.Len(t, page.list()[0], 1)

	patched := c.patch("/runs/crons/"+onThread["cron_id"].(string), `{"end_time":null,"schedule":"0 0 1 1 *","enabled":true,"input":{"note":"y"}}`).ok().json()
	require.Nil(t, patched["end_time"])
	require.Equal(t, "0 0 1 1 *", patched["schedule"])
	require.Equal(t, map[string]any{"note": "y"}, patched["payload"].(map[string]any)["input"])
	c.do(http.MethodDelete, "/runs/crons/"+id, "").is(http.StatusNoContent)
	c.do(http.MethodDelete, "/runs/crons/"+id, "").text(http.StatusNotFound, "Cron not found")
	c.patch("/runs/crons/"+id, `{}`).text(http.StatusNotFound, "Cron not found")

	c.post("/runs/crons", `{"assistant_id":"echo"}`).fault("schedule")
	c.post("/runs/crons", `{"assistant_id":"echo","schedule":"nope"}`).fault("schedule")
	c.post("/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *","timezone":"Mars/Base"}`).fault("timezone")
	c.post("/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *","end_time":"soon"}`).fault("end_time")
	c.post("/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *","stream_mode":"nope"}`).fault("stream_mode", float64(0))
	c.post("/runs/crons", `{"assistant_id":"nope","schedule":"* * * * *"}`).is(http.StatusNotFound)
	c.post("/threads/"+missingID+"/runs/crons", `{"assistant_id":"echo","schedule":"* * * * *"}`).text(http.StatusNotFound, "Thread with ID "+missingID+" not found")
}

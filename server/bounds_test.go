package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-dev/parley/server"
)

// One request can't keep the store busy for minutes: it is told how much may be asked for.
func TestWhatARequestAsksForIsBounded(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	keys := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"k%d":1`, i)
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	long := `{"x":"` + strings.Repeat("x", 256<<10) + `"}`
	fits := `{"x":"` + strings.Repeat("x", 255<<10) + `"}`
	id := c.thread()
	for path, key := range map[string]string{
		"/threads/search": "metadata", "/threads/count": "values", "/assistants/search": "metadata", "/assistants/count": "metadata",
		"/runs/crons/search": "metadata", "/threads/" + id + "/history": "metadata", "/store/items/search": "filter",
	} {
		more := ""
		if key == "filter" {
			more = `,"namespace_prefix":[]`
		}
		c.post(path, `{"`+key+`":`+keys(100)+more+`}`).ok()
		c.post(path, `{"`+key+`":`+keys(101)+more+`}`).fault(key)
	}
	for _, path := range []string{"/threads", "/assistants", "/threads/" + id + "/runs", "/runs/crons"} {
		c.post(path, `{"assistant_id":"echo","graph_id":"echo","schedule":"0 0 1 1 *","metadata":`+long+`}`).fault("metadata")
	}
	c.patch("/threads/"+id, `{"metadata":`+long+`}`).fault("metadata")
	c.patch("/threads/"+id, `{"metadata":`+fits+`}`).ok()
	ids := `["` + strings.Repeat(uuid.NewString()+`","`, 10_000) + uuid.NewString() + `"]`
	c.post("/threads/search", `{"ids":`+ids+`}`).fault("ids")
	c.post("/threads/prune", `{"thread_ids":`+ids+`}`).fault("thread_ids")
	run := `{"assistant_id":"echo","input":{}}`
	c.post("/runs/batch", "["+strings.Repeat(run+",", 1000)+run+"]").is(http.StatusBadRequest)
}

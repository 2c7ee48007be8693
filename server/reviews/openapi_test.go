package reviews_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"
)

// TestRepliesFitTheDocument validates real requests and replies against openapi.json.
func TestRepliesFitTheDocument(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, owner, ann, _ := w.staff()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(owner.do(http.MethodGet, "/openapi.json", "").is(http.StatusOK).body))
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	doc.Servers = openapi3.Servers{{URL: w.urls[0]}}
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/csv", openapi3filter.FileBodyDecoder)
	check := func(c *client, method, path, body string, status int) object {
		t.Helper()
		a := c.do(method, c.base+path, body).is(status)
		r, err := http.NewRequestWithContext(t.Context(), method, w.urls[0]+c.base+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		route, params, err := router.FindRoute(r)
		require.NoError(t, err, path)
		in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
		}}
		if status < http.StatusBadRequest {
			require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), "%s %s", method, path)
		}
		require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewBufferString(a.body)), Options: in.Options,
		}), "%s %s: %s", method, path, a.body)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			return nil
		}
		return a.json()
	}
	const get, post = http.MethodGet, http.MethodPost
	_, id := op.question("clerk", "pay Ann, mail Bob")
	_, late := op.question("patient", "Refund")
	_, plain := op.question("plain", "?")
	at := "/reviews/" + id
	check(ann, get, "/reviews?status=open&limit=10&min_age=0&q=ann", "", 200)
	check(ann, get, at, "", 200)
	check(ann, post, at+"/claim", `{"for":"1h"}`, 200)
	check(ann, post, at+"/comments", `{"text":"hm"}`, 200)
	check(ann, post, at+"/release", `{}`, 200)
	check(ann, post, "/reviews/"+late+"/extend", `{"by":60}`, 200)
	check(ann, post, at+"/decide", `{"decision":"no such"}`, 400)
	check(ann, post, at+"/decide", `{"decisions":[{"type":"approve"},{"type":"reject"}],"notes":"n","suspend_generation":1}`, 200)
	check(ann, post, "/reviews/"+plain+"/decide", `{"answer":{"x":[1]}}`, 200)
	check(ann, get, "/reviews/"+plain, "", 200)
	check(owner, post, at+"/decide", `{"decision":"reject"}`, 409)
	check(op, post, at+"/decide", `{"decision":"reject"}`, 403)
	check(op, get, "/reviews/none", "", 404)
	check(owner, get, "/audit?order=asc&limit=5", "", 200)
	check(owner, get, "/audit/export?format=jsonl", "", 200)
	check(owner, get, "/audit/export?format=csv", "", 200)
	check(owner, get, "/audit/verify", "", 200)
	check(op, get, "/audit", "", 403)
	check(op, get, "/deliveries?dead=1", "", 200)
	check(op, get, "/deliveries", "", 400)
	check(op, post, "/deliveries/none/retry", "", 404)
}

package server_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// document loads and checks openapi.json as it is served.
func document(t *testing.T, c *client) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(c.get("/openapi.json").ok().body))
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}

var parameter = regexp.MustCompile(`:(\w+)`)

func TestOpenAPIAndRouterAgree(t *testing.T) {
	t.Parallel()
	o := server.Options{Truncate: true, UI: map[string]server.UI{"x": {}}, MCP: &server.MCP{}}
	doc := document(t, serveTest(t, o))
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	o.Ephemeral, o.Agents = true, testAgents()
	s, err := server.New(o)
	require.NoError(t, err)
	var served []string
	for _, r := range s.Routes() {
		path := strings.Replace(parameter.ReplaceAllString(r.Path, "{$1}"), "*", "{file}", 1)
		served = append(served, r.Method+" "+path)
	}
	require.NoError(t, s.Shutdown(t.Context()))
	sort.Strings(described)
	sort.Strings(served)
	require.Equal(t, served, described)
}

// TestRepliesFitTheDocument validates real replies against the schemas.
func TestRepliesFitTheDocument(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	doc := document(t, c)
	doc.Servers = openapi3.Servers{{URL: c.url}}
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	check := func(method, path, body string, status int) answer {
		t.Helper()
		a := c.do(method, path, body)
		a.is(status)
		r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		route, params, err := router.FindRoute(r)
		require.NoError(t, err)
		in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
		}}
		if status < http.StatusBadRequest {
			require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), "%s %s", method, path)
		}
		header := a.header.Clone()
		header.Set("Content-Type", strings.TrimSuffix(strings.ReplaceAll(header.Get("Content-Type"), ";charset=UTF-8", ""), "; charset=utf-8"))
		require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in, Status: a.status, Header: header, Body: io.NopCloser(bytes.NewBufferString(a.body)), Options: in.Options,
		}), "%s %s: %s", method, path, a.body)
		return a
	}
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	check(get, "/ok", "", 200)
	check(get, "/readyz", "", 200)
	check(get, "/livez", "", 200)
	check(get, "/info", "", 200)
	id := check(post, "/threads", `{"metadata":{"a":1}}`, 200).str("thread_id")
	at := "/threads/" + id
	check(post, at+"/runs/wait", `{"assistant_id":"ask","input":{"note":"x"}}`, 200)
	check(get, at, "", 200)
	check(get, at+"/state", "", 200)
	check(post, at+"/history", `{"limit":10}`, 200)
	check(post, "/threads/search", `{"status":"interrupted"}`, 200)
	check(post, "/threads/count", `{}`, 200)
	run := check(post, at+"/runs", `{"assistant_id":"ask","command":{"resume":true},"stream_mode":["values"]}`, 200).str("run_id")
	check(get, at+"/runs/"+run+"/join", "", 200)
	check(get, at+"/runs/"+run, "", 200)
	check(get, at+"/runs", "", 200)
	check(post, at+"/runs", `{"assistant_id":"ask","command":{"resume":true}}`, 409)
	check(post, at+"/runs", `{}`, 400)
	check(post, at+"/runs", `{"assistant_id":"nope"}`, 404)
	check(post, at+"/state", `{"values":{"note":"y"}}`, 200)
	check(post, at+"/copy", "", 200)
	check(patch, at, `{"metadata":{"b":2}}`, 200)
	check(post, "/assistants/search", `{}`, 200)
	check(get, "/assistants/ask", "", 200)
	check(get, "/assistants/ask/graph", "", 200)
	check(get, "/assistants/ask/schemas", "", 200)
	made := check(post, "/assistants", `{"graph_id":"ask"}`, 200).str("assistant_id")
	check(post, "/assistants/"+made+"/versions", `{}`, 200)
	cron := check(post, "/runs/crons", `{"assistant_id":"ask","schedule":"* * * * *"}`, 200).str("cron_id")
	check(post, "/runs/crons/search", `{}`, 200)
	check(del, "/runs/crons/"+cron, "", 204)
	check(put, "/store/items", `{"namespace":["a"],"key":"k","value":{}}`, 204)
	check(get, "/store/items?namespace=a&key=k", "", 200)
	check(get, "/store/items?namespace=a&key=none", "", 200)
	check(post, "/store/items/search", `{"namespace_prefix":[]}`, 200)
	check(post, "/store/namespaces", `{}`, 200)
	const api = "/api/v1/projects/default"
	check(post, api+"/workspaces/default/invoke", `{"message":"x"}`, 200)
	asked := check(post, api+"/workspaces/default/invoke", `{"agent":"ask","message":"x"}`, 200).str("execution_id")
	check(post, api+"/executions?workspace_id=default", `{"agent":"ask","input":{}}`, 202)
	check(get, api+"/executions?status=suspended&limit=1", "", 200)
	check(get, api+"/executions/"+asked, "", 200)
	check(post, api+"/executions/"+asked+"/interrupt", `{"step_number":1}`, 200)
	check(post, api+"/executions/"+asked+"/resume?workspace_id=default", `{"decision":""}`, 400)
	check(post, api+"/executions/"+asked+"/resume?workspace_id=default", `{"decision":"yes","suspend_generation":9}`, 409)
	check(post, api+"/executions/"+asked+"/resume?workspace_id=default", `{"decision":"yes"}`, 200)
	check(post, api+"/workspaces/default/invoke", `{}`, 400)
	check(get, api+"/executions/none", "", 404)
	check(get, api+"/sessions/none/runs", "", 404)
	check(del, at, "", 204)
	check(get, at, "", 404)
}

func TestDocsNeedNoNetwork(t *testing.T) {
	t.Parallel()
	page := serveTest(t, server.Options{}).get("/docs").ok()
	require.Equal(t, "text/html; charset=UTF-8", page.header.Get("Content-Type"))
	require.Contains(t, page.body, "/threads/{thread_id}/runs/stream")
	require.NotRegexp(t, `(src|href)="https?:`, page.body)
	require.NotContains(t, page.body, "<script")
}

// A reader finds each field of a request, its type and what it means, without opening the document.
func TestDocsShowTheFieldsOfRequests(t *testing.T) {
	t.Parallel()
	page := serveTest(t, server.Options{}).get("/docs").ok().body
	_, create, found := strings.Cut(page, "<code>/threads/{thread_id}/runs/stream</code>")
	require.True(t, found)
	create, _, _ = strings.Cut(create, "</details>")
	for _, row := range []string{
		"<code>thread_id</code> path</td><td><code>uuid</code> Thread.",
		"<code>assistant_id</code> body</td><td><code>string, required</code> Assistant UUID or graph id.",
		"<code>command</code> body</td><td><code>Command or null</code> Answers, update and goto; wins over input.",
		"<code>409</code> </td><td><code>CodedError</code> The thread&#39;s state does not allow it.",
	} {
		require.Contains(t, create, row)
	}
	require.Contains(t, page, "<details><summary><code>Command</code>", "what is called by name is described")
	require.NotContains(t, page, "$ref")
}

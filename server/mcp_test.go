package server_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// host is an MCP host: the SDK's client.
type host struct {
	t        *testing.T
	session  *sdk.ClientSession
	progress chan string
}

// headerTransport adds headers to each request.
type headerTransport struct{ headers map[string]string }

func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.headers {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (c *client) host(version string) *host {
	c.t.Helper()
	h := &host{t: c.t, progress: make(chan string, 1000)}
	session, err := h.connect(version, &sdk.StreamableClientTransport{
		Endpoint: c.url + "/mcp", HTTPClient: &http.Client{Transport: headerTransport{c.headers}},
	})
	require.NoError(c.t, err)
	h.session = session
	c.t.Cleanup(func() { _ = session.Close() })
	return h
}

func (h *host) connect(version string, t sdk.Transport) (*sdk.ClientSession, error) {
	return sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { h.progress <- r.Params.Message },
	}).Connect(h.t.Context(), t, &sdk.ClientSessionOptions{ProtocolVersion: version})
}

// outcome is a result as hosts read it.
type mcpOutcome struct {
	Text       string
	IsError    bool
	ThreadID   string `json:"thread_id"`
	RunID      string `json:"run_id"`
	Status     string `json:"status"`
	Error      string `json:"error"`
	Interrupts []struct {
		ID             string          `json:"interrupt_id"`
		Value          json.RawMessage `json:"value"`
		ResponseSchema json.RawMessage `json:"response_schema"`
	} `json:"interrupts"`
}

func (h *host) call(name string, args map[string]any) mcpOutcome {
	h.t.Helper()
	res, err := h.session.CallTool(h.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	require.NoError(h.t, err)
	return outcomeOf(h.t, res)
}

func outcomeOf(t *testing.T, res *sdk.CallToolResult) mcpOutcome {
	t.Helper()
	var o mcpOutcome
	if res.StructuredContent != nil {
		raw, err := json.Marshal(res.StructuredContent)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &o))
	}
	o.IsError = res.IsError
	for _, c := range res.Content {
		o.Text += c.(*sdk.TextContent).Text
	}
	return o
}

// protocols are the versions that hosts speak: with a handshake, and without.
var protocols = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func TestAgentsAreToolsOfMCPHosts(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := serveTest(t, server.Options{MCP: &server.MCP{}}).host(version)
			list, err := h.session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			tools := map[string]*sdk.Tool{}
			for _, found := range list.Tools {
				tools[found.Name] = found
			}
			require.Len(t, tools, len(testAgents())+1)
			raw, err := json.Marshal(tools["echo"].InputSchema)
			require.NoError(t, err)
			require.JSONEq(t, `["message"]`, string(pickKey(t, raw, "required")))
			raw, err = json.Marshal(tools["two"].InputSchema)
			require.NoError(t, err)
			require.JSONEq(t, `["input"]`, string(pickKey(t, raw, "required")), "an agent without messages")
			require.True(t, *tools["resume"].Annotations.DestructiveHint)

			first := h.call("echo", map[string]any{"message": "hi"})
			require.Equal(t, []any{"hello", "success", false}, []any{first.Text, first.Status, first.IsError})
			require.NotEmpty(t, first.RunID)
			again := h.call("echo", map[string]any{"message": "hi again", "thread_id": first.ThreadID})
			require.Equal(t, first.ThreadID, again.ThreadID)
			require.NotEqual(t, first.RunID, again.RunID)

			failed := h.call("fail", map[string]any{"message": "hi"})
			require.Equal(t, []any{"CustomError: Boo!", "error", true}, []any{failed.Text, failed.Status, failed.IsError})
		})
	}
}

func pickKey(t *testing.T, raw json.RawMessage, key string) json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &m))
	return m[key]
}

func TestAQuestionIsAnsweredThroughMCP(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{MCP: &server.MCP{}})
	h := c.host("")
	asked := h.call("checked", map[string]any{"message": "hi"})
	require.Equal(t, []any{"interrupted", false}, []any{asked.Status, asked.IsError})
	require.Len(t, asked.Interrupts, 1)
	require.JSONEq(t, `{"ask":"checked"}`, string(asked.Interrupts[0].Value))
	require.Contains(t, string(asked.Interrupts[0].ResponseSchema), "approved")
	require.Contains(t, asked.Text, `{"ask":"checked"}`)

	busy := h.call("checked", map[string]any{"message": "never mind", "thread_id": asked.ThreadID})
	require.True(t, busy.IsError)
	require.Contains(t, busy.Text, "use the tool resume", "a message doesn't drop the question")

	wrong := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "answer": map[string]any{"approved": "maybe"}})
	require.True(t, wrong.IsError)
	require.Contains(t, wrong.Text, "invalid_answer")

	done := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "answer": map[string]any{"approved": true}})
	require.Equal(t, []any{"success", false}, []any{done.Status, done.IsError})
	require.Equal(t, asked.ThreadID, done.ThreadID)
	state := c.get("/threads/" + done.ThreadID + "/state").ok().json()
	require.Equal(t, map[string]any{"approved": true}, state["values"].(map[string]any)["answer"])

	late := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "interrupt_id": asked.Interrupts[0].ID, "answer": map[string]any{"approved": false}})
	require.True(t, late.IsError)
	require.Contains(t, late.Text, "already_decided")
	none := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "answer": 1})
	require.Contains(t, none.Text, "doesn't wait")
}

func TestOneOfTwoQuestionsHasToBeNamed(t *testing.T) {
	t.Parallel()
	h := serveTest(t, server.Options{MCP: &server.MCP{}}).host("")
	asked := h.call("two", map[string]any{"input": map[string]any{}})
	require.Len(t, asked.Interrupts, 2)
	vague := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "answer": "x"})
	require.True(t, vague.IsError)
	require.Contains(t, vague.Text, asked.Interrupts[1].ID)
	second := asked.Interrupts[0] // which one is first is chance
	if string(second.Value) != `"b"` {
		second = asked.Interrupts[1]
	}
	left := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "interrupt_id": second.ID, "answer": "x"})
	require.Equal(t, "interrupted", left.Status)
	require.Len(t, left.Interrupts, 1)
	done := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "answer": "y"})
	require.Equal(t, "success", done.Status)
	require.JSONEq(t, `{"a":"y","b":"x","log":["a","b"]}`, done.Text, "an agent without messages says its state")
}

func TestDecisionsMakeTheAnswerOfAReview(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		`{"actionRequests":[{"name":"a"},{"name":"b"}]}`: `{"decisions":[{"type":"reject","message":"no"},{"type":"reject","message":"no"}]}`,
		`{"action_requests":[{"name":"a"}]}`:             `{"decisions":[{"type":"reject","message":"no"}]}`,
		`{"form":"x"}`:                                   `{"type":"reject","message":"no"}`,
	} {
		t.Run(question, func(t *testing.T) {
			t.Parallel()
			review := agent.NewGraph[state]("review").Node("ask", func(ctx agent.Context, _ state) (agent.Update, error) {
				got, err := agent.Interrupt[any](ctx, json.RawMessage(question))
				if err != nil {
					return nil, err
				}
				return agent.Set("answer", got), nil
			}).Edge(agent.Start, "ask").MustCompile()
			c := serveTest(t, server.Options{MCP: &server.MCP{}, Agents: []agent.Agent{review}})
			h := c.host("")
			asked := h.call("review", map[string]any{"message": "hi"})
			done := h.call("resume", map[string]any{"thread_id": asked.ThreadID, "decision": "reject", "message": "no"})
			require.Equal(t, "success", done.Status)
			got, err := json.Marshal(c.get("/threads/" + done.ThreadID + "/state").ok().json()["values"].(map[string]any)["answer"])
			require.NoError(t, err)
			require.JSONEq(t, want, string(got))
		})
	}
}

func TestWhatMCPHostsAskForWrongly(t *testing.T) {
	t.Parallel()
	h := serveTest(t, server.Options{MCP: &server.MCP{}}).host("")
	const unknown = "01932b6e-0000-7000-8000-000000000000"
	for _, c := range []struct {
		tool string
		args map[string]any
		says string
	}{
		{"echo", map[string]any{}, "message"},
		{"echo", map[string]any{"message": 7}, "message"},
		{"echo", map[string]any{"message": "x", "thread_id": "here"}, "thread_id"},
		{"echo", map[string]any{"message": "x", "thread_id": unknown}, "not found"},
		{"resume", map[string]any{}, "thread_id"},
		{"resume", map[string]any{"thread_id": unknown, "answer": 1}, "not found"},
		{"resume", map[string]any{"thread_id": unknown}, "either answer or decision"},
		{"resume", map[string]any{"thread_id": unknown, "answer": 1, "decision": "approve"}, "either answer or decision"},
		{"resume", map[string]any{"thread_id": unknown, "decision": "perhaps"}, "decision"},
	} {
		got := h.call(c.tool, c.args)
		require.True(t, got.IsError, "%v", c)
		require.Contains(t, strings.ToLower(got.Text), c.says)
	}
	_, err := h.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "nobody"})
	require.ErrorContains(t, err, "nobody")
}

func TestMCPOffersWhatTheOptionsSay(t *testing.T) {
	t.Parallel()
	names := func(o server.Options) []string {
		list, err := serveTest(t, o).host("").session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var all []string
		for _, found := range list.Tools {
			all = append(all, found.Name)
		}
		return all
	}
	require.Equal(t, []string{"ask", "echo"}, names(server.Options{MCP: &server.MCP{Agents: []string{"echo", "ask"}, WithoutResume: true}}))
	require.Equal(t, []string{"echo", "resume"}, names(server.Options{MCP: &server.MCP{Agents: []string{"echo"}}}))
	serveTest(t, server.Options{}).post("/mcp", "{}").is(http.StatusNotFound)
	serveTest(t, server.Options{MCP: &server.MCP{}}).get("/mcp").is(http.StatusMethodNotAllowed)

	only := serveTest(t, server.Options{MCP: &server.MCP{Agents: []string{"echo"}}})
	id := only.post("/threads", "{}").ok().json()["thread_id"].(string)
	only.post("/threads/"+id+"/runs/wait", `{"assistant_id":"ask","input":{}}`).ok()
	hidden := only.host("").call("resume", map[string]any{"thread_id": id, "answer": 1})
	require.True(t, hidden.IsError, "an agent that isn't offered can't be resumed either")

	graph := func(name string) agent.Agent {
		return agent.NewGraph[state](name).Node("n", func(agent.Context, state) (agent.Update, error) { return nil, nil }).Edge(agent.Start, "n").MustCompile()
	}
	for says, o := range map[string]server.Options{
		`no agent "none"`:                {MCP: &server.MCP{Agents: []string{"none"}}},
		`both be the tool "a_b"`:         {Agents: []agent.Agent{graph("a b"), graph("a.b")}, MCP: &server.MCP{}},
		`would both be the tool "resume`: {Agents: []agent.Agent{graph("resume")}, MCP: &server.MCP{}},
	} {
		o.Ephemeral = true
		if o.Agents == nil {
			o.Agents = testAgents()
		}
		_, err := server.New(o)
		require.ErrorContains(t, err, says)
	}
}

// Threads belong to who made them, through MCP as anywhere (D-102).
func TestMCPAsksWhoCalls(t *testing.T) {
	t.Parallel()
	own := func(_ context.Context, e *auth.Event) (auth.Filter, error) {
		e.Value.SetMetadata("owner", e.User.Identity)
		return auth.Equal("owner", e.User.Identity), nil
	}
	c := serveTest(t, server.Options{MCP: &server.MCP{}, Auth: &auth.Hooks{
		Authenticate: auth.APIKeys(map[string]string{"k-ann": "ann", "k-bob": "bob"}), On: map[string]auth.Authorizer{"threads": own},
	}})
	c.post("/mcp", `{}`).is(http.StatusUnauthorized)
	ann, bob := c.as(map[string]string{"X-Api-Key": "k-ann"}), c.as(map[string]string{"X-Api-Key": "k-bob"})
	asked := ann.host("").call("checked", map[string]any{"message": "hi"})
	require.Equal(t, "interrupted", asked.Status)
	for tool, args := range map[string]map[string]any{
		"checked": {"message": "x", "thread_id": asked.ThreadID}, "resume": {"answer": map[string]any{"approved": true}, "thread_id": asked.ThreadID},
	} {
		got := bob.host("").call(tool, args)
		require.True(t, got.IsError)
		require.Equal(t, "Thread with ID "+asked.ThreadID+" not found", got.Text)
	}
	require.Equal(t, "success", ann.host("").call("resume", map[string]any{"answer": map[string]any{"approved": true}, "thread_id": asked.ThreadID}).Status)
	runs := ann.get("/threads/" + asked.ThreadID + "/runs").ok()
	require.Contains(t, runs.body, `"identity":"ann"`)
}

// talker says "Hello" and waits to say "world".
func talker(heard <-chan struct{}) agent.Agent {
	return agent.NewGraph[state]("talker").Node("talk", func(ctx agent.Context, _ state) (agent.Update, error) {
		m := agent.StreamMessage(ctx, agent.MessageOptions{ID: ctx.NewID()})
		m.Chunk(message.Chunk{Text: "Hello"})
		select {
		case <-heard:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		m.Chunk(message.Chunk{Text: " world"})
		return agent.Set("messages", []message.Message{m.Finish()}), nil
	}).Edge(agent.Start, "talk").MustCompile()
}

func TestMCPHostsHearWhatAnAgentSays(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			heard := make(chan struct{})
			h := serveTest(t, server.Options{MCP: &server.MCP{}, Agents: []agent.Agent{talker(heard)}}).host(version)
			params := &sdk.CallToolParams{Name: "talker", Arguments: map[string]any{"message": "hi"}}
			params.SetProgressToken("p1")
			done := make(chan mcpOutcome, 1)
			go func() {
				res, err := h.session.CallTool(t.Context(), params)
				if err == nil {
					done <- outcomeOf(t, res)
				}
				close(done)
			}()
			require.Equal(t, "Hello", <-h.progress)
			close(heard)
			require.Equal(t, "Hello world", (<-done).Text)
		})
	}
}

// A signal isn't the host's word: the run is there at the next start.
func TestASignalLeavesTheRunsOfMCPCalls(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Ephemeral: true, MCP: &server.MCP{}, Agents: []agent.Agent{talker(make(chan struct{}))}})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	in, out := net.Pipe()
	signalled, signal := context.WithCancel(t.Context())
	defer signal()
	ended := make(chan error, 1)
	go func() { ended <- server.ServeMCPOver(s, signalled, in, in) }()
	h := &host{t: t, progress: make(chan string, 100)}
	session, err := h.connect("", &sdk.IOTransport{Reader: out, Writer: out})
	require.NoError(t, err)
	params := &sdk.CallToolParams{Name: "talker", Arguments: map[string]any{"message": "hi"}}
	params.SetProgressToken("p1")
	called := make(chan struct{})
	go func() { defer close(called); _, _ = session.CallTool(t.Context(), params) }()
	require.Equal(t, "Hello", <-h.progress)
	signal()
	require.NoError(t, <-ended)
	<-called
	threads, _, err := s.Service().SearchThreads(t.Context(), thread.ThreadQuery{Limit: 10}, nil)
	require.NoError(t, err)
	require.Len(t, threads, 1)
	runs, err := s.Service().ListRuns(t.Context(), threads[0].ID, thread.RunQuery{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, thread.RunRunning, runs[0].Status)
	stopped, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(stopped))
}

// A host that calls off a call doesn't leave a run behind.
func TestACallThatIsCancelledCancelsItsRun(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{MCP: &server.MCP{}, Agents: []agent.Agent{talker(make(chan struct{}))}})
	h := c.host("2026-07-28")
	ctx, cancel := context.WithCancel(t.Context())
	params := &sdk.CallToolParams{Name: "talker", Arguments: map[string]any{"message": "hi"}}
	params.SetProgressToken("p1")
	done := make(chan error, 1)
	go func() {
		_, err := h.session.CallTool(ctx, params)
		done <- err
	}()
	require.Equal(t, "Hello", <-h.progress)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	c.until("the run is cancelled", func() bool {
		body := c.post("/threads/search", `{"metadata":{"source":"mcp"}}`).ok().body
		var threads []struct {
			ID string `json:"thread_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &threads))
		require.Len(t, threads, 1)
		return strings.Contains(c.get("/threads/"+threads[0].ID+"/runs").ok().body, `"status":"interrupted"`)
	})
}

func TestAShutdownEndsMCPCallsAndLeavesTheirRuns(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Ephemeral: true, MCP: &server.MCP{}, Agents: []agent.Agent{talker(make(chan struct{}))}})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	in, out := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.ServeMCPOver(s, t.Context(), in, in) }()
	h := &host{t: t, progress: make(chan string, 100)}
	session, err := h.connect("", &sdk.IOTransport{Reader: out, Writer: out})
	require.NoError(t, err)
	params := &sdk.CallToolParams{Name: "talker", Arguments: map[string]any{"message": "hi"}}
	params.SetProgressToken("p1")
	done := make(chan mcpOutcome, 1)
	go func() {
		res, err := session.CallTool(t.Context(), params)
		if err == nil {
			done <- outcomeOf(t, res)
		}
		close(done)
	}()
	require.Equal(t, "Hello", <-h.progress)
	stopped, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(stopped))
	got := <-done
	require.Equal(t, []any{"running", true}, []any{got.Status, got.IsError})
	require.NotEmpty(t, got.RunID)
	require.NoError(t, session.Close())
	require.NoError(t, <-ended)
}

func TestParleyIsAHostsChild(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	args, err := json.Marshal([]string{"mcp", "--ephemeral", "--agents", "first"})
	require.NoError(t, err)
	cmd.Env = append(os.Environ(), childEnv+"="+string(args))
	h := &host{t: t}
	session, err := h.connect("", &sdk.CommandTransport{Command: cmd})
	require.NoError(t, err)
	h.session = session
	require.Equal(t, "hello", h.call("echo", map[string]any{"message": "hi"}).Text)
	require.NoError(t, session.Close(), "it ends with its input, with code 0")
}

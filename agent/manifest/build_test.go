package manifest_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/manifest"
	"github.com/parley-dev/parley/agent/message"
)

func build(t *testing.T, m *manifest.Manifest, o manifest.BuildOptions) (*manifest.Agents, error) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	agents, err := m.Build(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, agents.Close()) })
	}
	return agents, err
}

// made are the agents of a file.
func made(t *testing.T, source string) *manifest.Agents {
	t.Helper()
	m, err := parse(source)
	require.NoError(t, err)
	agents, err := build(t, m, manifest.BuildOptions{})
	require.NoError(t, err)
	return agents
}

// talk is a thread with one of the agents.
func talk(t *testing.T, agents *manifest.Agents, name string) *agenttest.Thread {
	t.Helper()
	for _, a := range agents.List() {
		if a.Name() == name {
			g, err := a.Graph(t.Context(), agent.Config{})
			require.NoError(t, err)
			thread := agenttest.New(g)
			thread.Clock().AutoAdvance = true
			return thread
		}
	}
	t.Fatalf("no agent %s", name)
	return nil
}

func say(t *testing.T, thread *agenttest.Thread, text string) agenttest.Result {
	t.Helper()
	r, err := thread.Run(t.Context(), map[string]any{"messages": []any{map[string]string{"role": "user", "content": text}}})
	require.NoError(t, err)
	require.Nil(t, r.Err)
	return r
}

func messages(t *testing.T, thread *agenttest.Thread) []message.Message {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	var all []message.Message
	for _, m := range s.State.Messages()["messages"].All() {
		all = append(all, m)
	}
	return all
}

// spoken is the conversation, one text per message.
func spoken(t *testing.T, thread *agenttest.Thread) []string {
	t.Helper()
	var all []string
	for _, m := range messages(t, thread) {
		all = append(all, m.Type+": "+m.Text())
	}
	return all
}

func names(agents *manifest.Agents) []string {
	var all []string
	for _, a := range agents.List() {
		all = append(all, a.Name())
	}
	return all
}

func TestAgentsComeInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	agents := made(t, "agents:\n  z: {model: scripted:echo, description: Z., subagents: [m]}\n  m: {model: scripted:echo, internal: true, description: M.}\n  a: {model: scripted:echo}\n")
	require.Equal(t, []string{"z", "a"}, names(agents), "without the internal one")
	described, ok := agents.List()[0].(interface{ Description() string })
	require.True(t, ok)
	require.Equal(t, "Z.", described.Description())
}

func TestPromptsAreShownToTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "prompts"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prompts", "a.md"), []byte("From a file.\n\n"), 0o600))
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Path+" "+r.Header.Get("X-Team")+" "+r.Header.Get("Authorization")+" "+string(b))
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	path := filepath.Join(dir, "agents.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), []byte("s3cret\n"), 0o600))
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(`
models:
  m:
    model: openai:tiny
    base_url: ${URL}/v1
    api_key_file: key
    temperature: 0.5
    max_tokens: 77
    retries: 0
    headers: {X-Team: "${TEAM:-none}"}
agents:
  a: {model: m, prompt_file: prompts/a.md, tools: [now]}
  b: {model: m, prompt: Said here.}
`, "\t", "  ")), 0o600))
	m, err := manifest.Read(path, manifest.Options{Lookup: func(name string) (string, bool) { return s.URL, name == "URL" }})
	require.NoError(t, err)
	require.Equal(t, []string{path, filepath.Join(dir, "prompts", "a.md")}, m.Files())
	agents, err := build(t, m, manifest.BuildOptions{})
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		_, err := talk(t, agents, name).Run(t.Context(), map[string]any{"messages": "hi"})
		require.NoError(t, err)
	}
	require.Len(t, asked, 2)
	for _, part := range []string{"/v1/chat/completions none Bearer s3cret", "From a file.\"", `"temperature":0.5`, `77`, `"tiny"`, `"name":"now"`} {
		require.Contains(t, asked[0], part)
	}
	require.Contains(t, asked[1], `"Said here."`)
	require.NotContains(t, asked[1], "now")
}

func TestAModelWithoutKeyIsAFaultAtTheStart(t *testing.T) {
	t.Parallel()
	m, err := parse("models:\n  m: {model: anthropic:x, api_key_env: MY_KEY}\nagents:\n  a: {model: m}\n  b: {model: openai:gpt-5-mini}\n")
	require.NoError(t, err)
	_, err = build(t, m, manifest.BuildOptions{})
	require.Equal(t, []string{
		"agents.yaml:2:6: models.m: the model anthropic:x has no key: environment variable MY_KEY is empty",
		"agents.yaml:5:14: agents.b.model: the model openai:gpt-5-mini has no key: environment variable OPENAI_API_KEY is empty",
	}, lines(t, err))
	agents, err := build(t, m, manifest.BuildOptions{LateKeys: true})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, agents.Summarize(&b))
	require.Equal(t, "a\n  model      m (anthropic:x)\n             the model anthropic:x has no key: environment variable MY_KEY is empty\n\n"+
		"b\n  model      openai:gpt-5-mini\n             the model openai:gpt-5-mini has no key: environment variable OPENAI_API_KEY is empty\n", b.String())
}

const desk = `
models:
  demo:
    script:
      - when: ticket
        turns:
          - say: I will open a ticket.
            call:
              - {tool: create_ticket, args: {title: "{human}", tags: [a, "{human}"], n: 1}}
              - {tool: calculator, args: {expression: 6 * 7}}
          - say: "Done: {result}"
      - when: research
        turns:
          - call: [{tool: task, args: {description: "{human}", subagent_type: helper}}]
          - say: "The helper said: {result}"
      - turns: [{say: "You said: {human}"}]
  price:
    model: scripted:echo
tools:
  create_ticket:
    description: Opens a ticket.
    parameters:
      type: object
      required: [title]
      properties: {title: {type: string}, tags: {type: array, items: {type: string}}, n: {type: integer}}
    http: {method: POST, url: "${URL}/tickets", headers: {Authorization: "Bearer ${TOKEN}"}}
  delete_ticket:
    description: Deletes a ticket.
    parameters: {type: object, required: [id], properties: {id: {type: integer}}}
    http: {method: DELETE, url: "${URL}/tickets/{id}"}
agents:
  support:
    model: demo
    tools: [create_ticket, delete_ticket, calculator]
    review:
      create_ticket: {decisions: [approve, reject], description: A ticket for the desk.}
    casing: snake
    subagents: [helper]
    limits: {steps: 10}
  careless:
    model: demo
    tools: [create_ticket, delete_ticket]
    review: {"*_ticket": true, delete_ticket: false}
  one_by_one:
    model: demo
    tools: [create_ticket, calculator]
    review: {create_ticket: true}
    review_mode: per_call
  helper: {model: "scripted:echo", description: Repeats., internal: true}
`

// office is the desk file, with a service behind it that notes the requests.
func office(t *testing.T) (*manifest.Agents, *[]string) {
	t.Helper()
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(b))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ticket": 7}`)
	}))
	t.Cleanup(s.Close)
	m, err := manifest.Parse("agents.yaml", []byte(desk), manifest.Options{Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"URL": s.URL, "TOKEN": "t0ken"}[name]
		return v, ok
	}})
	require.NoError(t, err)
	agents, err := build(t, m, manifest.BuildOptions{})
	require.NoError(t, err)
	return agents, &seen
}

func TestAReviewedToolRunsOnceItIsApproved(t *testing.T) {
	t.Parallel()
	agents, seen := office(t)
	thread := talk(t, agents, "support")
	require.True(t, say(t, thread, "a ticket, please").Suspended)
	require.Empty(t, *seen)
	pending := thread.Pending()
	require.Len(t, pending, 1)
	require.JSONEq(t, `{
		"action_requests":[{"name":"create_ticket","args":{"title":"a ticket, please","tags":["a","a ticket, please"],"n":1},"description":"A ticket for the desk."}],
		"review_configs":[{"action_name":"create_ticket","allowed_decisions":["approve","reject"]}]}`, string(pending[0].Value))
	_, err := thread.Resume(t.Context(), json.RawMessage(`{"decisions":[{"type":"approve"}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{`POST /tickets Bearer t0ken {"n":1,"tags":["a","a ticket, please"],"title":"a ticket, please"}`}, *seen)
	require.Equal(t, []string{
		"human: a ticket, please", "ai: I will open a ticket.", `tool: {"ticket":7}`, "tool: 42", "ai: Done: 42",
	}, spoken(t, thread))
	require.Equal(t, "support", messages(t, thread)[1].Name)

	say(t, thread, "thanks")
	require.Equal(t, "ai: You said: thanks", spoken(t, thread)[6])
	require.True(t, say(t, thread, "another ticket").Suspended, "a new call has an id of its own")
	_, err = thread.Resume(t.Context(), json.RawMessage(`{"decisions":[{"type":"reject","message":"no"}]}`))
	require.NoError(t, err)
	require.Len(t, *seen, 1)
}

func TestToolsThatDestroyAreReviewedUnlessTheFileSaysNo(t *testing.T) {
	t.Parallel()
	agents, _ := office(t)
	var b strings.Builder
	require.NoError(t, agents.Summarize(&b))
	require.Equal(t, `support
  model      demo (a script)
  tools      create_ticket, delete_ticket, calculator
  review     create_ticket: approve, reject
             delete_ticket: approve, edit, reject, respond
  subagents  helper
  limits     10 steps

careless
  model      demo (a script)
  tools      create_ticket, delete_ticket
  review     create_ticket: approve, edit, reject, respond

one_by_one
  model      demo (a script)
  tools      create_ticket, calculator
  review     create_ticket: approve, edit, reject, respond

helper (internal)
  model      scripted:echo
`, b.String())
}

func TestPerCallReviewAsksWhereTheToolRuns(t *testing.T) {
	t.Parallel()
	agents, seen := office(t)
	thread := talk(t, agents, "one_by_one")
	require.True(t, say(t, thread, "a ticket").Suspended)
	pending := thread.Pending()
	require.Len(t, pending, 1)
	require.Contains(t, string(pending[0].Value), `"type":"tool_approval"`)
	_, err := thread.Resume(t.Context(), json.RawMessage(`{"type":"approve"}`))
	require.NoError(t, err)
	require.Len(t, *seen, 1)
	require.Equal(t, `ai: Done: 42`, spoken(t, thread)[4])
}

func TestSubagentsAreAskedByTheTaskTool(t *testing.T) {
	t.Parallel()
	agents, _ := office(t)
	thread := talk(t, agents, "support")
	say(t, thread, "research this")
	require.Equal(t, []string{"human: research this", "ai: ", "tool: research this", "ai: The helper said: research this"}, spoken(t, thread))
}

func TestLimitsEndATurn(t *testing.T) {
	t.Parallel()
	source := func(onLimit string) string {
		return `
models:
  m:
    price: {input: 1, output: 1}
    script: [{turns: [{call: [{tool: now}]}, {call: [{tool: now}]}, {say: Done.}]}]
agents:
  a: {model: m, tools: [now], limits: {steps: 2, cost: 5, on_limit: ` + onLimit + `}}
`
	}
	thread := talk(t, made(t, source("stop")), "a")
	say(t, thread, "hi")
	all := spoken(t, thread)
	require.Contains(t, all[len(all)-1], "2 steps")
	r, err := talk(t, made(t, source("fail")), "a").Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	require.Equal(t, "LimitError", r.Err.Name)
}

func TestContextAndOutputReachTheAgent(t *testing.T) {
	t.Parallel()
	agents := made(t, `
models:
  m:
    script: [{turns: [{call: [{tool: order, args: {id: 7}}]}, {say: Done.}]}]
agents:
  talker:
    model: scripted:echo
    context: {trim: {messages: 2}, summarise: {messages: 3, keep: 1}}
  typed:
    model: m
    output: {title: order, type: object, required: [id], properties: {id: {type: integer}}}
`)
	thread := talk(t, agents, "talker")
	for _, text := range []string{"one", "two", "three"} {
		say(t, thread, text)
	}
	require.Contains(t, string(messages(t, thread)[0].AdditionalKwargs), "summarization")
	typed := talk(t, agents, "typed")
	r := say(t, typed, "hi")
	require.Nil(t, r.Err)
	require.Equal(t, `tool: {"id":7}`, spoken(t, typed)[2])
}

func TestAScriptSaysWhichMessageItDoesntKnow(t *testing.T) {
	t.Parallel()
	thread := talk(t, made(t, "models:\n  m: {script: [{when: Hello, turns: [{say: Hi.}]}]}\nagents:\n  a: {model: m}\n"), "a")
	say(t, thread, "hello there")
	r, err := thread.Run(t.Context(), map[string]any{"messages": "what?"})
	require.NoError(t, err)
	require.ErrorContains(t, errorOf(r.Err), "the script of model m has no rule for this message")
}

func errorOf(e *agent.ErrorInfo) error {
	if e == nil {
		return nil
	}
	return &agent.NamedError{Name: e.Name, Message: e.Message}
}

// D-95: deadlines of the file are those of the agent's reviews.
func TestDeadlinesOfTheFile(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]*agent.Expiry{
		"{}":              nil,
		"{deadline: 48h}": {After: 48 * time.Hour, Answer: json.RawMessage(`{"decisions":[{"type":"expired"}]}`)},
		"{deadline: 4h, warn: 30m, on_expiry: {action: escalate, role: team:finance, then: respond, message: later}}": {
			After: 4 * time.Hour, Warn: 30 * time.Minute, Action: agent.ExpireEscalate, Role: "team:finance", Then: agent.ExpireRespond, Message: "later",
			Answer: json.RawMessage(`{"decisions":[{"type":"respond","message":"later"}]}`),
		},
	} {
		agents := made(t, `
models: {m: {script: [{turns: [{call: [{tool: now}]}, {say: Done.}]}]}}
agents: {a: {model: m, tools: [now], review: {now: `+rule+`}}}
`)
		thread := talk(t, agents, "a")
		require.True(t, say(t, thread, "what time is it?").Suspended)
		require.Equal(t, want, thread.Pending()[0].Expiry)
	}
}

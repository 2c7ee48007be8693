package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// long is how long a test waits for what comes at once on a machine at rest.
const long = 90 * time.Second

// fileServer is the command line, serving a file of agents.
type fileServer struct {
	*client
	cmd          *exec.Cmd
	path         string
	stdout, errs syncBuffer
}

// serveFile starts parley serve --config with a file's content.
func serveFile(t *testing.T, content string, env ...string) *fileServer {
	t.Helper()
	s := &fileServer{client: &client{t: t}, path: filepath.Join(t.TempDir(), "agents.yaml")}
	s.write(content)
	args, err := json.Marshal([]string{"serve", "--config", s.path, "--port", "0"})
	require.NoError(t, err)
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	s.cmd.Env = append(append(os.Environ(), childEnv+"="+string(args), "PARLEY_EPHEMERAL=1"), env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.errs
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, s.cmd.Wait())
		}
	})
	s.eventually("the server listens", func() bool {
		s.url = regexp.MustCompile(`http://[^ ]+`).FindString(s.stdout.String())
		return s.url != ""
	})
	return s
}

// write replaces the file in one go, as careful editors do.
func (s *fileServer) write(content string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.path+"~", []byte(content), 0o600))
	require.NoError(s.t, os.Rename(s.path+"~", s.path))
}

func (s *fileServer) eventually(what string, ok func() bool) {
	s.t.Helper()
	require.Eventually(s.t, ok, long, 10*time.Millisecond, "%s\nstdout: %s\nstderr: %s", what, &s.stdout, &s.errs)
}

// changes counts the changes that the server has told of.
func (s *fileServer) changes() int { return strings.Count(s.stdout.String(), "has changed") }

// rewrite writes the file and waits for its agents.
func (s *fileServer) rewrite(content string) {
	s.t.Helper()
	before := s.changes()
	s.write(content)
	s.eventually("the change is seen", func() bool { return s.changes() > before })
}

// says is what an agent answers on a thread.
func (s *fileServer) says(thread, agent, text string) string {
	s.t.Helper()
	v := s.post("/threads/"+thread+"/runs/wait", fmt.Sprintf(`{"assistant_id":%q,"input":{"messages":[{"role":"user","content":%q}]}}`, agent, text)).ok().json()
	return lastText(s.t, v)
}

func lastText(t *testing.T, values map[string]any) string {
	t.Helper()
	all, ok := values["messages"].([]any)
	require.True(t, ok, "%v", values)
	text, ok := all[len(all)-1].(map[string]any)["content"].(string)
	require.True(t, ok, "%v", values)
	return text
}

// speaker is an agent that says a word of its own.
func speaker(name, word string) string {
	return fmt.Sprintf("models:\n  m: {script: [{turns: [{say: %q}]}]}\nagents:\n  %s: {model: m}\n", word, name)
}

func TestAgentsCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	good := file("good.yaml", speaker("a", "hi")+"    tools: [now]\n")
	require.NoError(t, os.WriteFile(good, []byte("mcp:\n  gone: {command: /does/not/exist}\nagents:\n  a: {model: \"scripted:echo\", tools: [now, gone.x], review: {now: true}}\n"), 0o600))
	one := file("one.yaml", "agents:\n  a: {promt: x}\n")
	many := file("many.yaml", "agents:\n  a: {model: x, tools: [nwo]}\n")
	for name, c := range map[string]struct {
		args      []string
		code      int
		out, errs []string
	}{
		"a file that is right": {[]string{good}, 0, []string{"a\n  model      scripted:echo\n  tools      now\n  not seen   gone.x\n  review     now: approve, edit, reject, respond\n             gone.x: as its server says\n"}, nil},
		"with its servers":     {[]string{good, "--connect"}, 1, nil, []string{good + ":2:3: mcp.gone: the server can't be reached"}},
		"a mistake": {[]string{one}, 1, nil, []string{
			"parley: " + one + " has 2 mistakes:\n\n", one + ":2:3: agents.a: missing: model", one + `:2:7: agents.a.promt: unknown key; did you mean "prompt"?`, ">    2 |   a: {promt: x}\n       |       ^",
		}},
		"mistakes of other kinds": {[]string{many}, 1, nil, []string{"has 2 mistakes", `there is no model "x"`, `there is no tool "nwo"; did you mean "now"?`}},
		"no file":                 {[]string{filepath.Join(dir, "none.yaml")}, 1, nil, []string{"none.yaml doesn't exist"}},
		"a flag that isn't":       {[]string{good, "--nope"}, 2, nil, []string{"--nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := command(append([]string{"agents", "check"}, c.args...)...)
			require.Equal(t, c.code, code, errs)
			for _, text := range c.out {
				require.Equal(t, text, out)
			}
			for _, text := range c.errs {
				require.Contains(t, errs, text)
			}
			require.Equal(t, c.code == 1, out == "", "nothing but the answer is on the standard output")
		})
	}
}

func TestAgentsSchema(t *testing.T) {
	t.Parallel()
	code, out, _ := command("agents", "schema")
	require.Zero(t, code)
	want, err := os.ReadFile("../docs/agents.schema.json")
	require.NoError(t, err)
	require.Equal(t, string(want), out)
}

func TestAFileThatIsWrongStartsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agents.yaml")
	serve := func(content string, args ...string) string {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		code, out, errs := command(append([]string{"serve", "--ephemeral", "--port", "0", "--config", path}, args...)...)
		require.Equal(t, 1, code)
		require.Empty(t, out)
		return errs
	}
	require.Contains(t, serve("agents: {a: {model: x}}\n"), `there is no model "x"`)
	require.Contains(t, serve("mcp: {m: {command: /does/not/exist}}\nagents: {a: {model: \"scripted:echo\", tools: [m.*]}}\n"), "mcp.m: the server can't be reached")
	require.Contains(t, serve("models: {m: {model: \"openai:x\", api_key_env: PARLEY_TEST_NO_KEY}}\nagents: {a: {model: m}}\n"), "has no key")
	require.Contains(t, serve(speaker("echo", "hi"), "--agents", "first"), `agent "echo" is in `+path+` and among the agents that are served beside it`)
}

func TestAFileIsServedBesideSetsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	alone := serveFile(t, speaker("mine", "hi"))
	require.Contains(t, alone.stdout.String(), "(agents mine; data in memory)")
	both := serveFile(t, speaker("mine", "hi"), "PARLEY_AGENTS=third")
	require.Contains(t, both.stdout.String(), "(agents ask, mine; ")
	require.Equal(t, "hi", both.says(both.thread(), "mine", "x"))
	both.rewrite(speaker("yours", "hi"))
	require.Contains(t, both.stdout.String(), "has changed: agents ask, yours\n")
	both.post("/threads/"+both.thread()+"/runs/wait", `{"assistant_id":"ask","input":{}}`).ok()
}

func TestAgentsFollowTheirFile(t *testing.T) {
	t.Parallel()
	s := serveFile(t, speaker("a", "one"))
	th := s.thread()
	require.Equal(t, "one", s.says(th, "a", "x"))

	s.rewrite(speaker("a", "two"))
	require.Equal(t, "two", s.says(th, "a", "x"))

	s.write(speaker("a", "three") + "  b: {promt: m}\n")
	s.eventually("the mistakes are logged", func() bool {
		return strings.Contains(s.errs.String(), "agents.b.promt: unknown key") && strings.Contains(s.errs.String(), "the agents stay as they were")
	})
	require.Equal(t, "two", s.says(th, "a", "x"), "a file that is wrong changes nothing")
	require.NoError(t, os.Remove(s.path))
	s.eventually("the file is missed", func() bool { return strings.Contains(s.errs.String(), "doesn't exist") })
	require.Equal(t, "two", s.says(th, "a", "x"))

	s.rewrite(speaker("b", "four"))
	require.Equal(t, "four", s.says(s.thread(), "b", "x"))
	found := s.post("/assistants/search", `{}`).ok().list()
	require.Len(t, found, 1, "the list follows")
	require.Equal(t, "b", found[0]["graph_id"])
	s.get("/assistants/b/schemas").ok()
	s.get("/assistants/a/schemas").is(http.StatusNotFound)

	s.post("/threads/"+th+"/runs", `{"assistant_id":"a","input":{}}`).text(http.StatusNotFound,
		`No assistant found for "a". Make sure the assistant ID is for a valid assistant or a valid graph ID.`)
	state := s.get("/threads/" + th + "/state").ok().json()
	require.Equal(t, "two", lastText(t, state["values"].(map[string]any)), "what was said can be read")
	s.post("/threads/"+th+"/history", `{}`).ok()

	before := s.changes()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	s.eventually("a SIGHUP has it read again, changed or not", func() bool { return s.changes() > before })
}

// A review policy that changes with the file is in the audit log, from what to what; the file's other changes aren't.
func TestAChangedReviewPolicyIsAudited(t *testing.T) {
	t.Parallel()
	agents := func(word, rule string) string {
		return fmt.Sprintf("models:\n  m: {script: [{turns: [{say: %q}]}]}\nagents:\n  a:\n    model: m\n    tools: [now]\n    review:\n      now: %s\n", word, rule)
	}
	s := serveFile(t, agents("one", "{decisions: [approve, reject]}"))
	changes := func() (list []any) {
		for _, e := range s.get("/api/v1/projects/default/audit?action=policy.changed&order=asc").ok().json()["entries"].([]any) {
			e := e.(map[string]any)
			body := e["body"].(map[string]any)
			require.Equal(t, []any{"a", "now", nil}, []any{e["agent"], body["tool"], e["principal"]})
			require.Equal(t, map[string]any{"kind": "system", "via": "serve"}, body["actor"])
			list = append(list, body["detail"])
		}
		return list
	}
	first := map[string]any{"decisions": []any{"approve", "reject"}}
	want := []any{map[string]any{"before": nil, "after": first}}
	require.Equal(t, want, changes())
	s.rewrite(agents("two", "{decisions: [approve, reject]}"))
	require.Equal(t, want, changes(), "another word is no change of the policy")
	s.rewrite(agents("two", "{decisions: [approve], deadline: 48h}"))
	second := map[string]any{"decisions": []any{"approve"}, "deadline": "48h0m0s", "on_expiry": "reject"}
	want = append(want, map[string]any{"before": first, "after": second})
	require.Equal(t, want, changes())
	require.Equal(t, true, s.get("/api/v1/projects/default/audit/verify").ok().json()["valid"])
	require.Empty(t, s.get("/api/v1/projects/default/keys").ok().json()["keys"], "what is recorded is no key")
	s.get("/threads/" + s.thread()).ok() // nor does anybody need one now
}

func TestAPromptFileIsWatchedToo(t *testing.T) {
	t.Parallel()
	const content = "agents:\n  a: {model: \"scripted:echo\", prompt_file: prompt.md}\n"
	s := serveFile(t, speaker("a", "one"))
	prompt := filepath.Join(filepath.Dir(s.path), "prompt.md")
	s.write(content)
	s.eventually("the missing prompt is told of", func() bool { return strings.Contains(s.errs.String(), "prompt.md doesn't exist") })
	before := s.changes()
	require.NoError(t, os.WriteFile(prompt, []byte("Be brief."), 0o600))
	s.eventually("the file that was missing is there", func() bool { return s.changes() > before })
	before = s.changes()
	require.NoError(t, os.WriteFile(prompt, []byte("Be very brief."), 0o600))
	s.eventually("the prompt has changed", func() bool { return s.changes() > before })
}

// A run that executes goes on with the agent that it began with; a suspended one takes the new
// one, and the answer to a question that the new one can't take is refused.
func TestRunsOutliveAChangeOfTheirFile(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 9), make(chan struct{})
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "done")
	}))
	t.Cleanup(desk.Close)
	file := func(word, review, tools string) string {
		return `
models:
  m:
    script:
      - {when: look, turns: [{call: [{tool: look}]}, {say: "` + word + `: {result}"}]}
      - {when: pay, turns: [{call: [{tool: pay}]}, {say: "` + word + `: {result}"}]}
      - {turns: [{say: "` + word + `"}]}
tools:
  look: {description: Looks., http: {url: "` + desk.URL + `"}}
  pay: {description: Pays., http: {method: POST, url: "` + desk.URL + `"}}
agents:
  a: {model: m, tools: ` + tools + `, review: ` + review + `}
`
	}
	s := serveFile(t, file("old", "{pay: true}", "[look, pay]"))
	busy, waiting, lost := s.thread(), s.thread(), s.thread()
	ask := func(th, text string) string {
		return s.post("/threads/"+th+"/runs", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"`+text+`"}]}}`).ok().str("run_id")
	}
	for _, th := range []string{waiting, lost} {
		s.get("/threads/" + th + "/runs/" + ask(th, "pay") + "/join").ok()
		require.Equal(t, "interrupted", s.get("/threads/"+th).ok().str("status"))
	}
	run := ask(busy, "look")
	select {
	case <-entered:
	case <-time.After(long):
		t.Fatal("the tool isn't called")
	}
	s.rewrite(file("new", "{pay: {decisions: [approve]}}", "[pay]"))
	require.Equal(t, "new", s.says(s.thread(), "a", "hi"))
	close(release)
	require.Equal(t, "old: done", lastText(t, s.get("/threads/"+busy+"/runs/"+run+"/join").ok().json()), "with the tool that is gone from the file")

	answer := `{"assistant_id":"a","command":{"resume":{"decisions":[{"type":"approve"}]}}}`
	require.Equal(t, "new: done", lastText(t, s.post("/threads/"+waiting+"/runs/wait", answer).ok().json()), "the new agent goes on where the old one asked")

	s.rewrite(file("newest", "{}", "[pay]"))
	s.post("/threads/"+lost+"/runs/wait", answer).code(http.StatusConflict, "graph_changed")
	require.Equal(t, "interrupted", s.get("/threads/"+lost).ok().str("status"), "the question stays open")
	s.rewrite(file("back", "{pay: true}", "[pay]"))
	require.Equal(t, "back: done", lastText(t, s.post("/threads/"+lost+"/runs/wait", answer).ok().json()))
}

func TestReplaceAgentsRefusesWhatAServerWouldRefuse(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Ephemeral: true, Agents: testAgents()[:1]})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.WithoutCancel(t.Context()))) })
	_, err = s.ReplaceAgents(t.Context(), append(testAgents()[:1], testAgents()[0]))
	require.ErrorContains(t, err, "two agents are named")
}

package server_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

// childEnv makes the test binary run as the command line, so that signals can be tested.
const childEnv = "PARLEY_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		var list []string
		if err := json.Unmarshal([]byte(args), &list); err != nil {
			panic(err)
		}
		os.Exit(server.RunCommandLine(testOptions(), list, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// testOptions are a program with two sets that overlap.
func testOptions() server.Options {
	only := func(names ...string) func() server.Options {
		return func() server.Options {
			var o server.Options
			for _, a := range testAgents() {
				for _, n := range names {
					if a.Name() == n {
						o.Agents = append(o.Agents, a)
					}
				}
			}
			return o
		}
	}
	return server.Options{Version: "1.2.3", Sets: []server.Set{
		{Name: "first", Options: only("echo", "slow")},
		{Name: "second", Options: only("ask", "echo")},
		{Name: "third", Options: only("ask")},
	}}
}

// command runs the command line to its end.
func command(args ...string) (code int, out, errs string) {
	var stdout, stderr syncBuffer
	code = server.RunCommandLine(testOptions(), args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestMistakesOfServeNameTheFlag(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--auth-issuer needs --auth-audience":                             {"--auth-issuer", "https://i.example"},
		"--notify mailto:a@b.example needs --smtp-addr and --smtp-from":   {"--notify", "mailto:a@b.example"},
		"--webhook-allow (Options.WebhookInside)":                         {"--webhook-allow", "10.0.0.0/99"},
		"no parameter \"prefx\"; of this one there are prefix, pool_size": {"--redis", "redis://127.0.0.1:1?prefx=a:"},
		"parley: manifest: nowhere.yaml doesn't exist\n":                  {"--config", "nowhere.yaml"},
		"--data and --redis exclude each other":                           {"--data", "x", "--redis", "redis://127.0.0.1:1"},
		"--auth-audience and --auth-jwks need --auth-issuer":              {"--auth-audience", "a"},
	} {
		if args[0] != "--data" {
			args = append(args, "--ephemeral")
		}
		code, out, said := command(append([]string{"serve", "--port", "0"}, args...)...)
		require.NotZero(t, code, args)
		require.Empty(t, out, args)
		require.Contains(t, said, want)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	code, out, _ := command("version")
	require.Zero(t, code)
	require.Equal(t, "parley 1.2.3\n", out)
	code, out, _ = command("--help")
	require.Zero(t, code)
	require.Contains(t, out, "serve")
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no command":    {nil, 2, "expected"},
		"unknown flag":  {[]string{"serve", "--nope"}, 2, "--nope"},
		"unknown set":   {[]string{"serve", "--ephemeral", "--agents", "nope"}, 1, `unknown set of agents "nope"; known: first, second, third`},
		"same agent":    {[]string{"serve", "--ephemeral", "--agents", "first,second"}, 1, `agent "echo" is in both first and second`},
		"both places":   {[]string{"serve", "--ephemeral", "--data", "x"}, 1, "--data and --ephemeral exclude each other"},
		"port no digit": {[]string{"serve", "--port", "x"}, 2, "--port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, errs := command(tt.args...)
			require.Equal(t, tt.code, code)
			require.Contains(t, errs, tt.says)
		})
	}
}

func TestTakenPortIsAnError(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // a listener of the test
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	code, _, errs := command("serve", "--ephemeral", "--port", port)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "in use")
}

// childCommand is the command line as a process.
func childCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	list, err := json.Marshal(args)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+string(list)), env...)
	return cmd
}

// child starts the command line as a process; url is what it printed.
func child(t *testing.T, env []string, args ...string) (cmd *exec.Cmd, url, line string) {
	t.Helper()
	cmd = childCommand(t, env, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	b := make([]byte, 4096)
	n, err := out.Read(b)
	require.NoError(t, err)
	line = string(b[:n])
	url = regexp.MustCompile(`http://[^ ]+`).FindString(line)
	require.NotEmpty(t, url, line)
	return cmd, url, line
}

func TestServeUntilSignal(t *testing.T) {
	t.Parallel()
	cmd, url, line := child(t, []string{"PARLEY_PORT=0", "PARLEY_EPHEMERAL=true", "PARLEY_AGENTS=first,third"}, "serve")
	require.Equal(t, 1, strings.Count(line, "\n"), "one clear line")
	require.Contains(t, line, "echo, slow, ask")
	c := &client{t: t, url: url}
	c.get("/ok").ok()
	c.post("/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"ask","input":{}}`).ok()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

func TestNextFreePort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:2024")
	if err == nil { // else somebody else has it: just as well
		defer l.Close() //nolint:errcheck // a listener of the test
	}
	cmd, url, line := child(t, []string{"PARLEY_EPHEMERAL=1"}, "serve")
	require.Contains(t, line, "Port 2024 is taken")
	port, err := strconv.Atoi(url[strings.LastIndexByte(url, ':')+1:])
	require.NoError(t, err)
	require.Greater(t, port, 2024)
	(&client{t: t, url: url}).get("/ok").ok()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

// TestKilledServerLosesNothingThatWasTold: D-20
func TestKilledServerLosesNothingThatWasTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"PARLEY_PORT=0", "PARLEY_DATA=" + dir, "PARLEY_AGENTS=first,third"}
	cmd, url, _ := child(t, env, "serve")
	c := &client{t: t, url: url}
	id, ids := interrupted(c, "ask")
	busy := c.thread()
	run := c.post("/threads/"+busy+"/runs", `{"assistant_id":"slow","input":{"wait":0.5}}`).ok().str("run_id")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	cmd, url, _ = child(t, env, "serve")
	c = &client{t: t, url: url}
	require.Equal(t, "yes", c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"ask","command":{"resume":{"`+ids[0]+`":"yes"}}}`).ok().json()["answer"])
	start := time.Now()
	require.Equal(t, []any{"waited"}, c.get("/threads/" + busy + "/runs/" + run + "/join").ok().json()["log"])
	require.Less(t, time.Since(start), 15*time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

func TestGraphDefaultsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	cmd, url, _ := child(t, []string{
		"PARLEY_PORT=0", "PARLEY_EPHEMERAL=1", `LANGGRAPH_CONFIG={"echo":{"configurable":{"m":1},"context":{"k":2}}}`,
	}, "serve", "--host", "127.0.0.1")
	a := (&client{t: t, url: url}).get("/assistants/echo").ok().json()
	require.Equal(t, map[string]any{"configurable": map[string]any{"m": float64(1)}}, a["config"])
	require.Equal(t, map[string]any{"k": float64(2)}, a["context"])
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// A program's own address holds for the command line, too; flags win over it.
func TestProgramsChooseTheirAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // a listener of the test
	o := server.Options{Ephemeral: true, Addr: l.Addr().String()}
	var out, errs syncBuffer
	require.Equal(t, 1, server.RunCommandLine(o, []string{"serve"}, &out, &errs))
	require.Contains(t, errs.String(), o.Addr+": bind: address already in use")

	errs = syncBuffer{}
	require.Equal(t, 1, server.RunCommandLine(o, []string{"serve", "--host", "192.0.2.1"}, &out, &errs))
	_, port, err := net.SplitHostPort(o.Addr)
	require.NoError(t, err)
	require.Contains(t, errs.String(), "192.0.2.1:"+port)

	o.Addr = "nowhere"
	errs = syncBuffer{}
	require.Equal(t, 1, server.RunCommandLine(o, []string{"serve"}, &out, &errs))
	require.Contains(t, errs.String(), "Options.Addr: address nowhere: missing port")
}

func TestHelpShowsWhatTheProgramHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options server.Options
		shows   []string
		hides   string
	}{
		{testOptions(), []string{"first, second, third", "2024, or the next free one", "127.0.0.1", "./.parley"}, "every one"},
		{server.Options{Addr: ":8080", DataDir: "/srv/data"}, []string{"8080", "every one", "/srv/data"}, "--agents"},
	} {
		var out, errs syncBuffer
		require.Zero(t, server.RunCommandLine(c.options, []string{"serve", "--help"}, &out, &errs))
		help := strings.Join(strings.Fields(out.String()), " ") // wherever lines are broken
		for _, text := range c.shows {
			require.Contains(t, help, text)
		}
		require.NotContains(t, help, c.hides)
	}
}

func TestAgentsOfTheProgramAreServed(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.Agents = []agent.Agent{testAgents()[0]}
	var out, errs syncBuffer
	require.Equal(t, 1, server.RunCommandLine(o, []string{"serve", "--ephemeral", "--agents", "first"}, &out, &errs))
	require.Contains(t, errs.String(), `agent "echo" is in both the program and first`)
}

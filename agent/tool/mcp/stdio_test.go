package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/mcp"
)

// patience is how long a condition may take on a loaded machine.
const patience = 30 * time.Second

func TestToolsAreListedOverAllPagesWithWhatTheServerSaysOfThem(t *testing.T) {
	t.Parallel()
	s := connect(t, child(t, "tools")) // pages of two
	require.Greater(t, len(s.Tools()), 10)
	echo := toolNamed(t, s, "srv_echo")
	d := echo.Definition()
	require.Equal(t, "Says it again", d.Description)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string","description":"what to say"}}}`, string(d.Schema))
	no := false
	require.Equal(t, tool.Annotations{Title: "Echo", ReadOnly: true, OpenWorld: &no}, tool.AnnotationsOf(echo))
	require.Equal(t, "srv.echo", echo.(*mcp.Tool).Ref())
}

func TestResultsBecomeToolMessages(t *testing.T) {
	t.Parallel()
	s := connect(t, child(t, "tools"))
	for name, c := range map[string]struct{ args, status, content, artifact string }{
		"srv_echo":       {`{"text":"hi <b>"}`, "success", `"hi <b>"`, ``},
		"srv_fail":       {`{}`, "error", `"the disk is full"`, ``},
		"srv_structured": {`{}`, "success", `"{\"sum\":7}"`, `{"structured_content":{"sum":7}}`},
		"srv_media": {`{}`, "success", `[
			{"type":"text","text":"see"},{"type":"image","data":"cG5n","mime_type":"image/png"},
			{"type":"audio","data":"d2F2","mime_type":"audio/wav"},{"type":"text","text":"inside"},
			{"type":"file","data":"cGRm","mime_type":"application/pdf"},{"type":"text","text":"Resource file:///c\nc.txt\ntext/plain"}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := call(t, s, name, c.args)
			require.Equal(t, []string{c.status, "c1", name}, []string{m.Status, m.ToolCallID, m.Name})
			require.JSONEq(t, c.content, string(m.Content))
			if c.artifact == "" {
				require.Empty(t, m.Artifact)
			} else {
				require.JSONEq(t, c.artifact, string(m.Artifact))
			}
		})
	}
}

func TestArgumentsAreCheckedBeforeTheServerIsAsked(t *testing.T) {
	t.Parallel()
	s := connect(t, child(t, "tools"))
	m := call(t, s, "srv_big", `{"bytes":"many"}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), "bytes: ")
	require.Empty(t, lines(t, childConfig(s), "big"))
}

func childConfig(s *mcp.Server) mcp.ServerConfig { return s.Config() }

func TestProgressIsShownWhileTheToolRuns(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	s := connect(t, cfg)
	th := thread(t, s.Tools(), "srv_progress", `{}`)
	var seen []string
	th.OnEmit = func(e agent.Event) {
		if n, ok := e.Payload.(agent.ToolNote); ok && len(n.Delta) > 0 {
			if seen = append(seen, string(n.Delta)); len(seen) == 2 {
				require.NoError(t, os.WriteFile(file(cfg, "heard"), nil, 0o600))
			}
		}
	}
	_, err := th.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	require.Equal(t, []string{`{"progress":1,"total":2,"message":"part 1"}`, `{"progress":2,"total":2,"message":"part 2"}`}, seen)
	require.Equal(t, "done", last(t, th).Text())
}

func TestACancelledRunCancelsTheCallAtTheServer(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	s := connect(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan string, 1)
	th := thread(t, s.Tools(), "srv_slow", `{}`)
	go func() {
		res, _ := th.Run(ctx, map[string]any{"messages": "go"})
		ended <- res.Status
	}()
	require.Eventually(t, func() bool { return len(lines(t, cfg, "slow")) == 1 }, patience, 5*time.Millisecond)
	cancel()
	require.Equal(t, "interrupted", <-ended)
	require.Eventually(t, func() bool { return len(lines(t, cfg, "slow")) == 2 }, patience, 5*time.Millisecond)
	require.Equal(t, "hi", call(t, s, "srv_echo", `{"text":"hi"}`).Text(), "the connection lives on")
	require.Len(t, lines(t, cfg, "pids"), 1)
}

func TestASlowCallIsToldTheModelAndCancelled(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	cfg.Timeout = 300 * time.Millisecond
	s := connect(t, cfg)
	m := call(t, s, "srv_slow", `{}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), "no answer within 300ms; it isn't known whether the call took effect")
	require.Eventually(t, func() bool { return len(lines(t, cfg, "slow")) == 2 }, patience, 5*time.Millisecond)
}

// A server that is killed in mid-call: what may be repeated is, all else is told to the model.
func TestAServerThatDiesInMidCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ignore bool
		calls  int
		status string
		says   []string
	}{
		"srv_die":            {false, 1, "error", []string{"srv.die", "signal: killed", "out of memory", "isn't known whether the call took effect"}},
		"srv_die_reading":    {false, 2, "success", []string{"alive"}},
		"srv_die_idempotent": {false, 2, "success", []string{"alive"}},
		"srv_die_reading#":   {true, 1, "error", []string{"isn't known whether"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := child(t, "tools")
			cfg.IgnoreAnnotations = c.ignore
			s := connect(t, cfg)
			m := call(t, s, strings.TrimSuffix(name, "#"), `{}`)
			require.Equal(t, c.status, m.Status)
			for _, part := range c.says {
				require.Contains(t, m.Text(), part)
			}
			require.Len(t, lines(t, cfg, strings.TrimPrefix(strings.TrimSuffix(name, "#"), "srv_")), c.calls)
			require.Equal(t, "hi", call(t, s, "srv_echo", `{"text":"hi"}`).Text(), "it was started again")
			require.Len(t, lines(t, cfg, "pids"), 2)
		})
	}
}

func TestAServerKilledBetweenCallsIsStartedAgain(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	s := connect(t, cfg)
	for range 3 { // each answer makes up for the death before it: no waiting
		pids := lines(t, cfg, "pids")
		pid, err := strconv.Atoi(pids[len(pids)-1])
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.Equal(t, "hi", call(t, s, "srv_echo", `{"text":"hi"}`).Text())
	}
	require.Len(t, lines(t, cfg, "pids"), 4)
}

func TestAServerThatIsDownFailsTheStartWithItsLastWords(t *testing.T) {
	t.Parallel()
	log, out := logs()
	cfg := child(t, "exit")
	cfg.Logger = log
	cfg.Env["DB_PASSWORD"] = "hunter2-hunter2"
	_, err := mcp.Connect(t.Context(), cfg)
	var down *mcp.DownError
	require.ErrorAs(t, err, &down)
	require.ErrorContains(t, err, `mcp: server "srv" is down: `)
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "starting\ncan't open the database with ***")
	require.NotContains(t, err.Error()+out.String(), "hunter2")
	require.Contains(t, out.String(), "can't open the database", "standard error is logged")

	cfg.Command = "/no/such/program"
	_, err = mcp.Connect(t.Context(), cfg)
	require.ErrorContains(t, err, `server "srv" is down: fork/exec /no/such/program: no such file or directory`)
}

func TestAServerThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	cfg := child(t, "silent")
	cfg.ConnectTimeout, cfg.Grace = 300*time.Millisecond, 100*time.Millisecond
	_, err := mcp.Connect(t.Context(), cfg)
	require.ErrorContains(t, err, "no answer within the connect timeout")
}

func TestADegradedStartHasTheToolsLater(t *testing.T) {
	t.Parallel()
	log, out := logs()
	cfg := child(t, "late")
	cfg.Logger, cfg.OnDown = log, mcp.Degrade
	s := connect(t, cfg)
	require.Empty(t, s.Tools())
	require.ErrorContains(t, s.Down(), "not up yet")
	require.Contains(t, out.String(), "its tools are missing until it is there")
	require.NoError(t, os.WriteFile(file(cfg, "up"), nil, 0o600))
	require.Eventually(t, func() bool { return len(s.Tools()) > 0 }, patience, 5*time.Millisecond)
	require.NoError(t, s.Down())
	require.Equal(t, "hi", call(t, s, "srv_echo", `{"text":"hi"}`).Text())
}

func TestAChangedListIsReadAgain(t *testing.T) {
	t.Parallel()
	s := connect(t, child(t, "tools"))
	old := toolNamed(t, s, "srv_fail")
	require.Equal(t, "grown", call(t, s, "srv_grow", `{}`).Text())
	require.Eventually(t, func() bool {
		all := strings.Join(names(s), " ")
		return strings.Contains(all, "srv_grown") && !strings.Contains(all, "srv_fail")
	}, patience, 5*time.Millisecond)
	require.Equal(t, "new", call(t, s, "srv_grown", `{}`).Text())
	m, _ := callIn(t.Context(), t, []tool.Tool{old}, "srv_fail", `{}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), `unknown tool "fail"`)
}

func TestTheChildGetsNoForeignSecrets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-foreign")
	t.Setenv("PASSED_ON", "yes")
	cfg := child(t, "tools")
	cfg.InheritEnv = []string{"PASSED_ON"}
	s := connect(t, cfg)
	got := call(t, s, "srv_environment", `{}`).Text()
	require.NotContains(t, got, "sk-foreign")
	require.Contains(t, got, "PASSED_ON=yes")
	require.Contains(t, got, "PATH=")
}

func TestCloseLeavesNoProcess(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	cfg.Grace = 200 * time.Millisecond
	s := connect(t, cfg)
	grandchild, err := strconv.Atoi(call(t, s, "srv_spawn", `{}`).Text())
	require.NoError(t, err)
	pid, err := strconv.Atoi(lines(t, cfg, "pids")[0])
	require.NoError(t, err)
	tools := s.Tools()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "twice is harmless")
	for _, p := range []int{pid, grandchild} {
		require.Eventually(t, func() bool { return gone(p) }, patience, 5*time.Millisecond)
	}
	m, _ := callIn(t.Context(), t, tools, "srv_echo", `{"text":"hi"}`)
	require.Contains(t, m.Text(), "mcp: closed")
}

// gone reports whether a process has ended; one that nobody has waited for counts.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	return strings.Contains(string(stat), ") Z ")
}

func TestCloseEndsCallsInFlight(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	s, err := mcp.Connect(t.Context(), cfg)
	require.NoError(t, err)
	said := make(chan string, 1)
	th := thread(t, s.Tools(), "srv_slow", `{}`)
	go func() {
		_, _ = th.Run(t.Context(), map[string]any{"messages": "go"})
		said <- last(t, th).Text()
	}()
	require.Eventually(t, func() bool { return len(lines(t, cfg, "slow")) == 1 }, patience, 5*time.Millisecond)
	require.NoError(t, s.Close())
	require.Contains(t, <-said, "mcp: closed; it isn't known whether")
}

func TestHugeResults(t *testing.T) {
	t.Parallel()
	cfg := child(t, "tools")
	cfg.MaxMessage, cfg.MaxText = 1<<20, 1001
	s := connect(t, cfg)
	m := call(t, s, "srv_big", `{"bytes":100000}`)
	var blocks []struct{ Type, Text string }
	require.NoError(t, json.Unmarshal(m.Content, &blocks))
	require.Equal(t, strings.Repeat("é", 500), blocks[0].Text, "no half character")
	require.Equal(t, "[99000 bytes of text left out: the result was too long]", blocks[1].Text)

	m = call(t, s, "srv_big", `{"bytes":2000000}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), "message too large: more than 1048576 bytes")
	require.Len(t, lines(t, cfg, "big"), 2, "not repeated, although it only reads: it would break the next connection, too")
	require.Equal(t, "hi", call(t, s, "srv_echo", `{"text":"hi"}`).Text())
}

func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	log, out := logs()
	cfg := child(t, "malformed")
	cfg.Logger = log
	s := connect(t, cfg)
	require.Equal(t, []string{"srv_content", "srv_kind", "srv_data", "srv_line", "srv_error", "srv_bare"}, names(s), "tools with bad schemas are left out")
	require.Contains(t, out.String(), "MCP tool left out")
	require.JSONEq(t, `{"type":"object","properties":{}}`, string(toolNamed(t, s, "srv_bare").Definition().Schema))
	for _, c := range []struct{ name, says string }{
		{"srv_content", "the server's answer is no tool result; it isn't known whether"},
		{"srv_kind", "the server's answer is no tool result; it isn't known whether"},
		{"srv_data", "the server's answer is no tool result; it isn't known whether"},
		{"srv_line", "isn't known whether the call took effect"},
		{"srv_error", "srv.error: no such page"},
	} {
		m := call(t, s, c.name, `{}`)
		require.Equal(t, "error", m.Status)
		require.Contains(t, m.Text(), c.says, c.name)
	}
	require.Equal(t, "", call(t, s, "srv_bare", `{}`).Text())
}

func TestOutputThatIsNoMessageIsLeftOut(t *testing.T) {
	t.Parallel()
	log, out := logs()
	cfg := child(t, "noisy")
	cfg.Logger = log
	s := connect(t, cfg)
	require.Equal(t, "hi", call(t, s, "srv_echo", `{"text":"hi"}`).Text())
	require.Contains(t, out.String(), "prints to standard output what is no message")
}

func TestNamesThatCollideAreRefused(t *testing.T) {
	t.Parallel()
	_, err := mcp.Connect(t.Context(), child(t, "same"))
	var collision *mcp.NameCollisionError
	require.ErrorAs(t, err, &collision)
	require.Equal(t, mcp.NameCollisionError{Name: "srv_a_b", First: "srv.a.b", Second: "srv.a_b"}, *collision)
	cfg := child(t, "same")
	cfg.Deny = []string{"a.b"}
	require.Equal(t, []string{"srv_a_b"}, names(connect(t, cfg)))
}

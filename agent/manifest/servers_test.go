package manifest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/manifest"
)

// notes is a folder with a file whose server is this binary; starts has a line per start.
type notes struct {
	dir, self, starts string
}

func newNotes(t *testing.T) *notes {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return &notes{dir: dir, self: self, starts: filepath.Join(dir, "starts")}
}

// read reads a file whose mcp part is about the server; more is added to it.
func (n *notes) read(t *testing.T, more, agents string) *manifest.Manifest {
	t.Helper()
	path := filepath.Join(n.dir, "agents.yaml")
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf("mcp:\n  notes:\n    command: %q\n    env: {%s: %q, GREETING: \"${GREETING:-hi}\"}\n    connect_timeout: 60s\n%sagents:\n%s", n.self, childEnv, n.starts, more, agents)), 0o600))
	m, err := manifest.Read(path, manifest.Options{})
	require.NoError(t, err)
	return m
}

func (n *notes) started(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(n.starts)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

const reader = `
models:
  m:
    script: [{turns: [{call: [{tool: notes.read, args: {text: x}}, {tool: notes.wipe, args: {text: y}}]}, {say: "{result}"}]}]
`

func summary(t *testing.T, agents *manifest.Agents) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, agents.Summarize(&b))
	return b.String()
}

func TestToolsOfServersAreReviewedAsTheServerSays(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	m := n.read(t, "    deny: [read_all]\n"+strings.TrimPrefix(reader, "\n"), "  a: {model: m, tools: [notes.*, now]}\n  b: {model: m, tools: [notes.re*, notes.wipe], review: {notes.wipe: false, notes.read: {decisions: [approve]}}}\n")
	agents, err := build(t, m, manifest.BuildOptions{})
	require.NoError(t, err)
	text := summary(t, agents)
	require.Contains(t, text, "tools      notes.append, notes.read, notes.wipe, now\n  review     notes.wipe: approve, edit, reject, respond\n")
	require.Contains(t, text, "tools      notes.read, notes.wipe\n  review     notes.read: approve\n")
	require.Equal(t, []string{n.dir + " hi"}, n.started(t), "in the file's folder, with its variables")

	thread := talk(t, agents, "a")
	require.True(t, say(t, thread, "go").Suspended)
	_, err = thread.Resume(t.Context(), json.RawMessage(`{"decisions":[{"type":"approve"}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"human: go", "ai: ", "tool: read: x", "tool: wipe: y", "ai: wipe: y"}, spoken(t, thread))
}

func TestServersThatAreNotTrustedAreReviewed(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	agents, err := build(t, n.read(t, "    trust: false\n", "  a: {model: scripted:echo, tools: [notes.read]}\n"), manifest.BuildOptions{})
	require.NoError(t, err)
	require.Contains(t, summary(t, agents), "review     notes.read: approve")
}

func TestAToolThatNoServerOffersIsAFault(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	m := n.read(t, "    allow: [read, wipe]\n", "  a: {model: scripted:echo, tools: [notes.reed, notes.append, notes.x*, notes.*]}\n")
	_, err := build(t, m, manifest.BuildOptions{})
	var all []string
	for _, line := range lines(t, err) {
		_, text, _ := strings.Cut(line, "agents.yaml:")
		all = append(all, text)
	}
	require.Equal(t, []string{
		`8:37: agents.a.tools[0]: the server notes offers no tool reed; did you mean "read"? Known: read, wipe`,
		`8:49: agents.a.tools[1]: the server notes offers no tool append. Known: read, wipe`,
		`8:63: agents.a.tools[2]: the server notes offers no tool x*. Known: read, wipe`,
	}, all)
	offline, err := build(t, m, manifest.BuildOptions{Offline: true})
	require.NoError(t, err, "unseen, nothing can be said of it")
	require.Contains(t, summary(t, offline), "not seen   notes.reed, notes.append, notes.x*, notes.*\n")
}

// Who checks a file without its servers still sees what the file has people decide on.
func TestTheReviewOfUnseenToolsIsShownAsFarAsItIsKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ trust, agent, review string }{
		"a rule":     {"", "tools: [now, notes.wipe], review: {notes.wipe: {decisions: [approve, reject]}}", "notes.wipe: approve, reject\n"},
		"no rule":    {"", "tools: [now, notes.wipe]", "notes.wipe: as its server says\n"},
		"taken out":  {"", "tools: [now, notes.wipe], review: {notes.*: false}", "notes.wipe: nothing\n"},
		"no trust":   {"    trust: false\n", "tools: [now, notes.wipe]", "notes.wipe: approve, edit, reject, respond\n"},
		"a pattern":  {"", "tools: [now, notes.*], review: {notes.wipe: {decisions: [reject]}}", "notes.*: as its server says\n             notes.wipe: reject\n"},
		"beside one": {"", "tools: [now, notes.wipe], review: {now: {decisions: [approve]}}", "now: approve\n             notes.wipe: as its server says\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := parse("mcp:\n  notes:\n    command: /does/not/exist\n" + c.trust + "agents:\n  a: {model: scripted:echo, " + c.agent + "}\n")
			require.NoError(t, err)
			agents, err := build(t, m, manifest.BuildOptions{Offline: true})
			require.NoError(t, err)
			require.Contains(t, summary(t, agents), "  review     "+c.review)
		})
	}
}

func TestAServerThatIsDownStopsTheStartUnlessTheFileAllowsIt(t *testing.T) {
	t.Parallel()
	source := func(onDown string) string {
		return "mcp:\n  gone: {command: /does/not/exist, on_down: " + onDown + "}\nagents:\n  a: {model: scripted:echo, tools: [gone.x, now]}\n"
	}
	m, err := parse(source("fail"))
	require.NoError(t, err)
	_, err = build(t, m, manifest.BuildOptions{})
	require.Len(t, lines(t, err), 1)
	require.Regexp(t, `^agents.yaml:2:3: mcp.gone: the server can't be reached: .*/does/not/exist`, lines(t, err)[0])

	m, err = parse(source("degrade"))
	require.NoError(t, err)
	agents, err := build(t, m, manifest.BuildOptions{})
	require.NoError(t, err)
	require.Contains(t, summary(t, agents), "tools      now\n  not seen   gone.x\n")
	say(t, talk(t, agents, "a"), "hi")
}

// Whoever changes a prompt doesn't want their servers started again.
func TestConnectionsAreTakenOverWhereTheServersStay(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	first, err := n.read(t, "", "  a: {model: scripted:echo, tools: [notes.read]}\n").Build(t.Context(), manifest.BuildOptions{})
	require.NoError(t, err)
	second, err := n.read(t, "", "  a: {model: scripted:echo, prompt: New., tools: [notes.wipe]}\n").Build(t.Context(), manifest.BuildOptions{Previous: first})
	require.NoError(t, err)
	require.Len(t, n.started(t), 1)
	require.NoError(t, first.Close())
	require.Contains(t, summary(t, second), "notes.wipe: approve", "still connected")
	third, err := n.read(t, "    timeout: 5s\n", "  a: {model: scripted:echo, tools: [notes.wipe]}\n").Build(t.Context(), manifest.BuildOptions{Previous: second})
	require.NoError(t, err)
	require.Len(t, n.started(t), 2, "the servers' part has changed")
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	again, err := n.read(t, "    timeout: 5s\n", "  a: {model: scripted:echo, tools: [notes.wipe]}\n").Build(t.Context(), manifest.BuildOptions{Previous: third})
	require.NoError(t, err)
	require.Len(t, n.started(t), 3, "what is closed can't be taken over")
	require.NoError(t, again.Close())
}

func TestServersAreLetGoOfWhenAgentsCantBeMade(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	m := n.read(t, "tools:\n  notes_read: {description: The same name for the model., http: {url: \"http://x\"}}\n", "  a: {model: scripted:echo, tools: [notes.read, notes_read]}\n")
	_, err := build(t, m, manifest.BuildOptions{})
	require.Regexp(t, `agents.yaml:9:3: agents.a: tool: two tools are named "notes_read"`, lines(t, err)[0])
	// That its process has ended is seen by goleak, when all tests are over.
}

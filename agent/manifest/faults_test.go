package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent/manifest"
)

// variables are the environment of tests.
func variables(name string) (string, bool) {
	v, ok := map[string]string{"TOKEN": "t0ken", "HOST": "https://crm.example.com", "EMPTY": ""}[name]
	return v, ok
}

func parse(source string) (*manifest.Manifest, error) {
	return manifest.Parse("agents.yaml", []byte(source), manifest.Options{Lookup: variables})
}

// lines are the faults, one line each.
func lines(t *testing.T, err error) []string {
	t.Helper()
	var all []string
	for _, f := range manifest.Faults(err) {
		all = append(all, f.String())
	}
	require.NotEmpty(t, all, "%v", err)
	return all
}

// agent a is what a file needs besides what a case is about.
const agentA = "agents:\n  a: {model: scripted:echo}\n"

func TestEveryMistakeHasItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		faults []string
	}{
		"nothing": {"# only a comment\n", []string{
			"agents.yaml: the file is empty; it needs agents, for instance:\n\nagents:\n  helper: {model: openai:gpt-5-mini, prompt: You help.}",
		}},
		"no YAML": {"agents:\n  a: {model: x\n", []string{"agents.yaml:2:6: not YAML: could not find flow mapping end token '}'"}},
		"a tab":   {"agents:\n\ta: 1\n", []string{"agents.yaml:2:1: not YAML: found character '\t' that cannot start any token; indent with spaces, not with tabs"}},
		"a colon in a text": {"agents:\n  a:\n    model: scripted:echo\n    prompt: You help: be nice\n", []string{
			"agents.yaml:4:13: not YAML: mapping value is not allowed in this context; put a text with a colon and a space in it in quotes, or behind | in lines of its own",
		}},
		"a time without a unit": {"models:\n  m: {model: scripted:echo, timeout: 10}\nagents:\n  a: {model: m, limits: {wall_time: 1.5}}\n", []string{
			"agents.yaml:2:38: models.m.timeout: 10 lacks a unit; write 10s or 10ms",
			"agents.yaml:4:37: agents.a.limits.wall_time: 1.5 lacks a unit; write 1.5s or 1.5ms",
		}},
		"a command line": {"mcp:\n  a: {command: npx -y files}\n  b: {command: npx -y, args: [files]}\n  c: {command: ./my tools/files}\n" + agentA, []string{
			"agents.yaml:2:16: mcp.a.command: names the program alone; its arguments go into args: [...]",
			"agents.yaml:3:16: mcp.b.command: names the program alone; its arguments go into args: [...]",
		}},
		"two documents": {agentA + "---\nx: 1\n", []string{
			"agents.yaml:4:1: a file holds one document; this is a second one",
		}},
		"no agents": {"models: {}\n", []string{"agents.yaml:1:1: missing: agents"}},
		"a list":    {"- a\n", []string{"agents.yaml:1:1: must be a mapping (key: value), is a list"}},
		"no agent":  {"agents: {}\n", []string{"agents.yaml:1:9: agents: must not be empty"}},
		"a misspelt key": {"agents:\n  a:\n    model: scripted:echo\n    promt: x\n", []string{
			`agents.yaml:4:5: agents.a.promt: unknown key; did you mean "prompt"? Known: casing, context, description, internal, limits, model, output, prompt, prompt_file, review, review_mode, subagents, tools`,
		}},
		"a wrong key": {"agent: 1\n" + agentA, []string{
			`agents.yaml:1:1: agent: unknown key; did you mean "agents"? Known: agents, mcp, models, tools`,
		}},
		"a key twice": {"agents:\n  a: {model: scripted:echo}\n  a: {model: scripted:echo}\n", []string{
			"agents.yaml:3:3: agents.a: the key is there twice, first in line 2",
		}},
		"a bad name": {"agents:\n  my agent: {model: scripted:echo}\n", []string{
			"agents.yaml:2:3: agents.my agent: \"my agent\" is no possible name; it has to fit ^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
		}},
		"types": {"agents:\n  a: {model: 1, tools: now, internal: 1, limits: {steps: many}, prompt: [x]}\n", []string{
			"agents.yaml:2:14: agents.a.model: must be text, is a number; put it in quotes",
			"agents.yaml:2:24: agents.a.tools: must be a list, is text",
			"agents.yaml:2:39: agents.a.internal: must be true or false, is a number",
			"agents.yaml:2:58: agents.a.limits.steps: must be a whole number, is text",
			"agents.yaml:2:73: agents.a.prompt: must be text, is a list",
		}},
		"bounds": {"models:\n  m: {model: scripted:echo, temperature: 3, retries: -1, max_tokens: 0}\nagents:\n  a: {model: m, limits: {cost: 0, wall_time: 5 minutes}}\n", []string{
			"agents.yaml:2:42: models.m.temperature: must be at most 2, is 3",
			"agents.yaml:2:54: models.m.retries: must be at least 0, is -1",
			"agents.yaml:2:70: models.m.max_tokens: must be at least 1, is 0",
			"agents.yaml:4:32: agents.a.limits.cost: must be more than 0, is 0",
			`agents.yaml:4:46: agents.a.limits.wall_time: "5 minutes" is no duration; write 500ms, 30s, 5m or 48h`,
		}},
		"words": {"agents:\n  a: {model: scripted:echo, review_mode: percall, tools: [now], review: {now: {decisions: [aprove, reject, reject]}}}\n", []string{
			`agents.yaml:2:42: agents.a.review_mode: percall isn't possible; did you mean "per_call"? Known: batch, per_call`,
			`agents.yaml:2:92: agents.a.review.now.decisions[0]: aprove isn't possible; did you mean "approve"? Known: approve, edit, reject, respond`,
			"agents.yaml:2:108: agents.a.review.now.decisions[2]: is there twice",
		}},
		"deadlines": {"agents:\n  a:\n    model: scripted:echo\n    tools: [now, calculator]\n    review:\n      now: {deadline: soon, on_expiry: {action: drop}}\n      calculator: {deadline: 1h, on_expiry: escalate}\n", []string{
			`agents.yaml:6:23: agents.a.review.now.deadline: "soon" is no duration; write 500ms, 30s, 5m or 48h`,
			`agents.yaml:6:49: agents.a.review.now.on_expiry.action: drop isn't possible. Known: escalate, reject, respond`,
			`agents.yaml:7:19: agents.a.review.calculator: on_expiry: "escalate" needs a role`,
		}},
		"a choice": {"agents:\n  a: {model: scripted:echo, tools: [now], review: {now: 1}}\n", []string{
			"agents.yaml:2:57: agents.a.review.now: must be true or false or a mapping (key: value), is a number",
		}},
		"an unknown model": {"models:\n  fast: {model: scripted:echo}\nagents:\n  a: {model: fats}\n  b: {model: opnai:gpt-5}\n", []string{
			`agents.yaml:4:14: agents.a.model: there is no model "fats" under models; did you mean "fast"? Known: fast; or name a provider's model, as openai:gpt-5-mini`,
			`agents.yaml:5:14: agents.b.model: unknown provider "opnai"; did you mean "openai"? Known: anthropic, google, ollama, openai, scripted`,
		}},
		"a model without provider": {"models:\n  m: {model: gpt-5}\n" + agentA, []string{
			`agents.yaml:2:14: models.m.model: "gpt-5" names no model; write provider:model, as openai:gpt-5-mini`,
		}},
		"a model of nothing": {"models:\n  m: {price: {input: 1, output: 1}}\n" + agentA, []string{
			"agents.yaml:2:3: models.m: missing: model (or script, for demos and tests)",
		}},
		"a model of both": {"models:\n  m:\n    model: scripted:echo\n    retries: 1\n    script: [{turns: [{say: x}]}]\n" + agentA, []string{
			"agents.yaml:4:5: models.m.retries: a script calls no provider: leave this out",
			"agents.yaml:5:5: models.m.script: a model is one of a provider or a script, not both: leave out model or script",
		}},
		"a script": {"models:\n  m:\n    script:\n      - turns: [{call: [{tool: nwo}]}, {}, {call: [{tool: now}]}]\n" + agentA, []string{
			`agents.yaml:4:32: models.m.script[0].turns[0].call[0].tool: there is no tool "nwo"; did you mean "now"? Known: ask_user, calculator, now`,
			"agents.yaml:4:40: models.m.script[0].turns[1]: a turn says something or calls a tool",
			"agents.yaml:4:51: models.m.script[0].turns[2].call: the last turn must not call a tool: it would be said again and again",
		}},
		"servers": {"mcp:\n  a: {args: [x]}\n  b: {command: x, url: \"http://x\"}\n  c: {command: x, headers: {A: b}}\n  d: {url: \"http://x\", env: {A: b}}\n  e: {url: ws://x, on_down: fial}\n" + agentA, []string{
			"agents.yaml:2:3: mcp.a: missing: command or url",
			"agents.yaml:3:19: mcp.b.url: a server is a command or a url, not both",
			"agents.yaml:4:19: mcp.c.headers: belong to a url; a command takes env",
			"agents.yaml:5:24: mcp.d.env: belongs to a command; a url takes headers",
			"agents.yaml:6:12: mcp.e.url: must be an address that begins with http:// or https://",
			`agents.yaml:6:29: mcp.e.on_down: fial isn't possible; did you mean "fail"? Known: degrade, fail`,
		}},
		"variables": {"mcp:\n  a: {command: x, env: {A: \"${NOPE}\", B: \"${TOKEN}-${NOPE:-x}\", C: \"${}\", D: \"${EMPTY}\"}}\n  b: {url: \"${HOST}/mcp\", headers: {X: \"$${NOPE} ${NOPE}\"}}\n" + agentA, []string{
			"agents.yaml:2:28: mcp.a.env.A: the environment variable NOPE isn't set; set it, or write ${NOPE:-default}",
			"agents.yaml:2:68: mcp.a.env.C: ${} is no variable; write ${NAME}, ${NAME:-default}, or $$ for a $",
			"agents.yaml:3:40: mcp.b.headers.X: the environment variable NOPE isn't set; set it, or write ${NOPE:-default}",
		}},
		"tools": {"tools:\n  now: {description: x, http: {url: \"http://x\"}}\n  b: {http: {}}\n  c: {description: x, http: {url: \"http://{h}/x?{i}#f\", method: TRACE}, parameters: {type: object, properties: {h: {type: string}}}}\n  d: {description: x, http: {url: \"http://x\"}, parameters: {type: array}}\n  e: {description: x, http: {url: \"http://x\"}, parameters: {type: object, properties: 3}}\n" + agentA, []string{
			"agents.yaml:2:3: tools.now: now is a built-in tool; choose another name",
			"agents.yaml:3:3: tools.b: missing: description",
			"agents.yaml:3:7: tools.b.http: missing: url",
			"agents.yaml:4:35: tools.c.http.url: {i} is no argument of the tool. Known: h",
			"agents.yaml:4:35: tools.c.http.url: an argument can't choose the host: the model would decide whom the request goes to",
			"agents.yaml:4:35: tools.c.http.url: a fragment (#) isn't sent; leave it out",
			`agents.yaml:4:65: tools.c.http.method: TRACE isn't possible. Known: DELETE, GET, HEAD, PATCH, POST, PUT`,
			"agents.yaml:5:60: tools.d.parameters: must describe an object: type: object, with properties",
			"agents.yaml:6:87: tools.e.parameters.properties: no JSON Schema: got number, want object",
		}},
		"names of tools": {"mcp:\n  files: {command: x}\nagents:\n  a: {model: scripted:echo, tools: [nwo, files, flies.read, files., now, now, \"files.[\"]}\n", []string{
			`agents.yaml:4:37: agents.a.tools[0]: there is no tool "nwo"; did you mean "now"? Known: ask_user, calculator, files.*, now`,
			"agents.yaml:4:42: agents.a.tools[1]: files is an MCP server; write files.* for all of its tools, or files.tool for one",
			`agents.yaml:4:49: agents.a.tools[2]: there is no MCP server "flies" under mcp; did you mean "files"? Known: files`,
			"agents.yaml:4:61: agents.a.tools[3]: name a tool of files behind the dot, or * for all",
			"agents.yaml:4:74: agents.a.tools[5]: now is there twice",
			`agents.yaml:4:79: agents.a.tools[6]: "[" is no pattern: syntax error in pattern`,
		}},
		"a review of nothing": {"mcp:\n  files: {command: x}\nagents:\n  a: {model: scripted:echo, tools: [now, files.*], review: {noww: true, files.write: true, calculator: false}}\n", []string{
			`agents.yaml:4:61: agents.a.review.noww: noww is no tool of this agent: a rule for it would guard nothing; did you mean "now"? Known: files.*, now`,
			`agents.yaml:4:92: agents.a.review.calculator: calculator is no tool of this agent: a rule for it would guard nothing. Known: files.*, now`,
		}},
		"prompts": {"agents:\n  a: {model: scripted:echo, prompt: x, prompt_file: y}\n  b: {model: scripted:echo, prompt_file: nowhere.md}\n", []string{
			"agents.yaml:2:40: agents.a.prompt_file: an agent has a prompt or a prompt_file, not both",
			"agents.yaml:3:42: agents.b.prompt_file: nowhere.md doesn't exist",
		}},
		"subagents": {"agents:\n  a: {model: scripted:echo, subagents: [a, x, b, b, c]}\n  b: {model: scripted:echo, subagents: [c], description: x}\n  c: {model: scripted:echo, subagents: [b]}\n", []string{
			"agents.yaml:2:41: agents.a.subagents[0]: an agent can't be its own subagent",
			`agents.yaml:2:44: agents.a.subagents[1]: there is no agent "x". Known: a, b, c`,
			"agents.yaml:2:50: agents.a.subagents[3]: b is there twice",
			"agents.yaml:3:29: agents.b.subagents: subagents in a circle: b → c → b",
			"agents.yaml:4:3: agents.c: missing: description; a has it as a subagent, and its model has to know when to ask it",
			"agents.yaml:4:3: agents.c: missing: description; b has it as a subagent, and its model has to know when to ask it",
		}},
		"nobody to ask for": {"agents:\n  a: {model: scripted:echo, internal: true}\n", []string{
			"agents.yaml:1:1: agents: every agent is internal: clients could ask for none",
		}},
		"the rest": {"agents:\n  a: {model: scripted:echo, limits: {cost: 1}, context: {trim: {}, summarise: {keep: 1, model: x}}, output: {type: text}}\n", []string{
			"agents.yaml:2:44: agents.a.limits.cost: the model scripted:echo has no price; give it one under models",
			"agents.yaml:2:58: agents.a.context.trim: missing: messages or tokens",
			"agents.yaml:2:68: agents.a.context.summarise: missing: messages or tokens",
			`agents.yaml:2:96: agents.a.context.summarise.model: there is no model "x" under models; or name a provider's model, as openai:gpt-5-mini`,
			"agents.yaml:2:116: agents.a.output.type: no JSON Schema: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'",
		}},
		"YAML's own": {"x-one: &one {model: scripted:echo}\nagents:\n  a: *two\n  b: {<<: [*one, 3], prompt: !!int 3, output: .inf}\n", []string{
			"agents.yaml:3:6: agents.a: unknown alias *two. Known: one",
			"agents.yaml:4:18: agents.b: << merges mappings; this is none",
			"agents.yaml:4:30: agents.b.prompt: the tag !!int isn't supported; leave it out",
			"agents.yaml:4:46: agents.b.output: this value has no meaning here: .inf",
		}},
		"an alias in itself": {"agents:\n  a: &a {model: scripted:echo, output: *a}\n", []string{
			"agents.yaml:2:40: agents.a.output: unknown alias *a; there is none",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(c.source)
			require.Error(t, err)
			require.Equal(t, c.faults, lines(t, err))
		})
	}
}

func TestFaultsShowTheirLine(t *testing.T) {
	t.Parallel()
	_, err := parse("agents:\r\n\n  a:\n    model: scripted:echo\n    promt: x\n")
	require.ErrorContains(t, err, strings.Join([]string{
		"agents.yaml:5:5: agents.a.promt: unknown key",
	}, "\n"))
	require.True(t, strings.HasSuffix(err.Error(), strings.Join([]string{
		"",
		"     4 |     model: scripted:echo",
		">    5 |     promt: x",
		"       |     ^",
	}, "\n")), err)
}

// Whoever puts a key into the file is told, and neither terminal nor log shows it.
func TestKeysInTheFileAreRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"api_key":      "models:\n  m: {model: openai:x, api_key: s3cret, timeout: 1}\n" + agentA,
		"apiKey":       "models:\n  m: {model: openai:x, apiKey: s3cret}\n" + agentA,
		"name of key":  "models:\n  m: {model: openai:x, api_key_env: s3cret-key}\n" + agentA,
		"model header": "models:\n  m: {model: openai:x, headers: {x-api-key: s3cret}}\n" + agentA,
		"mcp header":   "mcp:\n  m:\n    url: http://x\n    headers: {Authorization: Bearer s3cret}\n" + agentA,
		"tool header":  "tools:\n  t:\n    description: x\n    http:\n      url: http://x\n      headers:\n        Cookie: s3cret\n" + agentA,
		"password":     "mcp:\n  m: {url: \"https://me:s3cret@x/\"}\n" + agentA,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(source)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "s3cret")
			require.Regexp(t, "don't belong into the file|doesn't belong into the file|and not the key", err.Error())
		})
	}
}

func TestFilesThatCantBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := manifest.Read(filepath.Join(dir, "agents.yaml"), manifest.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = manifest.Read(dir, manifest.Options{})
	require.ErrorContains(t, err, "is a folder; name the file in it")
	large := filepath.Join(dir, "large.yaml")
	require.NoError(t, os.WriteFile(large, make([]byte, 5<<20), 0o600))
	_, err = manifest.Read(large, manifest.Options{})
	require.ErrorContains(t, err, "has more than")
}

// Aliases within aliases must not fill the memory.
func TestAFileThatGrowsWithItsAliasesIsRefused(t *testing.T) {
	t.Parallel()
	source := "x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		n, m := string(rune('0'+i)), string(rune('1'+i))
		source += "x-" + m + ": &a" + m + " [" + strings.TrimSuffix(strings.Repeat("*a"+n+", ", 10), ", ") + "]\n"
	}
	_, err := parse(source + agentA)
	require.ErrorContains(t, err, "too large or nested too deeply")
}

// However a file is damaged, there are agents or there is something to say.
func TestDamagedFilesAreToldOf(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile("../../examples/support-yaml/agents.yaml")
	require.NoError(t, err)
	pieces := []string{"", "{", "}", "[", "]", ": ", "- ", "&a ", "*a", "<<: ", "!!str ", "|\n", "\n", "  ", "\"", "'", "#", "${", "null", "1e999", "~", "? ", "---\n", "\x00", "\t", "é"}
	rapid.Check(t, func(t *rapid.T) {
		source := string(whole)
		for range rapid.IntRange(1, 6).Draw(t, "damages") {
			from := rapid.IntRange(0, len(source)).Draw(t, "from")
			to := min(from+rapid.IntRange(0, 40).Draw(t, "length"), len(source))
			source = source[:from] + rapid.SampledFrom(pieces).Draw(t, "piece") + source[to:]
		}
		m, err := parse(source)
		if (m == nil) == (err == nil) || err != nil && err.Error() == "" {
			t.Fatalf("%v and %v of\n%s", m, err, source)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(agentA)
	f.Add("x-a: &a {model: scripted:echo}\nagents: {b: {<<: *a, review: {now: true}, tools: [now]}}\n")
	f.Add("models: {m: {script: [{turns: [{say: '{human}'}]}]}}\nagents: {a: {model: m}}\n")
	f.Add("mcp: {m: {url: '${HOST:-http://x}', allow: [a]}}\nagents: {a: {model: ollama:x, tools: [m.*]}}")
	f.Fuzz(func(t *testing.T, source string) {
		m, err := parse(source)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v and %v", m, err)
		}
		if err != nil && err.Error() == "" {
			t.Fatal("an error that says nothing")
		}
	})
}

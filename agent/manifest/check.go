package manifest

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/react"
)

// checker finds what a JSON Schema can't say: names that lead nowhere, keys that
// exclude each other, variables that aren't set.
type checker struct {
	m *Manifest
	d *document
	f *File
}

func (c *checker) check() {
	for _, name := range c.d.names("models") {
		c.model(pointer("/models", name), c.f.Models[name])
	}
	for _, name := range c.d.names("mcp") {
		c.server(pointer("/mcp", name), c.f.MCP[name])
	}
	for _, name := range c.d.names("tools") {
		c.tool(pointer("/tools", name), name, c.f.Tools[name])
	}
	served := false
	for _, name := range c.d.names("agents") {
		a := c.f.Agents[name]
		served = served || !a.Internal
		c.agent(pointer("/agents", name), name, a)
	}
	if names := c.d.names("agents"); len(names) > 0 && !served {
		c.d.atKey("/agents", "every agent is internal: clients could ask for none")
	}
	c.circles()
}

// has reports whether a key is there, whatever its value is.
func (c *checker) has(at, key string) bool {
	_, ok := c.d.values[pointer(at, key)]
	return ok
}

func (c *checker) model(at string, m Model) {
	script, model := c.has(at, "script"), c.has(at, "model")
	switch {
	case script && model:
		c.d.atKey(pointer(at, "script"), "a model is one of a provider or a script, not both: leave out model or script")
	case !script && !model:
		c.d.atKey(at, "missing: model (or script, for demos and tests)")
	}
	if script {
		for _, key := range []string{"base_url", "api_key_env", "api_key_file", "effort", "temperature", "max_tokens", "timeout", "retries", "headers"} {
			if c.has(at, key) {
				c.d.atKey(pointer(at, key), "a script calls no provider: leave this out")
			}
		}
	}
	if m.Model != "" && !c.d.bad[pointer(at, "model")] {
		c.provider(pointer(at, "model"), m.Model)
	}
	c.address(pointer(at, "base_url"), m.BaseURL)
	c.headers(at, m.Headers)
	for i, rule := range m.Script {
		if n := len(rule.Turns); n > 0 && len(rule.Turns[n-1].Call) > 0 {
			c.d.at(fmt.Sprintf("%s/script/%d/turns/%d/call", at, i, n-1), "the last turn must not call a tool: it would be said again and again")
		}
		for j, turn := range rule.Turns {
			for k, call := range turn.Call {
				if call.Tool != "" && call.Tool != react.TaskTool && !c.isOutput(call.Tool) {
					c.toolRef(fmt.Sprintf("%s/script/%d/turns/%d/call/%d/tool", at, i, j, k), call.Tool)
				}
			}
			if turn.Say == "" && len(turn.Call) == 0 && !c.d.bad[fmt.Sprintf("%s/script/%d/turns/%d", at, i, j)] {
				c.d.at(fmt.Sprintf("%s/script/%d/turns/%d", at, i, j), "a turn says something or calls a tool")
			}
		}
	}
}

// isOutput reports whether a name is that of the tool by which a model gives a structured answer.
func (c *checker) isOutput(name string) bool {
	for _, a := range c.d.names("agents") {
		output := pointer("/agents", a) + "/output"
		title, titled := c.d.values[output+"/title"]
		if _, ok := c.d.values[output]; ok && (titled && string(title.raw) == string(quote(name)) || !titled && name == "extract-1") {
			return true
		}
	}
	return false
}

func (c *checker) server(at string, s Server) {
	command, address := c.has(at, "command"), c.has(at, "url")
	switch {
	case command && address:
		c.d.atKey(pointer(at, "url"), "a server is a command or a url, not both")
	case !command && !address:
		c.d.atKey(at, "missing: command or url")
	}
	if program, _, spaced := strings.Cut(s.Command, " "); spaced && !strings.ContainsAny(program, `/\`) {
		c.d.at(pointer(at, "command"), "names the program alone; its arguments go into args: [...]")
	}
	for _, key := range []string{"args", "env"} {
		if address && !command && c.has(at, key) {
			c.d.atKey(pointer(at, key), "belongs to a command; a url takes headers")
		}
	}
	if command && !address && c.has(at, "headers") {
		c.d.atKey(pointer(at, "headers"), "belong to a url; a command takes env")
	}
	c.address(pointer(at, "url"), s.URL)
	c.headers(at, s.Headers)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		c.expand(pointer(at+"/env", name), s.Env[name])
	}
}

// expand adds a fault for variables that aren't set, and returns the full text.
func (c *checker) expand(at, text string) string {
	full, problems := expand(text, c.m.lookup)
	for _, p := range problems {
		c.d.at(at, p)
	}
	return full
}

// address checks a URL. Its text isn't shown: it may hold a secret.
func (c *checker) address(at, text string) {
	full := c.expand(at, text)
	if text == "" || c.d.bad[at] {
		return
	}
	u, err := url.Parse(full)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.d.at(at, "must be an address that begins with http:// or https://")
	case u.User != nil && !hasVariable(text):
		password, _ := u.User.Password()
		c.d.secret(password)
		c.d.at(at, "a password doesn't belong into the file: write ${NAME}, an environment variable")
	}
}

// secretHeaders carry keys.
var secretHeaders = []string{"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie", "x-auth-token"}

func (c *checker) headers(at string, headers map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		p := pointer(at+"/headers", name)
		if slices.Contains(secretHeaders, strings.ToLower(name)) && !hasVariable(headers[name]) && !c.d.bad[p] {
			c.d.secret(headers[name])
			c.d.at(p, "keys don't belong into the file: write ${NAME}, an environment variable, in their place")
			continue
		}
		c.expand(p, headers[name])
	}
}

// schema checks that a value is a JSON Schema of an object.
func (c *checker) schema(at string, raw []byte) {
	if len(raw) == 0 || c.d.bad[at] {
		return
	}
	if _, err := agent.NewChecker(raw); err != nil {
		where, text := schemaFault(err)
		c.d.markBad(at)
		c.d.at(at+where, "no JSON Schema: "+text)
		return
	}
	if l, ok := c.d.values[at+"/type"]; !ok || string(l.raw) != `"object"` {
		c.d.at(at, "must describe an object: type: object, with properties")
	}
}

// schemaFault says what is wrong with a schema, and where in it, as a JSON pointer.
func schemaFault(err error) (where, text string) {
	var invalid *jsonschema.SchemaValidationError
	var leaf *jsonschema.ValidationError
	if !errors.As(err, &invalid) || !errors.As(invalid.Err, &leaf) {
		return "", firstLine(err.Error())
	}
	for len(leaf.Causes) > 0 {
		leaf = leaf.Causes[0]
	}
	for _, part := range leaf.InstanceLocation {
		where = pointer(where, part)
	}
	return where, leaf.ErrorKind.LocalizedString(textmessage.NewPrinter(language.English))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

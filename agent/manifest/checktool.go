package manifest

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// placeholder is an argument in a URL: {name}, but not the braces of ${NAME}.
var placeholder = regexp.MustCompile(`\$\{[^}]*\}|\{([^{}]*)\}`)

// placeholders lists the arguments that a URL takes.
func placeholders(text string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[0], "$") {
			names = append(names, m[1])
		}
	}
	return names
}

// withoutPlaceholders fills every argument in with x.
func withoutPlaceholders(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "$") {
			return m
		}
		return "x"
	})
}

func (c *checker) tool(at, name string, t Tool) {
	if slices.Contains(builtinNames(), name) {
		c.d.atKey(at, name+" is a built-in tool; choose another name")
	}
	parameters := pointer(at, "parameters")
	c.schema(parameters, t.Parameters)
	if t.HTTP == nil {
		return
	}
	c.headers(at+"/http", t.HTTP.Headers)
	where := at + "/http/url"
	known := c.properties(parameters)
	for _, arg := range placeholders(t.HTTP.URL) {
		if !slices.Contains(known, arg) {
			c.d.at(where, fmt.Sprintf("{%s} is no argument of the tool", arg)+suggestion(arg, known))
		}
	}
	c.address(where, withoutPlaceholders(t.HTTP.URL))
	if scheme, rest, ok := strings.Cut(t.HTTP.URL, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		host, _, _ = strings.Cut(host, "?")
		if len(placeholders(scheme))+len(placeholders(host)) > 0 {
			c.d.at(where, "an argument can't choose the host: the model would decide whom the request goes to")
		}
	}
	if _, err := url.Parse(withoutPlaceholders(t.HTTP.URL)); err == nil && strings.Contains(t.HTTP.URL, "#") {
		c.d.at(where, "a fragment (#) isn't sent; leave it out")
	}
}

// properties are the keys of an object's JSON Schema in the order of the file.
func (c *checker) properties(schema string) []string {
	if l, ok := c.d.values[pointer(schema, "properties")]; ok {
		return l.keys
	}
	return nil
}

// toolNames are the names that agents can list, but for those of MCP servers.
func (c *checker) toolNames() []string {
	return slices.Concat(builtinNames(), slices.Collect(maps.Keys(c.f.Tools)))
}

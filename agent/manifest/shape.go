package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"
)

// shape is the compiled JSON Schema of a file.
type shape struct {
	compiled *jsonschema.Schema
	raw      any
}

const schemaName = "schema:///agents"

// theShape is made once: the schema never changes.
var theShape = sync.OnceValues(newShape)

func newShape() (*shape, error) {
	raw, err := Schema()
	if err != nil {
		return nil, err
	}
	s := &shape{}
	if s.raw, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("manifest: the schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaName, s.raw); err != nil {
		return nil, fmt.Errorf("manifest: the schema: %w", err)
	}
	if s.compiled, err = c.Compile(schemaName); err != nil {
		return nil, fmt.Errorf("manifest: the schema: %w", err)
	}
	return s, nil
}

// check adds a fault for everything in which a document differs from the schema.
func (s *shape) check(d *document) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.raw))
	if err != nil {
		return fmt.Errorf("manifest: the content as JSON: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if errors.As(s.compiled.Validate(v), &invalid) {
		s.explain(d, invalid)
	}
	checkNames(d)
	return nil
}

// checkNames adds a fault for names that the schema's propertyNames refuse.
func checkNames(d *document) {
	for property, pattern := range namePatterns {
		at := pointer("", property)
		l, ok := d.values[at]
		if !ok {
			continue
		}
		for _, name := range l.keys {
			if !regexp.MustCompile(pattern).MatchString(name) {
				d.atKey(pointer(at, name), fmt.Sprintf("%q is no possible name; it has to fit %s", name, pattern))
			}
		}
	}
}

// number is a bound as people write it.
func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func (s *shape) explain(d *document, e *jsonschema.ValidationError) {
	at := ""
	for _, part := range e.InstanceLocation {
		at = pointer(at, part)
	}
	if d.unread[at] {
		d.markBad(at)
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := s.properties(e.SchemaURL)
		for _, name := range k.Properties {
			p := pointer(at, name)
			if holdsKey(name, known) {
				var text string
				if json.Unmarshal(d.values[p].raw, &text) == nil {
					d.secret(text)
				}
			}
			d.atKey(p, unknownKey(name, known))
		}
	case *kind.Required:
		for _, name := range k.Missing {
			d.atKey(at, "missing: "+name)
		}
	case *kind.Type:
		if node := s.node(e.SchemaURL); k.Got == "number" && node["pattern"] == durationPattern {
			d.at(at, fmt.Sprintf("%[1]s lacks a unit; write %[1]ss or %[1]sms", d.values[at].raw))
			return
		}
		d.at(at, wrongType(k.Got, k.Want))
	case *kind.Enum:
		var known []string
		for _, w := range k.Want {
			known = append(known, fmt.Sprint(w))
		}
		d.at(at, fmt.Sprintf("%v isn't possible", k.Got)+suggestion(fmt.Sprint(k.Got), known))
	case *kind.PropertyNames: // its location isn't reliable: see checkNames
	case *kind.Pattern:
		d.at(at, badText(d, k))
	case *kind.MinProperties, *kind.MinItems, *kind.MinLength:
		d.at(at, "must not be empty")
	case *kind.Minimum:
		d.at(at, fmt.Sprintf("must be at least %s, is %s", number(k.Want), number(k.Got)))
	case *kind.Maximum:
		d.at(at, fmt.Sprintf("must be at most %s, is %s", number(k.Want), number(k.Got)))
	case *kind.ExclusiveMinimum:
		d.at(at, fmt.Sprintf("must be more than %s, is %s", number(k.Want), number(k.Got)))
	case *kind.UniqueItems:
		d.at(fmt.Sprintf("%s/%d", at, k.Duplicates[1]), "is there twice")
	case *kind.AnyOf, *kind.OneOf:
		s.explainChoice(d, at, e.Causes)
	default:
		if len(e.Causes) == 0 {
			d.at(at, e.ErrorKind.LocalizedString(textmessage.NewPrinter(language.English)))
			return
		}
		for _, cause := range e.Causes {
			s.explain(d, cause)
		}
	}
}

// explainChoice explains why a value is none of several things: the one whose type it
// has is meant.
func (s *shape) explainChoice(d *document, at string, causes []*jsonschema.ValidationError) {
	var want []string
	got := ""
	for _, c := range causes {
		leaf := c
		for len(leaf.Causes) == 1 {
			leaf = leaf.Causes[0]
		}
		if k, ok := leaf.ErrorKind.(*kind.Type); ok && len(leaf.InstanceLocation) == len(causes[0].InstanceLocation) {
			got, want = k.Got, append(want, k.Want...)
			continue
		}
		s.explain(d, c)
		return
	}
	d.at(at, wrongType(got, want))
}

// properties lists the keys that the schema at a URL knows.
func (s *shape) properties(url string) []string {
	properties, _ := s.node(url)["properties"].(map[string]any)
	return keysOf(properties)
}

// node is the schema at a URL; nil where there is none.
func (s *shape) node(url string) map[string]any {
	_, path, _ := strings.Cut(url, "#")
	node := s.raw
	for _, part := range strings.Split(path, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch n := node.(type) {
		case map[string]any:
			node = n[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(n) {
				return nil
			}
			node = n[i]
		}
	}
	object, _ := node.(map[string]any)
	return object
}

// typeNames are JSON's types as users of YAML know them.
var typeNames = map[string]string{
	"object": "a mapping (key: value)", "array": "a list", "string": "text", "integer": "a whole number",
	"number": "a number", "boolean": "true or false", "null": "nothing",
}

func wrongType(got string, want []string) string {
	names := make([]string, len(want))
	for i, w := range want {
		names[i] = typeNames[w]
	}
	text := "must be " + strings.Join(names, " or ") + ", is " + typeNames[got]
	if slices.Contains(want, "string") && (got == "number" || got == "boolean" || got == "integer") {
		text += "; put it in quotes"
	}
	return text
}

// holdsKey reports whether an unknown property is where somebody put a provider's key.
func holdsKey(name string, known []string) bool {
	return slices.Contains(known, "api_key_env") && strings.Contains(strings.ToLower(name), "key")
}

// unknownKey says what to write in the place of a key that isn't known.
func unknownKey(name string, known []string) string {
	if holdsKey(name, known) {
		return "keys don't belong into the file: name the environment variable that holds it in api_key_env, or a file in api_key_file"
	}
	return "unknown key" + suggestion(name, known)
}

func badText(d *document, k *kind.Pattern) string {
	switch k.Want {
	case durationPattern:
		return fmt.Sprintf("%q is no duration; write 500ms, 30s, 5m or 48h", k.Got)
	case modelPattern:
		return fmt.Sprintf("%q names no model; write provider:model, as openai:gpt-5-mini", k.Got)
	case variablePattern:
		d.secret(k.Got) // likely the key itself
		return "must be the name of an environment variable that holds the key, and not the key"
	}
	return fmt.Sprintf("%q doesn't fit the pattern %s", k.Got, k.Want)
}

// decode reads what has the right shape of a document; the rest is as if it weren't there.
func decode(d *document) (*File, error) {
	raw := d.raw
	if len(d.faults) > 0 {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("manifest: %s: %w", d.name, err)
		}
		for at := range d.bad {
			blank(v, strings.Split(at, "/")[1:])
		}
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("manifest: %s: %w", d.name, err)
		}
	}
	var f File
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("manifest: %s: %w", d.name, err)
	}
	return &f, nil
}

// blank makes a value null.
func blank(v any, path []string) {
	if len(path) == 0 {
		return
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch n := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			n[name] = nil
			return
		}
		blank(n[name], path[1:])
	case []any:
		i, err := strconv.Atoi(name)
		switch {
		case err != nil || i >= len(n):
		case len(path) == 1:
			n[i] = nil
		default:
			blank(n[i], path[1:])
		}
	}
}

package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"
)

// errNoLoader refuses every reference of a schema to another document.
var errNoLoader = errors.New("references to other documents are not allowed")

// noLoader is the loader of schemas that come from agents: a schema may only refer to
// itself, so that checking a value never reads files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: %w", url, errNoLoader)
}

// Checker checks JSON values against a JSON Schema. It is safe for concurrent use.
type Checker struct{ schema *jsonschema.Schema }

// NewChecker compiles a JSON Schema (draft 2020-12 unless it says otherwise)
// that refers to no other document. Beside the keywords of the draft there is EqualKeyword.
func NewChecker(raw json.RawMessage) (*Checker, error) {
	const name = "schema:///response" // no file: error texts reach clients
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.RegisterVocabulary(equalVocabulary())
	c.AssertVocabs()
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	return &Checker{schema}, nil
}

// Issues returns one issue per fault of a value, without InterruptID; none when it fits the schema.
// Of alternatives (oneOf, anyOf) that a constant property tells apart it gives the faults of the one that was meant.
func (c *Checker) Issues(value json.RawMessage) []Issue {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []Issue{{Message: "not JSON: " + err.Error()}}
	}
	if issues := unreckonable(v); issues != nil {
		return issues
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(c.schema.Validate(v), &invalid) {
		return nil
	}
	printer := textmessage.NewPrinter(language.English)
	var issues []Issue
	for _, f := range faults(invalid) {
		issue := Issue{Path: jsonPointer(f.at), Message: f.text}
		if f.text == "" {
			issue.Message = f.kind.LocalizedString(printer)
		}
		if !slices.Contains(issues, issue) {
			issues = append(issues, issue)
		}
	}
	return issues
}

// jsonPointer joins the tokens of a location (RFC 6901).
func jsonPointer(tokens []string) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escape.Replace(t))
	}
	return b.String()
}

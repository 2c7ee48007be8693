package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"
)

// errNoLoader refuses every reference of a response schema to another document.
var errNoLoader = errors.New("references to other documents are not allowed")

// noLoader is the loader of response schemas: a schema may only refer to itself,
// so that checking an answer never reads files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: %w", url, errNoLoader)
}

// compileResponseSchema compiles the JSON Schema of an interrupt (draft 2020-12
// unless it says otherwise).
func compileResponseSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	const name = "schema:///response" // no file: error texts reach clients
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("agent: response schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("agent: response schema: %w", err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("agent: response schema: %w", err)
	}
	return schema, nil
}

// answerIssues checks an answer against its question's response schema and
// returns one issue per fault; none when the answer is good or anything goes.
func answerIssues(q InterruptInfo, answer json.RawMessage) []Issue {
	if isNull(q.ResponseSchema) {
		return nil
	}
	schema, err := compileResponseSchema(q.ResponseSchema)
	if err != nil {
		return []Issue{{InterruptID: q.ID, Message: err.Error()}}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return []Issue{{InterruptID: q.ID, Message: "not JSON: " + err.Error()}}
	}
	err = schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	printer := textmessage.NewPrinter(language.English)
	var issues []Issue
	var collect func(*jsonschema.ValidationError)
	collect = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			issues = append(issues, Issue{
				InterruptID: q.ID,
				Path:        jsonPointer(e.InstanceLocation),
				Message:     e.ErrorKind.LocalizedString(printer),
			})
			return
		}
		for _, cause := range e.Causes {
			collect(cause)
		}
	}
	collect(invalid)
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

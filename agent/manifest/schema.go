package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// namePatterns say what names may look like, by the property that holds them.
// Tools are shown to models by their name, which providers bound.
var namePatterns = map[string]string{
	"models": `^[A-Za-z0-9][A-Za-z0-9_.-]*$`,
	"mcp":    `^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`,
	"tools":  `^[A-Za-z0-9_-]{1,64}$`,
	"agents": `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`,
}

// Schema returns the JSON Schema of a file (draft 2020-12). Editors show it, and
// Read holds files against the same one.
func Schema() (json.RawMessage, error) {
	s := reflector().Reflect(&File{})
	one := uint64(1)
	if agents, ok := s.Properties.Get("agents"); ok {
		agents.MinProperties = &one
	}
	s.Title = "Agents of Parley"
	for name, pattern := range namePatterns {
		p, ok := s.Properties.Get(name)
		if !ok {
			return nil, fmt.Errorf("manifest: the schema has no property %q", name)
		}
		p.PropertyNames = &jsonschema.Schema{Pattern: pattern}
	}
	// Anchors need a place: top-level keys that begin with x- mean nothing.
	s.PatternProperties = map[string]*jsonschema.Schema{"^x-": jsonschema.TrueSchema}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("manifest: encode the schema: %w", err)
	}
	return b.Bytes(), nil
}

// reflector makes schemas of the types of a file: closed, required by tag alone.
func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[json.RawMessage]() {
				return &jsonschema.Schema{Type: "object"}
			}
			return nil
		},
	}
}

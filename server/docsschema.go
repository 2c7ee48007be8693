package server

import (
	"encoding/json"
	"slices"
	"strings"
)

// jsonSchema is what the documentation page shows of a schema.
type jsonSchema struct {
	Ref         string                `json:"$ref"`
	Type        string                `json:"type"`
	Format      string                `json:"format"`
	Description string                `json:"description"`
	Nullable    bool                  `json:"nullable"`
	Enum        []json.RawMessage     `json:"enum"`
	Default     json.RawMessage       `json:"default"`
	Items       *jsonSchema           `json:"items"`
	AllOf       []jsonSchema          `json:"allOf"`
	OneOf       []jsonSchema          `json:"oneOf"`
	AnyOf       []jsonSchema          `json:"anyOf"`
	Properties  map[string]jsonSchema `json:"properties"`
	Required    []string              `json:"required"`
}

// name is what a reference points at; "" when the schema is none.
func (s jsonSchema) name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// words says what JSON the schema describes, by the names of other schemas where it refers to them.
func (s jsonSchema) words() string {
	var text string
	switch {
	case s.Ref != "":
		text = s.name()
	case len(s.AllOf) > 0:
		text = joined(s.AllOf, " and ")
	case len(s.OneOf) > 0:
		text = joined(s.OneOf, " or ")
	case len(s.AnyOf) > 0:
		text = joined(s.AnyOf, " or ")
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = string(v)
		}
		text = strings.Join(values, " or ")
	case s.Items != nil:
		text = "list of " + s.Items.words()
	case s.Type == "object" && len(s.Properties) > 0:
		text = "{" + strings.Join(s.keys(), ", ") + "}"
	case s.Format != "":
		text = s.Format
	case s.Type != "":
		text = s.Type
	default:
		return "any JSON"
	}
	if s.Nullable {
		text += " or null"
	}
	return text
}

func joined(schemas []jsonSchema, by string) string {
	texts := make([]string, len(schemas))
	for i, s := range schemas {
		texts[i] = s.words()
	}
	return strings.Join(texts, by)
}

// keys are the names of an object's fields, those that it requires first.
func (s jsonSchema) keys() []string {
	keys := make([]string, 0, len(s.Properties))
	for k := range s.Properties {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if ra, rb := slices.Contains(s.Required, a), slices.Contains(s.Required, b); ra != rb {
			if ra {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}

package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Schema describes the answers to the card, as a JSON Schema: {"approved", "values",
// "message"}. Values are checked if the form is approved; a refusal needs none.
// Errors: no FormType, a field without name or twice, what the field's type lacks.
func (c Card) Schema() (json.RawMessage, error) {
	if c.FormType == "" {
		return nil, errors.New("form: a card needs a formType")
	}
	properties := map[string]any{}
	required := []string{}
	for _, f := range c.Fields {
		if f.Name == "" {
			return nil, fmt.Errorf("form %s: a field has no name", c.FormType)
		}
		if _, twice := properties[f.Name]; twice {
			return nil, fmt.Errorf("form %s: two fields are named %q", c.FormType, f.Name)
		}
		s, err := f.schema()
		if err != nil {
			return nil, fmt.Errorf("form %s: %w", c.FormType, err)
		}
		properties[f.Name] = s
		if f.Required && f.Default == nil {
			required = append(required, f.Name)
		}
	}
	approved := map[string]any{"type": "boolean"}
	if !slices.Contains(c.Decisions, Reject) && len(c.Decisions) > 0 {
		approved["const"] = true
	}
	values := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	then := map[string]any{"properties": map[string]any{"values": values}}
	if len(required) > 0 {
		then["required"] = []string{"values"}
	}
	answer := map[string]any{
		"approved": approved, "values": map[string]any{"type": "object"}, "message": map[string]any{"type": "string"},
	}
	if c.Expiry != nil {
		answer["expired"] = false // only the server says that
	}
	raw, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"approved"}, "properties": answer,
		"if":   map[string]any{"required": []string{"approved"}, "properties": map[string]any{"approved": map[string]any{"const": true}}},
		"then": then,
	})
	if err != nil {
		return nil, fmt.Errorf("form %s: %w", c.FormType, err)
	}
	return raw, nil
}

package hitl

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/parley-dev/parley/agent"
)

// object is a JSON Schema, or a part of one.
type object = map[string]any

// schemas makes the response schemas of questions: what they refuse is never stored, and the question stays open.
type schemas struct {
	casing Casing
	// args are the schemas of the tools' arguments by tool; targets the tools that a call may be
	// edited to: those whose review an edit doesn't lead around.
	args    map[string]json.RawMessage
	targets []string
}

// newSchemas prepares what is the same for all questions.
func newSchemas(g *Gate) *schemas {
	s := &schemas{casing: g.config.Casing, args: map[string]json.RawMessage{}}
	for _, d := range g.tools.Definitions() {
		s.args[d.Name] = argsSchema(d.Name, d.Schema)
		if rule, gated := g.config.Policy[d.Name]; !gated || rule.allows(Edit) {
			s.targets = append(s.targets, d.Name)
		}
	}
	return s
}

// argsSchema is a tool's schema as a part of another: references within it stay its own.
func argsSchema(name string, schema json.RawMessage) json.RawMessage {
	var parts object
	if json.Unmarshal(schema, &parts) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if refers(parts) {
		if parts["$id"] == nil {
			parts["$id"] = "urn:parley:tool:" + url.PathEscape(name)
		}
	} else {
		delete(parts, "$schema")
		delete(parts, "$id")
	}
	if parts["type"] == nil {
		parts["type"] = "object"
	}
	raw, err := encode(parts)
	if err != nil { // it was JSON
		panic(err)
	}
	return raw
}

// refers tells whether a schema has references or anchors.
func refers(v any) bool {
	switch v := v.(type) {
	case object:
		for k, part := range v {
			if k == "$ref" || k == "$dynamicRef" || k == "$anchor" || refers(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, refers)
	}
	return false
}

// batch is the response schema of the batch question: the count, the order, and of each
// decision its type, the edited arguments, the message and, if it is given, the call's id (D-35, D-36).
func (s *schemas) batch(calls []reviewed) json.RawMessage {
	items := make([]any, len(calls))
	edits := false
	for i, c := range calls {
		items[i] = s.item(c)
		edits = edits || slices.Contains(c.Decisions, Edit)
	}
	schema := object{
		"type": "object", "required": []string{"decisions"},
		"properties": object{"decisions": object{"type": "array", "minItems": len(calls), "maxItems": len(calls), "prefixItems": items}},
	}
	if edits {
		schema["$defs"] = s.actions()
	}
	return mustEncode(schema)
}

// item is the schema of the decision about one call.
func (s *schemas) item(c reviewed) object {
	own, other := "editedAction", "edited_action"
	if s.casing == Snake {
		own, other = other, own
	}
	var cases []any
	when := func(d Decision, then ...any) {
		if slices.Contains(c.Decisions, d) {
			for _, t := range then {
				cases = append(cases, object{"if": object{"properties": object{"type": object{"const": d}}, "required": []string{"type"}}, "then": t})
			}
		}
	}
	action := object{"allOf": []any{
		object{"properties": object{"name": object{"enum": s.targets}}},
		object{"$ref": "#/$defs/action"},
	}}
	when(Edit,
		object{"if": object{"not": object{"required": []string{other}}}, "then": object{"required": []string{own}}},
		object{"properties": object{own: action, other: action}, agent.EqualKeyword: []string{own, other}})
	when(Reject, object{"properties": object{"message": object{"type": []string{"string", "null"}}}})
	when(Respond, object{"properties": object{"message": object{"type": "string", "minLength": 1}}, "required": []string{"message"}})
	properties := object{"type": object{"enum": c.Decisions}}
	if c.CallID != "" {
		properties["tool_call_id"], properties["toolCallId"] = object{"const": c.CallID}, object{"const": c.CallID}
	}
	item := object{"type": "object", "required": []string{"type"}, "properties": properties}
	if len(cases) > 0 {
		item["allOf"] = cases
	}
	return item
}

// actions defines an edited action: a known tool, and arguments that fit it.
func (s *schemas) actions() object {
	defs := object{}
	var cases []any
	for i, name := range s.targets {
		part := "args" + strconv.Itoa(i)
		defs[part] = s.args[name]
		cases = append(cases, object{
			"if":   object{"properties": object{"name": object{"const": name}}, "required": []string{"name"}},
			"then": object{"properties": object{"args": object{"$ref": "#/$defs/" + part}}},
		})
	}
	defs["action"] = object{
		"type": "object", "required": []string{"name", "args"},
		"properties": object{"name": object{"type": "string"}, "args": object{"type": "object"}},
		"allOf":      cases,
	}
	return defs
}

// call is the response schema of the question about one call (spec/runtime.md 6.8). Edits
// are taken in the other casing, too.
func (s *schemas) call(c reviewed) json.RawMessage {
	args := any(s.args[c.Name])
	var defs object
	if own := (object{}); json.Unmarshal(s.args[c.Name], &own) == nil && own["$id"] != nil {
		defs = object{"args": s.args[c.Name]}
		args = object{"$ref": "#/$defs/args"}
	}
	var branches []any
	branch := func(d Decision, properties object, required ...string) {
		properties["type"] = object{"type": "string", "const": d}
		branches = append(branches, object{
			"type": "object", "properties": properties, "required": append([]string{"type"}, required...), "additionalProperties": false,
		})
	}
	action := object{
		"type": "object", "properties": object{"name": object{"type": "string", "const": c.Name}, "args": args},
		"required": []string{"name", "args"}, "additionalProperties": false,
	}
	for _, d := range c.Decisions {
		switch d {
		case Approve:
			branch(d, object{})
		case Edit:
			branch(d, object{"edited_action": action}, "edited_action")
		case Reject:
			branch(d, object{"message": object{"type": "string"}})
		case Respond:
			branch(d, object{"message": object{"type": "string"}}, "message")
		}
	}
	if slices.Contains(c.Decisions, Edit) {
		branch(Edit, object{"editedAction": action}, "editedAction")
		branches[len(branches)-1].(object)["deprecated"] = true
	}
	schema := object{"oneOf": branches}
	if len(branches) == 1 {
		schema = branches[0].(object)
	}
	if defs != nil && slices.Contains(c.Decisions, Edit) {
		schema["$defs"] = defs
	}
	return mustEncode(schema)
}

func mustEncode(v any) json.RawMessage {
	raw, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("hitl: encode a schema: %v", err)) // maps, lists, strings and JSON
	}
	return raw
}

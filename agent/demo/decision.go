package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// The question to the reviewer (spec/runtime.md 6.2).
type (
	question struct {
		ActionRequests []actionRequest `json:"action_requests"`
		ReviewConfigs  []reviewConfig  `json:"review_configs"`
	}
	actionRequest struct {
		Name        string            `json:"name"`
		Args        map[string]string `json:"args"`
		Description string            `json:"description"`
	}
	reviewConfig struct {
		ActionName       string   `json:"action_name"`
		AllowedDecisions []string `json:"allowed_decisions"`
	}
)

func askAbout(request string) question {
	return question{
		ActionRequests: []actionRequest{{
			Name:        action,
			Args:        map[string]string{"request": request},
			Description: "The agent wants to do this for the user:\n\n" + request + "\n\nApprove it, edit it, or reject it.",
		}},
		ReviewConfigs: []reviewConfig{{ActionName: action, AllowedDecisions: []string{"approve", "edit", "reject"}}},
	}
}

// answerSchema admits {"decisions": [one decision]} and {"approved": true|false}. An
// answer of another form is refused before it is stored; the question stays open.
var answerSchema = json.RawMessage(`{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "definitions": {"action": {
    "type": "object",
    "required": ["args"],
    "properties": {
      "name": {"const": "carry_out"},
      "args": {
        "type": "object",
        "required": ["request"],
        "properties": {"request": {"type": "string", "minLength": 1}}
      }
    }
  }},
  "anyOf": [
    {
      "required": ["decisions"],
      "properties": {"decisions": {
        "type": "array", "minItems": 1, "maxItems": 1,
        "items": {
          "type": "object",
          "required": ["type"],
          "oneOf": [
            {"properties": {"type": {"const": "approve"}}},
            {
              "properties": {
                "type": {"const": "edit"},
                "edited_action": {"$ref": "#/definitions/action"},
                "editedAction": {"$ref": "#/definitions/action"}
              },
              "anyOf": [{"required": ["edited_action"]}, {"required": ["editedAction"]}]
            },
            {"properties": {"type": {"const": "reject"}, "message": {"type": "string"}}}
          ]
        }
      }}
    },
    {
      "required": ["approved"],
      "properties": {"approved": {"type": "boolean"}, "message": {"type": "string"}}
    }
  ]
}`)

// decision is the reviewer's answer, in one form for all that are accepted.
type decision struct {
	Type    string `json:"type"` // approve, edit or reject
	Message string `json:"message,omitempty"`
	// Request replaces the user's when the reviewer edited it.
	Request string `json:"request,omitempty"`
}

// UnmarshalJSON reads an answer, or a decision as the state keeps it.
func (d *decision) UnmarshalJSON(raw []byte) error {
	type edited struct {
		Args struct {
			Request string `json:"request"`
		} `json:"args"`
	}
	var answer struct {
		Decisions []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Edited  edited `json:"edited_action"`
			// The JavaScript middleware's spelling.
			EditedCamel edited `json:"editedAction"`
		} `json:"decisions"`
		Approved *bool  `json:"approved"`
		Type     string `json:"type"`
		Message  string `json:"message"`
		Request  string `json:"request"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	switch {
	case len(answer.Decisions) > 0:
		first := answer.Decisions[0]
		*d = decision{Type: first.Type, Message: first.Message, Request: cmp.Or(first.Edited.Args.Request, first.EditedCamel.Args.Request)}
	case answer.Approved != nil && *answer.Approved:
		*d = decision{Type: "approve"}
	case answer.Approved != nil:
		*d = decision{Type: "reject", Message: answer.Message}
	default:
		*d = decision{Type: answer.Type, Message: answer.Message, Request: answer.Request}
	}
	switch d.Type {
	case "approve", "edit", "reject":
		return nil
	}
	return errors.New(`a decision is {"decisions": [{"type": "approve"}]} or {"approved": true}`)
}

func (d *decision) approved() bool { return d != nil && d.Type != "reject" }

// request is what the reviewer allows to be done.
func (d *decision) request(asked string) string {
	if d != nil && d.Type == "edit" && d.Request != "" {
		return d.Request
	}
	return asked
}

// refusal says why nothing was done.
func (d *decision) refusal() string {
	if d != nil && d.Message != "" {
		return "the reviewer rejected it: " + d.Message
	}
	return "the reviewer rejected it"
}

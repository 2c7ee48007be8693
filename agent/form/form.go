// Package form asks a person by a form: a card that says what the agent wants to do
// and which values it needs, and an answer that is checked against the card before it
// is stored. Frontends draw a form they know by its FormType, and any other one by its fields.
package form

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
)

// Card is the value of the interrupt: what the person sees.
type Card struct {
	// FormType names the form to frontends, such as "refund-approval"; required.
	FormType string `json:"formType"`
	Title    string `json:"title"`
	// Description says in a sentence or two what will happen; may be "".
	Description string `json:"description,omitempty"`
	// Context is what the person needs to see to decide, an object; may be nil.
	Context any `json:"context,omitempty"`
	// Fields are the values that the person gives, in the order of the form.
	Fields []Field `json:"fields"`
	// Decisions are those that the form offers. Default: approve and reject.
	Decisions []string `json:"allowed_decisions"`
	// ApproveLabel and RejectLabel are the texts of the buttons; "" leaves them to the frontend.
	ApproveLabel string `json:"approveLabel,omitempty"`
	RejectLabel  string `json:"rejectLabel,omitempty"`
	// Expiry gives the form a deadline; nil: it waits for ever.
	Expiry *agent.Expiry `json:"-"`
}

// Answer is what the person said.
type Answer[T any] struct {
	Approved bool `json:"approved"`
	// Values are the form's values; of a refused form, those that were sent along or the zero value.
	Values T `json:"values"`
	// Message is what the person wrote beside the form, such as the reason of a refusal.
	Message string `json:"message,omitempty"`
	// Expired is set when nobody answered before the deadline: it isn't approved then, but nobody refused it either. Message is the Expiry's.
	Expired bool `json:"expired,omitempty"`
}

// Ask shows the card and returns the answer; T is a struct with a field for each of
// the card's. In a tool the answer is good for the call with these arguments only. The error is agent.ErrSuspended until there is an answer: return it.
// Other errors: a card that Schema refuses, values that don't decode as T.
func Ask[T any](ctx agent.Context, card Card) (Answer[T], error) {
	var answer Answer[T]
	if len(card.Decisions) == 0 {
		card.Decisions = []string{Approve, Reject}
	}
	schema, err := card.Schema()
	if err != nil {
		return answer, err
	}
	options := []agent.InterruptOption{agent.ResponseSchema(schema)}
	if c, ok := ctx.(interface{ ToolCall() message.ToolCall }); ok {
		// With the answer there may come another call under the same id: that one asks anew.
		options = append(options, agent.Named("form:"+hitl.Digest(c.ToolCall().Name, c.ToolCall().Args)))
	}
	if card.Expiry != nil {
		e := *card.Expiry
		if e.Answer, err = json.Marshal(Answer[struct{}]{Message: e.Message, Expired: true}); err != nil {
			return answer, fmt.Errorf("form %s: %w", card.FormType, err)
		}
		options = append(options, agent.Expires(e))
	}
	raw, err := agent.Interrupt[json.RawMessage](ctx, card, options...)
	if err != nil {
		return answer, err
	}
	var given struct {
		Approved bool                       `json:"approved"`
		Values   map[string]json.RawMessage `json:"values"`
		Message  string                     `json:"message"`
		Expired  bool                       `json:"expired"`
	}
	if err := exactjson.Unmarshal(raw, &given); err != nil {
		return answer, fmt.Errorf("form %s: answer: %w", card.FormType, err)
	}
	answer.Approved, answer.Message, answer.Expired = given.Approved, given.Message, given.Expired && card.Expiry != nil
	values, err := json.Marshal(card.complete(given.Values))
	if err != nil {
		return answer, fmt.Errorf("form %s: values: %w", card.FormType, err)
	}
	if err := exactjson.Unmarshal(values, &answer.Values); err != nil && given.Approved {
		return answer, fmt.Errorf("form %s: values: %w", card.FormType, err)
	}
	return answer, nil
}

// Decisions that a form knows.
const (
	Approve = "approve"
	Reject  = "reject"
)

// complete adds the defaults of fields that were left out.
func (c Card) complete(values map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, f := range c.Fields {
		if f.Default == nil {
			continue
		}
		if raw, err := json.Marshal(f.Default); err == nil {
			all[f.Name] = raw
		}
	}
	for name, v := range values {
		all[name] = v
	}
	return all
}

package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/parley-dev/parley/agent"
)

// Patterns of texts, as in the schema.
const (
	durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	modelPattern    = `^[a-z0-9_-]+:.+$`
	variablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`
)

// Duration is a time as Go writes it: 30s, 5m, 48h.
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("a duration is a text like 30s: %w", err)
	}
	v, err := time.ParseDuration(text)
	*d = Duration(v)
	return err
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// JSONSchema describes a duration for editors.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: durationPattern, Examples: []any{"30s", "5m", "48h"}}
}

// Review says how a tool is reviewed. In a file it is true, false or a mapping.
type Review struct {
	// Off is false of a file: the tool runs without a question.
	Off bool `json:"-"`
	// Decisions that the reviewer has; nil stands for all.
	Decisions   []string `json:"decisions,omitempty" jsonschema:"minItems=1,uniqueItems=true,enum=approve,enum=edit,enum=reject,enum=respond" jsonschema_description:"What the reviewer may decide: approve, edit (other arguments), reject, respond (answer in the tool's place). Default: all."`
	Description string   `json:"description,omitempty" jsonschema_description:"What the reviewer reads. Default: the tool's name and arguments."`
	// Deadline is how long a call waits for a decision; 0 is for ever.
	Deadline Duration `json:"deadline,omitempty" jsonschema_description:"How long a call waits for a decision. Default: for ever."`
	OnExpiry OnExpiry `json:"on_expiry,omitzero" jsonschema_description:"What happens to a call that nobody decided on in time. Default: reject."`
	Warn     Duration `json:"warn,omitempty" jsonschema_description:"How long before the deadline reviewers are warned. Default: a tenth of it, at most 1h."`
}

// OnExpiry is what happens at a deadline. In a file it is an action or a mapping.
type OnExpiry struct {
	Action  string `json:"action" jsonschema:"enum=reject,enum=respond,enum=escalate" jsonschema_description:"reject (the tool isn't run, and the model is told why), respond (message is the tool's answer), escalate (people of role decide, within the same time again)."`
	Message string `json:"message,omitempty" jsonschema_description:"What the model is told; required for respond."`
	Role    string `json:"role,omitempty" jsonschema_description:"Who decides after escalate."`
	Then    string `json:"then,omitempty" jsonschema:"enum=reject,enum=respond" jsonschema_description:"What ends an escalation. Default: reject."`
}

// onExpiryMapping is OnExpiry without its methods.
type onExpiryMapping OnExpiry

// UnmarshalJSON implements json.Unmarshaler.
func (o *OnExpiry) UnmarshalJSON(raw []byte) error {
	var action string
	if json.Unmarshal(raw, &action) == nil {
		*o = OnExpiry{Action: action}
		return nil
	}
	return json.Unmarshal(raw, (*onExpiryMapping)(o))
}

// JSONSchema describes what happens at a deadline for editors.
func (OnExpiry) JSONSchema() *jsonschema.Schema {
	mapping := inline(onExpiryMapping{})
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string", Enum: []any{agent.ExpireReject, agent.ExpireRespond, agent.ExpireEscalate}, Description: "reject: the tool isn't run, and the model is told that nobody decided. The others need a mapping."},
		mapping,
	}}
}

// reviewMapping is Review without its methods.
type reviewMapping Review

// UnmarshalJSON implements json.Unmarshaler.
func (r *Review) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var on bool
	if json.Unmarshal(raw, &on) == nil {
		*r = Review{Off: !on}
		return nil
	}
	return json.Unmarshal(raw, (*reviewMapping)(r))
}

// JSONSchema describes a review for editors.
func (Review) JSONSchema() *jsonschema.Schema {
	mapping := inline(reviewMapping{})
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "boolean", Description: "true: every decision is possible; false: the tool runs without a question."},
		mapping,
	}}
}

// inline describes a type without references: it becomes a part of another schema.
func inline(v any) *jsonschema.Schema {
	r := reflector()
	r.DoNotReference = true
	s := r.Reflect(v)
	s.Version = ""
	return s
}

// durationText is a duration without the zeros at its end.
func durationText(d Duration) string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

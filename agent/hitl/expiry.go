package hitl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Expired is the decision in the Record of a call that nobody decided on before its deadline. No
// reviewer can take it.
const Expired Decision = "expired"

// OnExpiry is what happens to a call at its deadline. In JSON it is the action alone or an object.
type OnExpiry struct {
	// Action is agent.ExpireReject (default): the call isn't run, and the model is told that nobody decided;
	// agent.ExpireRespond: the call is answered with Message; agent.ExpireEscalate: people of Role decide, within the same time again.
	Action string `json:"action,omitempty" yaml:"action,omitempty"`
	// Message is told to the model; required for agent.ExpireRespond.
	Message string `json:"message,omitempty" yaml:"message,omitempty"`
	// Role is who decides after an escalation, Then what ends that: agent.ExpireReject (default) or agent.ExpireRespond.
	Role string `json:"role,omitempty" yaml:"role,omitempty"`
	Then string `json:"then,omitempty" yaml:"then,omitempty"`
}

// UnmarshalJSON reads an action or an object.
func (o *OnExpiry) UnmarshalJSON(raw []byte) error {
	var action string
	if json.Unmarshal(raw, &action) == nil {
		*o = OnExpiry{Action: action}
		return nil
	}
	type plain OnExpiry
	return strictly(raw, (*plain)(o))
}

// ruleDoc is a Rule as JSON: times are texts such as 48h.
type ruleDoc struct {
	*plainRule
	Deadline text      `json:"deadline,omitempty"`
	Warn     text      `json:"warn,omitempty"`
	OnExpiry *OnExpiry `json:"on_expiry,omitempty"`
}

type plainRule Rule

// text is a duration as Go writes it.
type text time.Duration

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("a duration is a text like 48h: %w", err)
	}
	d, err := time.ParseDuration(s)
	*t = text(d)
	return err
}

func (t text) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(t).String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rule) UnmarshalJSON(raw []byte) error {
	doc := ruleDoc{plainRule: &plainRule{}}
	if err := strictly(raw, &doc); err != nil {
		return err
	}
	*r = Rule(*doc.plainRule)
	r.Deadline, r.Warn = time.Duration(doc.Deadline), time.Duration(doc.Warn)
	if doc.OnExpiry != nil {
		r.OnExpiry = *doc.OnExpiry
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (r Rule) MarshalJSON() ([]byte, error) {
	plain := plainRule(r)
	doc := ruleDoc{plainRule: &plain, Deadline: text(r.Deadline), Warn: text(r.Warn)}
	if r.OnExpiry != (OnExpiry{}) {
		doc.OnExpiry = &r.OnExpiry
	}
	return json.Marshal(doc)
}

func strictly(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// Expiry is the rule's deadline, nil without one; its Check says what is wrong with it.
func (r Rule) Expiry() *agent.Expiry {
	if r.Deadline == 0 && r.Warn == 0 && r.OnExpiry == (OnExpiry{}) {
		return nil
	}
	return &agent.Expiry{
		After: r.Deadline, Warn: r.Warn, Action: r.OnExpiry.Action, Message: r.OnExpiry.Message, Role: r.OnExpiry.Role, Then: r.OnExpiry.Then,
	}
}

// expires is the option of a question about calls: the shortest of their deadlines counts, with its warning and
// escalation; in the end each call is answered as its own rule says. Nothing where no call has a deadline.
func (g *Gate) expires(calls []reviewed, single bool) []agent.InterruptOption {
	var first *agent.Expiry
	for _, c := range calls {
		if e := g.config.Policy[c.Name].Expiry(); e != nil && (first == nil || e.After < first.After) {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	answers := make([]wireDecision, len(calls))
	for i, c := range calls {
		answers[i] = wireDecision{Type: Expired}
		if e := g.config.Policy[c.Name].Expiry(); e != nil {
			answers[i].Message = e.Message
			if e.End() == agent.ExpireRespond {
				answers[i].Type = Respond
			}
		}
	}
	if first.Answer = mustEncode(map[string]any{"decisions": answers}); single {
		first.Answer = mustEncode(answers[0])
	}
	return []agent.InterruptOption{agent.Expires(*first)}
}

// wireDecision is the part of a decision that a deadline takes.
type wireDecision struct {
	Type    Decision `json:"type"`
	Message string   `json:"message,omitempty"`
}

// expiration tells the model that the tool did not run, and that nobody refused it (D-104).
func expiration(r Record) string {
	s := fmt.Sprintf("Nobody decided on the tool call for `%s` with id %s before the deadline of its review. The tool was not executed, and nobody refused it.", r.Name, r.CallID)
	if r.Message != "" {
		s += " " + r.Message
	}
	return s + " Do not make this call again unless the user asks for it."
}

package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/parley-dev/parley/agent/exactjson"
	"github.com/parley-dev/parley/agent/message"
)

// ReviewRequest asks a person for a decision (spec/executions.md 3).
type ReviewRequest struct {
	// Reason says in a sentence why the run waits.
	Reason string
	// Context is what the person needs to see, something that encodes as a JSON object; may be nil.
	Context any
	// AllowedDecisions are the decisions to choose from. They are compared without regard to case and outer spaces. Default: any text.
	AllowedDecisions []string
	// Expiry gives the request a deadline; nil: it waits for ever.
	Expiry *Expiry
}

// Decision is what a person decided.
type Decision struct {
	// Decision is one of AllowedDecisions, spelt as there, or whatever was decided where there are none. Of
	// a request whose deadline passed it is "expired".
	Decision string `json:"decision"`
	// Notes are the reviewer's, may be "". Of an expired request they are the Expiry's Message.
	Notes string `json:"notes,omitempty"`
	// Reviewer is the authenticated principal who decided, and At is when; "" for an expired request or without authentication.
	Reviewer string    `json:"reviewer,omitempty"`
	At       time.Time `json:"at"`
	// Expired is set when the deadline passed without a decision: nobody refused, nobody agreed.
	Expired bool `json:"expired,omitempty"`
}

// DecisionExpired is the Decision of a request whose deadline passed.
const DecisionExpired = "expired"

// ReviewComment is the "$comment" of the response schemas of Review, by which its questions are told from others.
const ReviewComment = "agent.Review"

// Review asks a person and suspends the run until the decision is there, as Interrupt does. The
// interrupt's value is the Context with reason and allowed_decisions, its answer {"decision", "reviewer_notes"}. In a
// tool the decision is good for the call with these arguments only.
// Other errors: a Context that is no object, decisions that are empty or the same, a wrong Expiry.
func Review(ctx Context, r ReviewRequest) (Decision, error) {
	value, err := r.value()
	if err != nil {
		return Decision{}, err
	}
	o := interruptOptions{schema: r.schema(), given: true}
	if r.Expiry != nil {
		e := *r.Expiry
		if e.Answer, err = encode(reviewAnswer{Decision: DecisionExpired, Notes: e.Message, Expired: true}); err != nil {
			return Decision{}, err
		}
		o.expiry = &e
	}
	if c, ok := ctx.(interface{ ToolCall() message.ToolCall }); ok {
		// With the answer there may come another call under the same id: that one asks anew.
		call := c.ToolCall()
		o.name = "review:" + digest(slices.Concat([]byte(call.Name), []byte{0}, call.Args))
	}
	answer, err := ctx.task().ask(value, o)
	if err != nil {
		return Decision{}, err
	}
	var given reviewAnswer
	if err := exactjson.Unmarshal(answer.Value, &given); err != nil {
		return Decision{}, fmt.Errorf("agent: answer of a review in node %q: %w", ctx.Node(), err)
	}
	d := Decision{Decision: strings.TrimSpace(given.Decision), Notes: given.Notes, Reviewer: answer.By, At: answer.At, Expired: given.Expired}
	if !d.Expired {
		if own, ok := AllowedDecision(r.AllowedDecisions, d.Decision); ok {
			d.Decision = own
		}
	}
	return d, nil
}

// reviewAnswer is the answer to a Review. Expired is the server's: the response schema takes it from nobody else.
type reviewAnswer struct {
	Decision string `json:"decision"`
	Notes    string `json:"reviewer_notes,omitempty"`
	Expired  bool   `json:"expired,omitempty"`
}

// AllowedDecision finds a decision among those allowed, without regard to case and outer spaces, and
// returns its own spelling there.
func AllowedDecision(allowed []string, decision string) (own string, ok bool) {
	decision = strings.TrimSpace(decision)
	for _, a := range allowed {
		if strings.EqualFold(strings.TrimSpace(a), decision) {
			return a, true
		}
	}
	return "", false
}

// value is the interrupt's.
func (r ReviewRequest) value() (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if r.Context != nil {
		raw, err := encode(r.Context)
		if err != nil {
			return nil, fmt.Errorf("agent: encode the context of a review: %w", err)
		}
		if err := json.Unmarshal(raw, &all); err != nil || all == nil {
			return nil, errors.New("agent: the context of a review must be an object")
		}
	}
	for i, d := range r.AllowedDecisions {
		if strings.TrimSpace(d) == "" {
			return nil, errors.New("agent: an allowed decision of a review is empty")
		}
		if _, twice := AllowedDecision(r.AllowedDecisions[:i], d); twice {
			return nil, fmt.Errorf("agent: two allowed decisions of a review are %q", d)
		}
	}
	if r.Reason != "" {
		key := "reason"
		if _, taken := all[key]; taken {
			key = "suspend_reason"
		}
		all[key] = appendString(nil, r.Reason)
	}
	if len(r.AllowedDecisions) > 0 {
		raw, err := encode(r.AllowedDecisions)
		if err != nil {
			return nil, err
		}
		all["allowed_decisions"] = raw
	}
	return encode(all)
}

// schema describes the answers.
func (r ReviewRequest) schema() json.RawMessage {
	decision := map[string]any{"type": "string", "pattern": `\S`}
	if len(r.AllowedDecisions) > 0 {
		decision["pattern"] = anyCase(r.AllowedDecisions)
		decision["examples"] = r.AllowedDecisions
	}
	raw, err := encode(map[string]any{
		"$comment": ReviewComment, "type": "object", "required": []string{"decision"}, "additionalProperties": false,
		"properties": map[string]any{"decision": decision, "reviewer_notes": map[string]any{"type": []string{"string", "null"}}},
	})
	if err != nil { // maps, lists and strings
		panic(err)
	}
	return raw
}

// anyCase is a pattern for the texts without regard to case and outer spaces. It
// spells out the cases, because the flag for that isn't known to all who read schemas.
func anyCase(texts []string) string {
	alternatives := make([]string, len(texts))
	for i, text := range texts {
		var b strings.Builder
		for _, r := range strings.TrimSpace(text) {
			switch {
			case unicode.SimpleFold(r) != r:
				b.WriteByte('[')
				b.WriteRune(r)
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					b.WriteRune(f)
				}
				b.WriteByte(']')
			case strings.ContainsRune(`\.+*?()|[]{}^$/`, r):
				b.WriteByte('\\')
				b.WriteRune(r)
			default:
				b.WriteRune(r)
			}
		}
		alternatives[i] = b.String()
	}
	return `^\s*(` + strings.Join(alternatives, "|") + `)\s*$`
}

package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What happens to a question at its deadline.
const (
	// ExpireReject ends it as not allowed: nothing is done. The default.
	ExpireReject = "reject"
	// ExpireRespond ends it with a text in the place of a decision.
	ExpireRespond = "respond"
	// ExpireEscalate hands it to people of another role, for the same time again.
	ExpireEscalate = "escalate"
)

// Expiry is what happens to a question that nobody answers in time. It is kept by the server and part of neither
// the question nor the run: no caller can change it. A question without one waits for ever (D-96).
type Expiry struct {
	// After is the time from the question to its deadline; required.
	After time.Duration
	// Warn is how long before the deadline a warning goes out. Default: a tenth of After, at most an hour.
	Warn time.Duration
	// Action is one of the Expire… constants. Default: ExpireReject.
	Action string
	// Message is what the agent is told; required for ExpireRespond, else optional.
	Message string
	// Role is who may decide after an escalation; required for one: "owner", "reviewer", "reviewer:AGENT",
	// "reviewer:AGENT/TOOL", or people whom you name by a team, "team:NAME".
	Role string
	// Then is what ends an escalation: ExpireReject (default) or ExpireRespond.
	Then string
	// Answer is what the asking node gets at the end. Default: {"decision": "expired"}, which the type of a plain
	// Interrupt's answer has to take then. It is the server's own and not held against the response schema. Packages that ask in their
	// own words (hitl, form, Review) set it.
	Answer json.RawMessage
}

// expiredAnswer is the answer of a deadline where nobody gave another one.
var expiredAnswer = json.RawMessage(`{"decision":"expired"}`)

// Expires gives a question a deadline. Mistakes in it are errors of Interrupt.
func Expires(e Expiry) InterruptOption { return func(o *interruptOptions) { o.expiry = &e } }

// Check reports what is wrong with an Expiry.
func (e Expiry) Check() error {
	switch e.Action {
	case "", ExpireReject, ExpireRespond:
		if e.Role != "" || e.Then != "" {
			return fmt.Errorf("role and then belong to %q", ExpireEscalate)
		}
	case ExpireEscalate:
		if e.Role == "" {
			return fmt.Errorf("%q needs a role", ExpireEscalate)
		}
		if !escalates(e.Role) {
			return fmt.Errorf("nobody can have the role %q: want owner, reviewer, reviewer:AGENT, reviewer:AGENT/TOOL or team:NAME, as in team:%s", e.Role, cmp.Or(strings.TrimPrefix(e.Role, "team:"), "finance"))
		}
		if e.Then != "" && e.Then != ExpireReject && e.Then != ExpireRespond {
			return fmt.Errorf("after an escalation there is %q or %q, not %q", ExpireReject, ExpireRespond, e.Then)
		}
	default:
		return fmt.Errorf("unknown action %q; there are %q, %q and %q", e.Action, ExpireReject, ExpireRespond, ExpireEscalate)
	}
	switch {
	case e.After <= 0:
		return errors.New("what happens at a deadline needs one above 0")
	case e.Warn < 0 || e.Warn >= e.After:
		return errors.New("a warning must come between the question and its deadline")
	case e.End() == ExpireRespond && e.Message == "":
		return fmt.Errorf("%q needs a message", ExpireRespond)
	}
	return nil
}

// escalates reports whether a role is one that people who decide can have.
func escalates(role string) bool {
	if role == "owner" || role == "reviewer" {
		return true
	}
	kind, name, _ := strings.Cut(role, ":")
	of, tool, bound := strings.Cut(name, "/")
	return kind == "team" && name != "" || kind == "reviewer" && of != "" && (!bound || tool != "")
}

// End is the action that ends the question: Then of an escalation.
func (e Expiry) End() string {
	end := e.Action
	if end == ExpireEscalate {
		end = e.Then
	}
	if end == "" {
		end = ExpireReject
	}
	return end
}

// prepare checks an Expiry, and that the question's asker can take its answer.
func (e *Expiry) prepare(q InterruptInfo) (*Expiry, error) {
	if e == nil {
		return nil, nil
	}
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("agent: expiry: %w", err)
	}
	own := *e
	if own.Answer != nil {
		return &own, nil
	}
	own.Answer = expiredAnswer
	if issues := answerIssues(q, own.Answer); issues != nil {
		return nil, fmt.Errorf("agent: expiry: give it an Answer; the answer to this question can't be %s: %s", own.Answer, inWords(issues))
	}
	return &own, nil
}

package hitl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
)

// Decision is what a reviewer may do with a tool call.
type Decision string

// The decisions.
const (
	// Approve runs the call as it is.
	Approve Decision = "approve"
	// Edit runs it with other arguments, or another tool of the agent instead.
	Edit Decision = "edit"
	// Reject answers the call with a refusal; nothing runs.
	Reject Decision = "reject"
	// Respond answers the call with the reviewer's text as the result; nothing runs.
	Respond Decision = "respond"
)

// all lists the decisions in the order in which frontends show them.
var all = []Decision{Approve, Edit, Reject, Respond}

// All returns all decisions.
func All() []Decision { return slices.Clone(all) }

// Policy says which tools need review, by the name that they are registered under. A
// tool that isn't listed runs unasked. In JSON and YAML a rule may be true, for all
// decisions, or false, for no review.
type Policy map[string]Rule

// Rule is how the calls of one tool are reviewed.
type Rule struct {
	// Decisions are those that the reviewer may choose from; required.
	Decisions []Decision `json:"decisions" yaml:"decisions"`
	// Description tells the reviewer what the call is about. Default: Config's
	// DescriptionPrefix with the tool's name and arguments.
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	// DescribeFunc makes the description of a call, instead of Description. It is called
	// once per call; what it returned is kept.
	DescribeFunc func(Request) string `json:"-" yaml:"-"`
	// ArgsSchema is a JSON Schema of the arguments, shown to the reviewer's frontend with the
	// batch question. What edited arguments are checked against is the tool's own schema.
	ArgsSchema json.RawMessage `json:"args_schema,omitempty" yaml:"args_schema,omitempty"`
	// When decides which calls are reviewed; the others run unasked. Default: all. It is called
	// once per call; what it returned is kept, and never asked again (D-39).
	When func(Request) bool `json:"-" yaml:"-"`
	// Deadline is how long a call waits for a decision. Default: for ever. In JSON it and Warn are texts like 48h.
	Deadline time.Duration `json:"deadline,omitempty" yaml:"deadline,omitempty"`
	// OnExpiry is what happens then. Default: the call isn't run, and the model is told why.
	OnExpiry OnExpiry `json:"on_expiry,omitzero" yaml:"on_expiry,omitempty"`
	// Warn is how long before the deadline reviewers are warned. Default: a tenth of it, at most an hour.
	Warn time.Duration `json:"warn,omitempty" yaml:"warn,omitempty"`
}

// Request is a call that a Rule decides about.
type Request struct {
	// Call is the call as the model made it.
	Call message.ToolCall
	// Tool is the tool that is called.
	Tool tool.Tool
	// State is the agent's state: don't change it.
	State *agent.State
	// Config is the run's configuration. It is the caller's: no ground to skip a review.
	Config agent.Config
}

// UnmarshalJSON reads a policy; a rule may be true or false.
func (p *Policy) UnmarshalJSON(raw []byte) error {
	var rules map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rules); err != nil {
		return err
	}
	*p = Policy{}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		switch raw := bytes.TrimSpace(rules[name]); string(raw) {
		case "false", "null":
		case "true":
			(*p)[name] = Rule{Decisions: All()}
		default:
			var r Rule
			if err := r.UnmarshalJSON(raw); err != nil {
				return fmt.Errorf("review of %q: %w", name, err)
			}
			(*p)[name] = r
		}
	}
	return nil
}

// allows tells whether the rule lets a reviewer take a decision.
func (r Rule) allows(d Decision) bool { return slices.Contains(r.Decisions, d) }

// check reports what is wrong with a rule (D-38).
func (r Rule) check() error {
	if len(r.Decisions) == 0 {
		return fmt.Errorf("no decision is allowed; list some of %v", all)
	}
	for i, d := range r.Decisions {
		if !slices.Contains(all, d) {
			return fmt.Errorf("unknown decision %q; there are %v", d, all)
		}
		if slices.Contains(r.Decisions[:i], d) {
			return fmt.Errorf("decision %q is listed twice", d)
		}
	}
	if e := r.Expiry(); e != nil {
		if err := e.Check(); err != nil {
			return fmt.Errorf("deadline: %w", err)
		}
	}
	if len(r.ArgsSchema) > 0 {
		if _, err := agent.NewChecker(r.ArgsSchema); err != nil {
			return fmt.Errorf("args schema: %w", err)
		}
	}
	return nil
}

package thread

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
)

// The kinds of reviews: what a question asks for, and in which form it is answered.
const (
	KindToolCalls      = "tool_calls"      // package hitl, both modes and casings
	KindForm           = "form"            // package form
	KindReview         = "review"          // agent.Review
	KindUnknownOutcome = "unknown_outcome" // agent.AtMostOnce
	KindPlain          = "plain"           // any other interrupt
)

// shown is what a question shows to the reviewer, read from its payload.
type shown struct {
	kind   string
	reason string
	// allowed are the decisions that a flat decision may name.
	allowed []string
	// calls are those of KindToolCalls; single tells that the question is about one, and answered without a list.
	calls  []shownCall
	single bool
	fields []shownField // of KindForm
	// object is the payload where that is an object.
	object object
}

// shownCall is a tool call under review.
type shownCall struct {
	ID          string
	Name        string
	Args        json.RawMessage
	Description string
	Decisions   []string
}

// shownField is a field of a form.
type shownField struct {
	Name    string          `json:"name"`
	Default json.RawMessage `json:"default"`
}

// read classifies a question by what it shows and by the schema of its answers.
func read(payload, schema json.RawMessage) shown {
	var s shown
	if json.Unmarshal(payload, &s.object) != nil {
		s.object = nil
	}
	s.kind = KindPlain
	if s.object == nil {
		return s
	}
	s.reason = firstText(s.object, "suspend_reason", "reason")
	switch {
	case s.readBatch(), s.readCall(schema), s.readForm(), s.readOutcome():
	default:
		s.allowed = texts(s.object["allowed_decisions"])
		if comment := (struct {
			Comment string `json:"$comment"`
		}{}); json.Unmarshal(schema, &comment) == nil && comment.Comment == agent.ReviewComment {
			s.kind = KindReview
		}
	}
	return s
}

// readBatch reads the question about all calls of a message (spec/runtime.md 6.2).
func (s *shown) readBatch() bool {
	type config struct {
		Camel     string   `json:"actionName"`
		Snake     string   `json:"action_name"`
		CamelDecs []string `json:"allowedDecisions"`
		SnakeDecs []string `json:"allowed_decisions"`
	}
	var actions []struct {
		Name        string          `json:"name"`
		Args        json.RawMessage `json:"args"`
		Description string          `json:"description"`
	}
	var configs []config
	for _, keys := range [][2]string{{"actionRequests", "reviewConfigs"}, {"action_requests", "review_configs"}} {
		if _, ok := s.object[keys[0]]; !ok {
			continue
		}
		if exactjson.Unmarshal(s.object[keys[0]], &actions) != nil || exactjson.Unmarshal(s.object[keys[1]], &configs) != nil || len(actions) == 0 {
			return false
		}
		break
	}
	if len(actions) == 0 {
		return false
	}
	name := func(c config) string {
		if c.Camel != "" {
			return c.Camel
		}
		return c.Snake
	}
	s.kind, s.allowed = KindToolCalls, nil
	for i, a := range actions {
		call := shownCall{Name: a.Name, Args: a.Args, Description: a.Description}
		at := i // one for each action, or, as LangChain's middleware does, one for each tool
		if i >= len(configs) || name(configs[i]) != a.Name {
			at = slices.IndexFunc(configs, func(c config) bool { return name(c) == a.Name })
		}
		if at >= 0 {
			call.Decisions = append(slices.Clone(configs[at].CamelDecs), configs[at].SnakeDecs...)
		}
		s.calls = append(s.calls, call)
	}
	s.agree()
	return true
}

// readCall reads the question about one call (spec/runtime.md 6.8); its decisions stand in the schema.
func (s *shown) readCall(schema json.RawMessage) bool {
	if text(s.object["type"]) != "tool_approval" || text(s.object["name"]) == "" {
		return false
	}
	s.kind, s.single = KindToolCalls, true
	call := shownCall{
		ID: text(s.object["tool_call_id"]), Name: text(s.object["name"]), Args: s.object["args"], Description: text(s.object["description"]),
	}
	type branch struct {
		Properties struct {
			Type struct {
				Const string `json:"const"`
			} `json:"type"`
		} `json:"properties"`
	}
	var all struct {
		branch
		OneOf []branch `json:"oneOf"`
	}
	if json.Unmarshal(schema, &all) == nil {
		for _, b := range append(all.OneOf, all.branch) {
			if d := b.Properties.Type.Const; d != "" && !slices.Contains(call.Decisions, d) {
				call.Decisions = append(call.Decisions, d)
			}
		}
	}
	s.calls = []shownCall{call}
	s.agree()
	return true
}

// agree finds the decisions that every call allows, and the reason where the question gives none.
func (s *shown) agree() {
	names := make([]string, len(s.calls))
	s.allowed = slices.Clone(s.calls[0].Decisions)
	for i, c := range s.calls {
		names[i] = c.Name
		s.allowed = slices.DeleteFunc(s.allowed, func(d string) bool { return !slices.Contains(c.Decisions, d) })
	}
	if s.reason != "" {
		return
	}
	if len(s.calls) == 1 {
		s.reason, _, _ = strings.Cut(s.calls[0].Description, "\n")
	}
	switch {
	case s.reason != "":
	case len(names) == 1:
		s.reason = "A tool call waits for approval: " + names[0]
	default:
		s.reason = fmt.Sprintf("%d tool calls wait for approval: %s", len(names), strings.Join(names, ", "))
	}
}

// readForm reads a card of package form.
func (s *shown) readForm() bool {
	if text(s.object["formType"]) == "" || exactjson.Unmarshal(s.object["fields"], &s.fields) != nil {
		return false
	}
	s.kind, s.allowed = KindForm, texts(s.object["allowed_decisions"])
	if len(s.allowed) == 0 {
		s.allowed = []string{"approve", "reject"}
	}
	if s.reason == "" {
		s.reason = firstText(s.object, "title", "description", "formType")
	}
	return true
}

// readOutcome reads the question about a step of unknown outcome (decisions 6).
func (s *shown) readOutcome() bool {
	if text(s.object["type"]) != "unknown_outcome" {
		return false
	}
	s.kind, s.allowed = KindUnknownOutcome, []string{"retry", "done", "fail"}
	if s.reason == "" {
		s.reason = "It is not known whether the step " + text(s.object["step"]) + " took place."
	}
	return true
}

// tools lists the names of the tools under review, each once.
func (s *shown) tools() []string {
	var names []string
	for _, c := range s.calls {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// text is a JSON string; "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// texts is a list of JSON strings; nil for anything else.
func texts(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// firstText is the first of the keys that holds a text.
func firstText(o object, keys ...string) string {
	for _, k := range keys {
		if s := text(o[k]); s != "" {
			return s
		}
	}
	return ""
}

package hitl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// reviewed is a call of a tool that has a rule, with what the rule's functions said of it. It
// is journaled, so that they are never asked again (D-39).
type reviewed struct {
	CallID      string          `json:"call_id"`
	MessageID   string          `json:"message_id"`
	Name        string          `json:"name"`
	Args        json.RawMessage `json:"args"`
	Invalid     bool            `json:"invalid,omitempty"`
	Exempt      bool            `json:"exempt,omitempty"`
	Description string          `json:"description,omitempty"`
	Decisions   []Decision      `json:"decisions,omitempty"`
}

// review asks the rule of a call.
func (g *Gate) review(ctx agent.Context, messageID string, call message.ToolCall, args arguments) reviewed {
	rule := g.config.Policy[call.Name]
	r := reviewed{CallID: call.ID, MessageID: messageID, Name: call.Name, Args: args.shown, Invalid: !args.valid}
	call.Args = args.shown
	t, _ := g.tools.Tool(call.Name)
	req := Request{Call: call, Tool: t, State: agent.CurrentState(ctx), Config: ctx.Config()}
	if args.valid && rule.When != nil && !rule.When(req) {
		r.Exempt = true
		return r
	}
	r.Decisions = rule.Decisions
	switch {
	case !args.valid: // can't run as it is, but can always be refused (D-105, D-107)
		r.Decisions = slices.DeleteFunc(slices.Clone(rule.Decisions), func(d Decision) bool { return d == Approve })
		if !slices.Contains(r.Decisions, Reject) {
			r.Decisions = append(r.Decisions, Reject)
		}
		r.Description = g.describe(call) + "\n\nThe arguments are not a JSON object, so that the call can't run as it is."
	case rule.DescribeFunc != nil:
		r.Description = rule.DescribeFunc(req)
	case rule.Description != "":
		r.Description = rule.Description
	default:
		r.Description = g.describe(call)
	}
	return r
}

// describe is the default description (spec/runtime.md 6.1).
func (g *Gate) describe(call message.ToolCall) string {
	var args bytes.Buffer
	if err := json.Indent(&args, call.Args, "", "  "); err != nil {
		args.Write(call.Args)
	}
	return fmt.Sprintf("%s\n\nTool: %s\nArgs: %s", g.config.DescriptionPrefix, call.Name, args.String())
}

func (r reviewed) digest() string { return Digest(r.Name, r.Args) }

// record is what is kept of the decision about the call.
func (r reviewed) record(interruptID string, d decision) Record {
	return Record{
		CallID: r.CallID, MessageID: r.MessageID, Name: r.Name, Args: r.Args, Digest: r.digest(),
		Decision: d.Type, InterruptID: interruptID, Edited: d.Edited, Message: d.Message,
	}
}

// The batch question (spec/runtime.md 6.2).
type (
	camelQuestion struct {
		ActionRequests []actionRequest `json:"actionRequests"`
		ReviewConfigs  []camelReview   `json:"reviewConfigs"`
	}
	snakeQuestion struct {
		ActionRequests []actionRequest `json:"action_requests"`
		ReviewConfigs  []snakeReview   `json:"review_configs"`
	}
	actionRequest struct {
		Name        string          `json:"name"`
		Args        json.RawMessage `json:"args"`
		Description string          `json:"description"`
	}
	camelReview struct {
		ActionName       string          `json:"actionName"`
		AllowedDecisions []Decision      `json:"allowedDecisions"`
		ArgsSchema       json.RawMessage `json:"argsSchema,omitempty"`
	}
	snakeReview struct {
		ActionName       string          `json:"action_name"`
		AllowedDecisions []Decision      `json:"allowed_decisions"`
		ArgsSchema       json.RawMessage `json:"args_schema,omitempty"`
	}
)

// batchQuestion asks about calls together, in the configured casing.
func (g *Gate) batchQuestion(calls []reviewed) any {
	var actions []actionRequest
	var camel []camelReview
	var snake []snakeReview
	for _, c := range calls {
		schema := g.config.Policy[c.Name].ArgsSchema
		actions = append(actions, actionRequest{c.Name, c.Args, c.Description})
		camel = append(camel, camelReview{c.Name, c.Decisions, schema})
		snake = append(snake, snakeReview(camel[len(camel)-1]))
	}
	if g.config.Casing == Snake {
		return snakeQuestion{actions, snake}
	}
	return camelQuestion{actions, camel}
}

// callQuestion asks about one call (spec/runtime.md 6.8).
type callQuestion struct {
	Type        string          `json:"type"` // tool_approval
	ToolCallID  string          `json:"tool_call_id"`
	Name        string          `json:"name"`
	Args        json.RawMessage `json:"args"`
	Description string          `json:"description"`
}

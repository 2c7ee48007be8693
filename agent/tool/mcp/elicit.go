package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// maxRounds is how often one call may ask.
const maxRounds = 10

// Elicitation is the value of the interrupt by which a server's tool asks the user.
type Elicitation struct {
	Type    string `json:"type"` // "mcp_elicitation"
	Server  string `json:"server"`
	Tool    string `json:"tool"` // the server's name of it
	Message string `json:"message"`
	// RequestedSchema is the JSON Schema of the form: a flat object.
	RequestedSchema any `json:"requestedSchema,omitempty"`
}

// ElicitationAnswer is the answer to it.
type ElicitationAnswer struct {
	Action  string         `json:"action"` // accept, decline or cancel
	Content map[string]any `json:"content,omitempty"`
}

// round is one exchange with the server, as journaled.
type round struct {
	Result *sdk.CallToolResult `json:"result,omitempty"`
	Error  string              `json:"error,omitempty"` // for the model
}

// converse calls a tool that may ask the user. Each exchange is a step, so that
// the run can be suspended between them (the server keeps nothing meanwhile, or has put what
// it needs into the request's state).
func (t *Tool) converse(ctx tool.Context) (any, error) {
	call := ctx.ToolCall()
	params := &sdk.CallToolParams{Name: t.remote, Arguments: call.Args}
	var opts []agent.StepOption
	if !t.repeatable() {
		opts = append(opts, agent.AtMostOnce())
	}
	for range maxRounds {
		r, err := agent.Step(ctx, "tool:"+t.definition.Name, func(step agent.StepContext) (round, error) {
			return t.exchange(step, *params, func(p Progress) { agent.ToolCallOutput(ctx, call.ID, call.Name, p) })
		}, opts...)
		switch {
		case err != nil:
			return nil, err
		case r.Error != "":
			return nil, errors.New(r.Error)
		case r.Result == nil:
			return nil, fmt.Errorf("%s: the call has no result", t.Ref())
		case !r.Result.NeedsInput():
			return resultOf(r.Result, t.server.cfg.MaxText)
		}
		if params.InputResponses, err = t.ask(ctx, r.Result.InputRequests); err != nil {
			return nil, err
		}
		params.RequestState = r.Result.RequestState
	}
	return nil, fmt.Errorf("%s asked %d times and was not content", t.Ref(), maxRounds)
}

// exchange is one round. Only the end of the run is an error: all else has been
// said by the server and is journaled.
func (t *Tool) exchange(step context.Context, params sdk.CallToolParams, progress func(Progress)) (round, error) {
	res, err := t.server.call(step, t, &params, progress)
	if step.Err() != nil && err != nil {
		return round{}, err
	}
	if err != nil {
		return round{Error: err.Error()}, nil //nolint:nilerr // for the model, as a result
	}
	return round{Result: res}, nil
}

// ask puts the server's requests to the user. Whatever isn't a form is declined.
func (t *Tool) ask(ctx tool.Context, requests sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	responses := sdk.InputResponseMap{}
	var suspended error
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		form, ok := requests[id].(*sdk.ElicitParams)
		if !ok {
			return nil, fmt.Errorf("%s asks for something that only an MCP host has (%T); it did not go on", t.Ref(), requests[id])
		}
		if form.Mode != "" && form.Mode != "form" {
			responses[id] = &sdk.ElicitResult{Action: "decline"}
			continue
		}
		answer, err := t.elicit(ctx, form)
		if err != nil {
			if !agent.Bubbles(ctx, err) {
				return nil, err
			}
			suspended = err // the other questions are asked, too
			continue
		}
		responses[id] = &sdk.ElicitResult{Action: answer.Action, Content: answer.Content}
	}
	return responses, suspended
}

// elicit is one question. Its name has the question's digest, so that an answer can't be
// taken for that to another question.
func (t *Tool) elicit(ctx tool.Context, form *sdk.ElicitParams) (ElicitationAnswer, error) {
	question := Elicitation{
		Type: "mcp_elicitation", Server: t.server.cfg.Name, Tool: t.remote, Message: form.Message, RequestedSchema: form.RequestedSchema,
	}
	raw, err := json.Marshal(question)
	if err != nil {
		return ElicitationAnswer{}, err
	}
	sum := sha256.Sum256(raw)
	schema, err := answerSchema(form.RequestedSchema)
	if err != nil {
		return ElicitationAnswer{}, err
	}
	return agent.Interrupt[ElicitationAnswer](ctx, question,
		agent.Named("mcp_elicitation:"+ctx.ToolCall().ID+":"+hex.EncodeToString(sum[:8])), agent.ResponseSchema(schema))
}

// answerSchema is the schema of an answer whose content fits the requested one when it accepts.
func answerSchema(requested any) (json.RawMessage, error) {
	if requested == nil {
		requested = map[string]any{"type": "object"}
	}
	return json.Marshal(map[string]any{
		"type": "object", "required": []string{"action"},
		"properties": map[string]any{"action": map[string]any{"enum": []string{"accept", "decline", "cancel"}}},
		"if":         map[string]any{"properties": map[string]any{"action": map[string]any{"const": "accept"}}},
		"then":       map[string]any{"required": []string{"content"}, "properties": map[string]any{"content": requested}},
	})
}

// withoutElicitation keeps from servers of the older protocol that the user can be
// asked: there a question is a request of the server's while the call runs, and doesn't say of which one, so
// that it can't outlive a suspension.
func withoutElicitation(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if p, ok := req.GetParams().(*sdk.InitializeParams); ok && p.Capabilities != nil {
			p.Capabilities.Elicitation = nil
		}
		return next(ctx, method, req)
	}
}

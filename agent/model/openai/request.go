package openai

import (
	"encoding/json"
	"fmt"
	"math"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/prompt"
)

// request is the body of a call: what the SDK has types for, and the rest.
type request struct {
	sdk.ChatCompletionRequest
	patches []patch
	names   *prompt.Names
	model   *Model
}

func (m *Model) request(in model.Request) (*request, error) {
	o := &m.options
	r := &request{model: m, names: prompt.NewNames(in.Tools)}
	r.Model, r.Stop, r.ReasoningEffort = o.Model, in.Stop, o.ReasoningEffort
	r.Temperature, r.TopP = sendable(o.Temperature), sendable(o.TopP)
	if o.LegacyMaxTokens {
		r.MaxTokens = o.MaxTokens //nolint:staticcheck // only OpenAI's newer models have the other
	} else {
		r.MaxCompletionTokens = o.MaxTokens
	}
	if !o.NoStreamUsage {
		r.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	}
	r.tools(in)
	if o.SerialTools && len(r.Tools) > 0 {
		r.ParallelToolCalls = false
	}
	if f := in.ResponseFormat; f != nil {
		r.ResponseFormat = &sdk.ChatCompletionResponseFormat{
			Type: sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{
				Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: f.Strict,
			},
		}
	}
	if in.System != "" {
		r.Messages = append(r.Messages, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: in.System})
	}
	return r, r.history(prompt.History(in.Messages))
}

// sendable is a parameter as the SDK sends it: it leaves out a plain 0.
func sendable(f *float64) float32 {
	switch {
	case f == nil:
		return 0
	case *f == 0:
		return math.SmallestNonzeroFloat32
	}
	return float32(*f)
}

func (r *request) tools(in model.Request) {
	for _, t := range in.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		r.Tools = append(r.Tools, sdk.Tool{
			Type:     sdk.ToolTypeFunction,
			Function: &sdk.FunctionDefinition{Name: r.names.Wire(t.Name), Description: t.Description, Parameters: schema},
		})
	}
	switch {
	case len(r.Tools) == 0 || in.ToolChoice == "":
	case in.ToolChoice == model.ChoiceAny:
		r.ToolChoice = "required"
	case in.ToolChoice == model.ChoiceNone:
		r.ToolChoice = "none"
	default:
		r.ToolChoice = sdk.ToolChoice{Type: sdk.ToolTypeFunction, Function: sdk.ToolFunction{Name: r.names.Wire(in.ToolChoice)}}
	}
}

// history adds the messages. Media in tool results, which the wire has no place
// for, follow behind the results as a user's message.
func (r *request) history(messages []message.Message) error {
	var shown []prompt.Part
	flush := func() error {
		if len(shown) == 0 {
			return nil
		}
		parts := shown
		shown = nil
		return r.user(sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser}, parts, len(r.Messages))
	}
	for i, m := range messages {
		parts, err := prompt.Parts(m)
		if err != nil {
			return r.refuse(i, "%v", err)
		}
		if m.Type == message.Tool {
			media, err := r.tool(i, m, parts)
			if err != nil {
				return err
			}
			shown = append(shown, media...)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		switch m.Type {
		case message.System:
			err = r.system(i, m, parts)
		case message.AI:
			err = r.assistant(m, parts)
		default:
			err = r.user(sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser, Name: participant(m.Name)}, parts, i)
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

func (r *request) refuse(i int, format string, args ...any) error {
	return model.Unsupported(r.model.options.Provider, "message %d: %s", i, fmt.Sprintf(format, args...))
}

func (r *request) system(i int, m message.Message, parts []prompt.Part) error {
	out := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem}
	var kwargs struct {
		Role string `json:"__openai_role__"`
	}
	if json.Unmarshal(m.AdditionalKwargs, &kwargs) == nil && kwargs.Role == sdk.ChatMessageRoleDeveloper {
		out.Role = sdk.ChatMessageRoleDeveloper
	}
	for _, p := range parts {
		if p.Kind != prompt.Text {
			return r.refuse(i, "a block of type %q in a system message", p.Type)
		}
		out.Content = joined(out.Content, p.Text)
	}
	if out.Content != "" {
		r.Messages = append(r.Messages, out)
	}
	return nil
}

// assistant adds the model's own words. What only it could make of its blocks
// (pictures it drew, calls that are in ToolCalls anyway) can't be sent back.
func (r *request) assistant(m message.Message, parts []prompt.Part) error {
	out := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleAssistant}
	for _, p := range parts {
		switch {
		case p.Kind == prompt.Text:
			out.Content += p.Text
		case p.Kind == prompt.Reasoning && r.model.options.ReturnReasoning:
			out.ReasoningContent += p.Text
		}
	}
	for _, c := range m.ToolCalls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		out.ToolCalls = append(out.ToolCalls, sdk.ToolCall{
			ID: prompt.CallID(c.ID), Type: sdk.ToolTypeFunction, Function: sdk.FunctionCall{Name: r.names.Wire(c.Name), Arguments: args},
		})
	}
	if out.Content == "" && len(out.ToolCalls) == 0 {
		return nil
	}
	r.Messages = append(r.Messages, out)
	return r.returnExtras(m, out.ToolCalls)
}

// returnExtras sends back what the server attached to its tool calls: Gemini
// wants its thought signatures.
func (r *request) returnExtras(m message.Message, calls []sdk.ToolCall) error {
	kept := keptExtras(m)
	if len(kept) == 0 {
		return nil
	}
	type call struct {
		sdk.ToolCall
		Extra json.RawMessage `json:"extra_content,omitempty"`
	}
	all, found := make([]call, len(calls)), false
	for i, c := range m.ToolCalls {
		all[i] = call{calls[i], kept[c.ID]}
		found = found || len(kept[c.ID]) > 0
	}
	if !found {
		return nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("openai: extras of tool calls: %w", err)
	}
	r.patches = append(r.patches, patch{len(r.Messages) - 1, "tool_calls", raw})
	return nil
}

// tool adds a result and returns its media.
func (r *request) tool(i int, m message.Message, parts []prompt.Part) (media []prompt.Part, err error) {
	out := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleTool, ToolCallID: prompt.CallID(m.ToolCallID)}
	for _, p := range parts {
		switch {
		case p.Kind == prompt.Text:
			out.Content = joined(out.Content, p.Text)
		case p.Media():
			if len(media) == 0 {
				media = append(media, prompt.Part{Kind: prompt.Text, Text: fmt.Sprintf("Attached by the tool call %s:", out.ToolCallID)})
			}
			media = append(media, p)
			out.Content = joined(out.Content, fmt.Sprintf("[%s: see the attachment below]", p.Kind))
		case p.Kind == prompt.Reasoning:
		default:
			return nil, r.refuse(i, "a block of type %q in a tool's result", p.Type)
		}
	}
	switch {
	case out.Content == "" && m.Status == "error":
		out.Content = "The tool failed."
	case out.Content == "":
		out.Content = "The tool returned nothing."
	case m.Status == "error": // the wire has no other place for it
		out.Content = "Error: " + trimError(out.Content)
	}
	r.Messages = append(r.Messages, out)
	return media, nil
}

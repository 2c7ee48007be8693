package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/prompt"
)

// request is the body of a call.
type request struct {
	sdk.MessageNewParams
	names *prompt.Names
	// results are those of the tools since the last ai message: one user's message.
	results []sdk.ContentBlockParamUnion
}

func (m *Model) request(in model.Request) (*request, error) {
	o := &m.options
	r := &request{names: prompt.NewNames(in.Tools)}
	r.Model, r.MaxTokens, r.StopSequences = o.Model, int64(o.MaxTokens), in.Stop
	switch {
	case o.ThinkingBudget > 0:
		r.Thinking.OfEnabled = &sdk.ThinkingConfigEnabledParam{
			BudgetTokens: int64(o.ThinkingBudget), Display: sdk.ThinkingConfigEnabledDisplaySummarized,
		}
	case o.AdaptiveThinking:
		r.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
	}
	r.OutputConfig.Effort = sdk.OutputConfigEffort(o.Effort)
	if f := in.ResponseFormat; f != nil {
		r.OutputConfig.Format = param.Override[sdk.JSONOutputFormatParam](map[string]any{"type": "json_schema", "schema": f.Schema})
	}
	if o.PromptCache {
		r.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	sampling := map[string]any{}
	if o.Temperature != nil {
		sampling["temperature"] = *o.Temperature
	}
	if o.TopP != nil {
		sampling["top_p"] = *o.TopP
	}
	if len(sampling) > 0 {
		r.SetExtraFields(sampling)
	}
	r.tools(in, o.SerialTools)
	if in.System != "" {
		r.System = append(r.System, sdk.TextBlockParam{Text: in.System})
	}
	return r, r.history(prompt.History(in.Messages))
}

func (r *request) tools(in model.Request, serial bool) {
	for _, t := range in.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		tool := &sdk.ToolParam{Name: r.names.Wire(t.Name), InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		r.Tools = append(r.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if len(r.Tools) == 0 {
		return
	}
	one := param.Opt[bool]{}
	if serial {
		one = sdk.Bool(true)
	}
	switch in.ToolChoice {
	case "":
		if serial {
			r.ToolChoice.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: one}
		}
	case model.ChoiceAny:
		r.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{DisableParallelToolUse: one}
	case model.ChoiceNone:
		r.ToolChoice.OfNone = &sdk.ToolChoiceNoneParam{}
	default:
		r.ToolChoice.OfTool = &sdk.ToolChoiceToolParam{Name: r.names.Wire(in.ToolChoice), DisableParallelToolUse: one}
	}
}

// history adds the messages. System messages, wherever they are, become a part of
// the system prompt: the API has one.
func (r *request) history(messages []message.Message) error {
	for i, m := range messages {
		parts, err := prompt.Parts(m)
		if err != nil {
			return refuse(i, "%v", err)
		}
		if m.Type != message.Tool {
			r.flush()
		}
		switch m.Type {
		case message.System:
			err = r.system(i, parts)
		case message.AI:
			err = r.assistant(i, m, parts)
		case message.Tool:
			err = r.tool(i, m, parts)
		default:
			var blocks []sdk.ContentBlockParamUnion
			if blocks, err = userBlocks(i, parts); err == nil && len(blocks) > 0 {
				r.Messages = append(r.Messages, sdk.NewUserMessage(blocks...))
			}
		}
		if err != nil {
			return err
		}
	}
	r.flush()
	return nil
}

func refuse(i int, format string, args ...any) error {
	return model.Unsupported(provider, "message %d: %s", i, fmt.Sprintf(format, args...))
}

// flush ends a series of tool results.
func (r *request) flush() {
	if len(r.results) > 0 {
		r.Messages = append(r.Messages, sdk.NewUserMessage(r.results...))
		r.results = nil
	}
}

func (r *request) system(i int, parts []prompt.Part) error {
	for _, p := range parts {
		if p.Kind != prompt.Text {
			return refuse(i, "a block of type %q in a system message", p.Type)
		}
		if !blank(p.Text) {
			r.System = append(r.System, sdk.TextBlockParam{Text: p.Text})
		}
	}
	return nil
}

// assistant adds the model's own words. Thinking goes back only to the provider
// that signed it.
func (r *request) assistant(i int, m message.Message, parts []prompt.Part) error {
	var blocks []sdk.ContentBlockParamUnion
	own := madeHere(m)
	for _, p := range parts {
		switch {
		case p.Kind == prompt.Text && !blank(p.Text):
			blocks = append(blocks, sdk.NewTextBlock(p.Text))
		case p.Kind == prompt.Reasoning && own && p.Redacted != "":
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(p.Redacted))
		case p.Kind == prompt.Reasoning && own && p.Signature != "":
			blocks = append(blocks, sdk.NewThinkingBlock(p.Signature, p.Text))
		}
	}
	for _, c := range m.ToolCalls {
		args := c.Args
		if len(args) == 0 {
			args = json.RawMessage(`{}`)
		}
		if !json.Valid(args) {
			return refuse(i, "the arguments of the tool call %s aren't JSON", c.ID)
		}
		blocks = append(blocks, sdk.NewToolUseBlock(prompt.CallID(c.ID), args, r.names.Wire(c.Name)))
	}
	if len(blocks) > 0 {
		r.Messages = append(r.Messages, sdk.NewAssistantMessage(blocks...))
	}
	return nil
}

// madeHere reports that a message isn't known to be another provider's.
func madeHere(m message.Message) bool {
	var meta struct {
		Provider string `json:"model_provider"`
	}
	if len(m.ResponseMetadata) == 0 || json.Unmarshal(m.ResponseMetadata, &meta) != nil {
		return true
	}
	return meta.Provider == "" || meta.Provider == provider
}

// tool adds a result.
func (r *request) tool(i int, m message.Message, parts []prompt.Part) error {
	out := &sdk.ToolResultBlockParam{ToolUseID: prompt.CallID(m.ToolCallID)}
	if m.Status == "error" {
		out.IsError = sdk.Bool(true)
	}
	blocks, err := userBlocks(i, parts)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		out.Content = append(out.Content, sdk.ToolResultBlockParamContentUnion{OfText: b.OfText, OfImage: b.OfImage, OfDocument: b.OfDocument})
	}
	if len(out.Content) == 0 && m.Status == "error" { // an error says something
		out.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: "The tool failed."}}}
	}
	r.results = append(r.results, sdk.ContentBlockParamUnion{OfToolResult: out})
	return nil
}

// blank texts are refused by the API.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

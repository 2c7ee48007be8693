package react

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

// StructuredKey is the state key of an answer of a given form. It is in the result and the
// stream of the run that gave it, and not stored (spec/runtime.md 7.1).
const StructuredKey = "structuredResponse"

// structuredState has the key.
type structuredState struct {
	Structured json.RawMessage `json:"structuredResponse" agent:"untracked,-input"`
}

// Strategy is how a model is made to answer in a given form.
type Strategy int

// The strategies (spec/runtime.md 7.5).
const (
	// ByTool shows the form as a tool that the model must call in the end; any model can do that.
	ByTool Strategy = iota
	// ByProvider asks the provider to guarantee the form (model.Request.ResponseFormat).
	ByProvider
)

// Response is the form that the agent's answer is to have.
type Response struct {
	// Name names the form, and its tool. Default: the schema's title, else "extract-1".
	Name string
	// Description tells the model what it is for.
	Description string
	// Schema is the JSON Schema of the answer, an object.
	Schema json.RawMessage
	// Strategy is ByTool unless said otherwise.
	Strategy Strategy
	// FailOnInvalid ends the run with an error where the answer doesn't have the form. Default: ByTool
	// tells the model what is wrong, and it tries again; ByProvider always fails.
	FailOnInvalid bool
}

// ResponseOf is a Response whose schema is that of T, a struct, as for the arguments of tool.New.
func ResponseOf[T any](name, description string) *Response {
	return &Response{Name: name, Description: description, Schema: tool.SchemaOf[T]()}
}

// responder is a Response ready for use; nil where the agent answers as it likes.
type responder struct {
	Response
	form *agent.Checker
}

func newResponder(r *Response, tools *tool.Set) (*responder, error) {
	if r == nil {
		return nil, nil
	}
	own := responder{Response: *r}
	var err error
	if own.form, err = agent.NewChecker(r.Schema); err != nil {
		return nil, fmt.Errorf("schema of the response: %w", err)
	}
	if own.Name == "" {
		var schema struct {
			Title string `json:"title"`
		}
		if json.Unmarshal(r.Schema, &schema) != nil || schema.Title == "" {
			schema.Title = "extract-1"
		}
		own.Name = schema.Title
	}
	if _, ok := tools.Tool(own.Name); ok && own.Strategy == ByTool {
		return nil, fmt.Errorf("response and a tool are both named %q", own.Name)
	}
	return &own, nil
}

// prepare makes a model call ask for the form.
func (r *responder) prepare(call *ModelCall) {
	switch {
	case r == nil:
	case r.Strategy == ByProvider:
		call.Request.ResponseFormat = &model.ResponseFormat{Name: r.Name, Description: r.Description, Schema: r.Schema, Strict: true}
	default:
		call.Request.Tools = append(slices.Clip(call.Request.Tools), model.Tool{Name: r.Name, Description: r.Description, Schema: r.Schema})
		call.Request.ToolChoice = model.ChoiceAny
	}
}

// calls are those of an answer that give the response.
func (r *responder) calls(answer message.Message) []message.ToolCall {
	var all []message.ToolCall
	if r != nil && r.Strategy == ByTool {
		for _, c := range answer.ToolCalls {
			if c.Name == r.Name {
				all = append(all, c)
			}
		}
	}
	return all
}

// ends tells whether an answer does nothing but give the response.
func (r *responder) ends(answer message.Message) bool {
	return len(answer.ToolCalls) > 0 && len(r.calls(answer)) == len(answer.ToolCalls)
}

// take takes the response out of an answer: the messages to follow it, and the
// response, nil when the answer has none.
func (r *responder) take(answer message.Message, speaker string) (follow []message.Message, value json.RawMessage, err error) {
	switch {
	case r == nil:
		return nil, nil, nil
	case r.Strategy == ByProvider:
		if len(answer.ToolCalls) > 0 || len(answer.InvalidToolCalls) > 0 {
			return nil, nil, nil
		}
		value := json.RawMessage(strings.TrimSpace(answer.Text()))
		if fault := r.fault(value); fault != nil {
			return nil, nil, r.invalid(fault)
		}
		return nil, value, nil
	}
	calls := r.calls(answer)
	if len(calls) == 0 {
		return nil, nil, nil
	}
	fault := r.fault(calls[0].Args)
	switch {
	case len(calls) > 1:
		fault = fmt.Errorf("%s was called %d times, and must be called once", r.Name, len(calls))
	case len(answer.ToolCalls) > 1:
		fault = fmt.Errorf("%s must be called alone, once the results of all other tools are there", r.Name)
	}
	if fault == nil {
		result := answerTo(answer, calls[0], string(calls[0].Args), "success")
		last := message.NewAI("Returning structured response: " + string(calls[0].Args))
		last.ID, last.Name = derivedID("structured", answer.ID, calls[0].ID), speaker
		return []message.Message{result, last}, calls[0].Args, nil
	}
	if r.FailOnInvalid {
		return nil, nil, r.invalid(fault)
	}
	for _, c := range calls {
		follow = append(follow, answerTo(answer, c, "Error: "+fault.Error()+"\n Please fix your mistakes.", "error"))
	}
	return follow, nil, nil
}

// fault tells what is wrong with a response.
func (r *responder) fault(value json.RawMessage) error {
	if !json.Valid(value) {
		return errors.New("the response is not JSON")
	}
	var texts []string
	for _, issue := range r.form.Issues(value) {
		texts = append(texts, strings.TrimPrefix(issue.Path+": "+issue.Message, ": "))
	}
	if texts == nil {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

func (r *responder) invalid(fault error) error {
	return &agent.NamedError{Name: "StructuredOutputParsingError", Message: fmt.Sprintf("Failed to parse structured output for %q: %v", r.Name, fault)}
}

// answerTo is a tool message for a call of an answer that no tool carries out.
func answerTo(answer message.Message, call message.ToolCall, text, status string) message.Message {
	m := message.NewTool(call.ID, call.Name, text)
	m.ID, m.Status = derivedID("answer", answer.ID, call.ID), status
	return m
}

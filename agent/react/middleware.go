package react

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

// Middleware is a part that hooks into an agent (spec/runtime.md 7.1, 7.6). Each of the four steps
// is a node of its own, named <Name>.before_agent and so on, with its own superstep and
// checkpoint. Before-steps run in the order of Options.Middleware, after-steps in the
// opposite one; around model and tools the first one listed is the outermost.
type Middleware struct {
	// Name names the nodes; unique in the agent.
	Name string
	// BeforeAgent runs once when a turn begins, AfterAgent once when it ends; BeforeModel
	// and AfterModel run around each call of the model.
	BeforeAgent, BeforeModel, AfterModel, AfterAgent *Step
	// WrapModel is called instead of the model; next is the model, or the wrapper inside.
	// It is called again, from its start, when the node runs again: model calls are
	// journaled, anything else with an effect belongs into agent.Step. The history that
	// it is given is the stored one; what reaches the model in the end is made Acceptable.
	WrapModel func(ctx agent.Context, call ModelCall, next ModelHandler) (message.Message, error)
	// WrapTool is called instead of each tool call; next carries it out, with the
	// review of Options.Review inside: a call that a wrapper changed is reviewed as
	// changed. It is called again, from its start, when the call has waited for a person.
	WrapTool func(ctx agent.Context, call message.ToolCall, next ToolHandler) (agent.Update, error)
	// State is a struct, by any value, whose fields are added to the agent's state with their
	// tags (agent.ExtraState); nil for none. Read them with StateOf.
	State any
	// Tools are added to the agent's.
	Tools []tool.Tool

	// check finds settings that can't be, when the agent is made; may be nil.
	check func() error
}

// Step is a hook that is a node. It gets the conversation; StateOf has the rest of the
// state. It returns an update, or nil, or Jump.
type Step struct {
	Run func(ctx agent.Context, conversation message.List) (agent.Update, error)
	// CanJumpTo lists where Run may jump to: ToModel, ToTools, ToEnd.
	CanJumpTo []Destination

	// run takes the place of Run in a step that calls a model.
	run func(ctx agent.Context, conversation message.List, spent *spending) (agent.Update, error)
}

// ModelCall is a call of the model that is about to be made.
type ModelCall struct {
	Model   model.Model
	Request model.Request
	// Options are those of the agent, and what WrapModel adds.
	Options []model.Option

	// spent counts what the call takes.
	spent *spending
}

// ModelHandler calls a model. Its result is the AI message.
type ModelHandler func(ctx agent.Context, call ModelCall) (message.Message, error)

// ToolHandler carries out a tool call. Its update holds the tool message; see AnswerTo.
type ToolHandler func(ctx agent.Context, call message.ToolCall) (agent.Update, error)

// StateOf decodes the agent's state as it was when the node began, for hooks that
// need more than the conversation. Keys that T doesn't have are left out.
func StateOf[T any](ctx agent.Context) (T, error) {
	var out T
	if err := json.Unmarshal(agent.CurrentState(ctx).JSON(), &out); err != nil {
		return out, fmt.Errorf("react: decode the state: %w", err)
	}
	return out, nil
}

// AnswerTo finds the tool message for a call in what a ToolHandler returned; false if
// there is none.
func AnswerTo(callID string, update agent.Update) (message.Message, bool) {
	for _, list := range messagesOf(update) {
		messages, err := message.CoerceList(list)
		if err != nil {
			continue
		}
		for _, m := range messages {
			if m.Type == message.Tool && m.ToolCallID == callID {
				return m, true
			}
		}
	}
	return message.Message{}, false
}

// messagesOf are the values that an update writes to the conversation.
func messagesOf(update agent.Update) []json.RawMessage {
	switch u := update.(type) {
	case agent.Values:
		if v, ok := u[messagesKey]; ok {
			if raw, err := encode(v); err == nil {
				return []json.RawMessage{raw}
			}
		}
	case *agent.Command:
		var all []json.RawMessage
		if u != nil {
			for _, w := range u.Update {
				if w.Channel == messagesKey {
					all = append(all, w.Value)
				}
			}
		}
		return all
	case agent.Updates:
		var all []json.RawMessage
		for _, part := range u {
			all = append(all, messagesOf(part)...)
		}
		return all
	}
	return nil
}

// wrapModel nests the wrappers of the middleware around a handler.
func wrapModel(all []Middleware, inner ModelHandler) ModelHandler {
	for i := len(all) - 1; i >= 0; i-- {
		if wrap := all[i].WrapModel; wrap != nil {
			next := inner
			inner = func(ctx agent.Context, call ModelCall) (message.Message, error) { return wrap(ctx, call, next) }
		}
	}
	return inner
}

// wrapTool is wrapModel for tool calls.
func wrapTool(all []Middleware, inner ToolHandler) ToolHandler {
	for i := len(all) - 1; i >= 0; i-- {
		if wrap := all[i].WrapTool; wrap != nil {
			next := inner
			inner = func(ctx agent.Context, call message.ToolCall) (agent.Update, error) { return wrap(ctx, call, next) }
		}
	}
	return inner
}

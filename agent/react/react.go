// Package react holds the tool-calling agent: a model and its tools in turn, one
// task per tool call, so that each call runs, waits and is answered alone (spec/runtime.md 7.1, 7.2).
package react

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

// Names of the agent's nodes. Clients find subagents by the name of ToolsNode.
const (
	ModelNode = "model_request"
	ToolsNode = "tools"
)

// DefaultSpeaker is the name on the messages of an agent that has none.
const DefaultSpeaker = "model"

// messagesKey is the state key of the conversation.
const messagesKey = "messages"

// Conversational is a state with a conversation under the key messages; embed State to make one.
type Conversational interface{ Conversation() message.List }

// State is the state of an agent without keys of its own.
type State struct {
	Messages message.List `json:"messages"`
}

// Conversation implements Conversational.
func (s State) Conversation() message.List { return s.Messages }

// Config describes an agent whose state is the conversation.
type Config = Options[State]

// NewAgent makes an agent whose state is the conversation, with the keys of its
// middleware and StructuredKey. Errors: as New.
func NewAgent(c Config) (agent.Agent, error) {
	g, err := New(c)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Options describe an agent whose state is S.
type Options[S Conversational] struct {
	// Name is the graph's name.
	Name string
	// Speaker is the name on the model's messages, and readers of the stream get it with
	// them as lc_agent_name. Default: DefaultSpeaker, and no lc_agent_name.
	Speaker string
	// Prompt is put before the conversation as a system message; it is not stored.
	Prompt string
	// Model answers; required. ModelOptions are handed on to each call.
	Model        model.Model
	ModelOptions []model.Option
	// Tools that the model may call; without any the agent has no ToolsNode. Several of Subagent become one.
	Tools []tool.Tool
	// Review says which tool calls a person decides on before they run, and how that person
	// is asked. It stands whatever a run's caller sends (decisions 14). Default: none.
	Review hitl.Config
	// Middleware are parts with hooks around the agent, the model and the tools, the first one outermost.
	Middleware []Middleware
	// Response asks for an answer of a given form; nil for free text.
	Response *Response
	// Limits end a turn that takes too much. Default: none.
	Limits Limits
	// BeforeAgent run once per turn in this order, AfterModel behind each answer
	// of the model, the last one first; each as a node of its own, outside of the Middleware.
	BeforeAgent, AfterModel []Hook[S]
	// ToolInput is what the task of a tool call is given of the state, an object. Default: the state.
	ToolInput func(S) any
	// GraphOptions are handed on to the graph.
	GraphOptions []agent.GraphOption
}

// Hook is a node around the loop, for an agent with a state of its own; its Name is the node's.
type Hook[S any] struct {
	Name string
	Run  func(ctx agent.Context, s S) (agent.Update, error)
}

// Must returns the agent of New or NewAgent and panics on an error, for agents known to be right.
func Must[A agent.Agent](a A, err error) A {
	if err != nil {
		panic(err)
	}
	return a
}

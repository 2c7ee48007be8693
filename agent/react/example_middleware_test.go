package react_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// visits are the state keys that Greeter adds to the agent's.
type visits struct {
	Visits int `json:"visits"`
}

// Greeter counts turns, refuses to talk about some things, and tells the model what day it is.
func Greeter(today func() time.Time) react.Middleware {
	return react.Middleware{
		Name:  "Greeter",
		State: visits{},
		BeforeAgent: &react.Step{
			CanJumpTo: []react.Destination{react.ToEnd},
			Run: func(ctx agent.Context, conversation message.List) (agent.Update, error) {
				s, err := react.StateOf[visits](ctx)
				if err != nil {
					return nil, err
				}
				count := agent.Set("visits", s.Visits+1)
				if last, ok := conversation.Last(); ok && strings.Contains(last.Text(), "politics") {
					return react.Jump(react.ToEnd, count.Set("messages", message.NewAI("Let us talk about something else."))), nil
				}
				return count, nil
			},
		},
		WrapModel: func(ctx agent.Context, call react.ModelCall, next react.ModelHandler) (message.Message, error) {
			call.Request.System += "\nToday is " + today().Format(time.DateOnly) + "."
			return next(ctx, call)
		},
		WrapTool: func(ctx agent.Context, call message.ToolCall, next react.ToolHandler) (agent.Update, error) {
			started := ctx.Now()
			update, err := next(ctx, call)
			ctx.Write(map[string]any{"tool": call.Name, "took": ctx.Now().Sub(started).String()})
			return update, err
		},
	}
}

// NewPatient is an agent for long conversations that may cost something, but not much.
func NewPatient(m, small model.Model, tools []tool.Tool) (agent.Agent, error) {
	return react.NewAgent(react.Config{
		Name:  "patient",
		Model: m,
		Tools: tools,
		Middleware: []react.Middleware{
			Greeter(time.Now),
			react.Summarize(react.Summary{Model: small, Tokens: 60_000, Keep: 20}),
			react.Trim(react.Trimming{Tokens: 100_000}),
		},
		Limits: react.Limits{
			Steps:    20,
			Cost:     0.50,
			Prices:   map[string]react.Price{"gpt-5-mini": {Input: 0.25, Output: 2, CachedInput: 0.025}},
			WallTime: 10 * time.Minute,
		},
	})
}

// Weather is the form of an answer.
type Weather struct {
	City    string `json:"city"`
	Celsius int    `json:"celsius" jsonschema:"minimum=-90,maximum=60"`
}

// NewMeteorologist answers with a Weather.
func NewMeteorologist(m model.Model, tools []tool.Tool) (agent.Agent, error) {
	return react.NewAgent(react.Config{
		Name: "meteorologist", Model: m, Tools: tools,
		Response: react.ResponseOf[Weather]("weather", "The weather in a city"),
	})
}

// NewEditor delegates to two other agents.
func NewEditor(m model.Model, search []tool.Tool) (agent.Agent, error) {
	researcher, err := react.New(react.Config{Name: "researcher", Speaker: "researcher", Model: m, Tools: search})
	if err != nil {
		return nil, err
	}
	critic, err := react.New(react.Config{Name: "critic", Speaker: "critic", Model: m, Prompt: "You find what is wrong with a text."})
	if err != nil {
		return nil, err
	}
	return react.NewAgent(react.Config{
		Name: "editor", Model: m,
		Tools: []tool.Tool{
			react.Subagent("researcher", "Looks things up.", researcher),
			react.Subagent("critic", "Reads a text, and says what is wrong with it.", critic),
		},
	})
}

// Order is the state of an agent with keys of its own.
type Order struct {
	react.State
	Basket []string `json:"basket" agent:"append"`
}

// NewShop is an agent whose tool writes to its state.
func NewShop(m model.Model) (*agent.Graph, error) {
	return react.New(react.Options[Order]{
		Name: "shop", Model: m,
		Tools: []tool.Tool{tool.Func("add", "Puts something into the basket.", addToBasket)},
	})
}

func addToBasket(ctx tool.CallContext, a struct {
	Thing string `json:"thing"`
}) (*agent.Command, error) {
	things, err := json.Marshal([]string{a.Thing})
	if err != nil {
		return nil, err
	}
	return tool.Answer(ctx.ToolCall(), "It is in the basket.", agent.Write{Channel: "basket", Value: things}), nil
}

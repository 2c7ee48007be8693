package conformance

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type agentState struct {
	Messages                   message.List               `json:"messages"`
	SharedStateValue           *string                    `json:"sharedStateValue"`
	Interrupt                  bool                       `json:"interrupt"`
	KeyOne                     *string                    `json:"keyOne"`
	KeyTwo                     *string                    `json:"keyTwo"`
	Sleep                      *pause                     `json:"sleep"`
	SharedStateFromStoreConfig map[string]json.RawMessage `json:"sharedStateFromStoreConfig" agent:"-output"`
}

type agentContext struct {
	ModelName string `json:"model_name"`
}

// pause is a number of seconds, or a number of steps with a length each.
type pause struct {
	Seconds float64
	Steps   int
	Each    time.Duration
}

// JSONSchema describes both forms.
func (pause) JSONSchema() *jsonschema.Schema {
	steps := jsonschema.NewProperties()
	steps.Set("steps", &jsonschema.Schema{Type: "number"})
	steps.Set("ms", &jsonschema.Schema{Type: "number"})
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "number"},
		{Type: "object", Properties: steps, Required: []string{"steps", "ms"}},
	}}
}

// UnmarshalJSON reads either form.
func (p *pause) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &p.Seconds); err == nil {
		return nil
	}
	var steps struct {
		Steps int     `json:"steps"`
		MS    float64 `json:"ms"`
	}
	if err := json.Unmarshal(raw, &steps); err != nil {
		return err
	}
	p.Steps, p.Each = steps.Steps, time.Duration(steps.MS*float64(time.Millisecond))
	return nil
}

var (
	sharedNamespace   = []string{"sharedState", "data"}
	inputtedNamespace = []string{"inputtedState", "data"}
)

// Agent is the graph that most of the suite's tests run (spec/conformance-agents.md 3.1).
func Agent() agent.Agent {
	models := listModel("begin", "end")
	return agent.NewGraph[agentState]("agent", agent.ContextType[agentContext]()).
		Node("agent", func(ctx agent.Context, s agentState) (agent.Update, error) {
			return agentTurn(ctx, s, models)
		}).
		Node("tool", agentTool).
		Node("checkSharedState", checkSharedState).
		Edge(agent.Start, "agent").
		Branch("agent", afterAgent, "tool", "checkSharedState", agent.End).
		Edge("tool", "agent").
		Edge("checkSharedState", agent.End).
		MustCompile()
}

func agentTurn(ctx agent.Context, s agentState, models talker) (agent.Update, error) {
	if s.Interrupt {
		if _, err := agent.Interrupt[json.RawMessage](ctx, "i want to interrupt"); err != nil {
			return nil, err
		}
	}
	if last, ok := s.Messages.Last(); ok && s.Sleep != nil && last.Type == message.Human {
		if err := s.Sleep.wait(ctx); err != nil {
			return nil, err
		}
	}
	answer, err := models(ctx, s.Messages)
	if err != nil {
		return nil, err
	}
	userID, hasUser := ctx.Config().Configurable["user_id"]
	id := map[string]json.RawMessage{}
	if hasUser {
		id["id"] = userID
	}
	if ctx.Items() != nil && s.SharedStateFromStoreConfig == nil {
		value, err := json.Marshal(id)
		if err != nil {
			return nil, err
		}
		if err := ctx.Items().Put(ctx, sharedNamespace, "user_id", value); err != nil {
			return nil, err
		}
	}
	return agent.Values{
		"interrupt": false,
		"messages":  []message.Message{answer},
		// No key of the state: the runtime has to drop it without a word.
		"sharedState": map[string]any{"data": map[string]any{"user_id": userID}},
	}, nil
}

func (p *pause) wait(ctx agent.Context) error {
	if p.Each == 0 && p.Steps == 0 {
		return ctx.Sleep(time.Duration(p.Seconds * float64(time.Second)))
	}
	for step := range p.Steps {
		ctx.Write(map[string]any{"type": "sleep", "step": step})
		if err := ctx.Sleep(p.Each); err != nil {
			return err
		}
	}
	return nil
}

func afterAgent(s agentState) string {
	last, ok := s.Messages.Last()
	if !ok {
		return "tool"
	}
	first := s.Messages.At(0)
	switch {
	case contentIs(first, "should_end"):
		return agent.End
	case contentIs(first, "___check_state_value"):
		return "checkSharedState"
	case contentIs(last, "end"):
		return agent.End
	}
	return "tool"
}

func agentTool(ctx agent.Context, s agentState) (agent.Update, error) {
	var shared json.RawMessage
	if ctx.Items() != nil {
		item, err := ctx.Items().Get(ctx, sharedNamespace, "user_id")
		if err != nil {
			return nil, err
		}
		if item != nil {
			shared = item.Value
		}
	}
	messages := []message.Message{}
	if last, ok := s.Messages.Last(); ok {
		messages = append(messages, message.NewTool("tool_call_id", "", "tool_call__"+last.Text()))
	}
	return agent.Values{"sharedStateFromStoreConfig": shared, "messages": messages}, nil
}

func checkSharedState(ctx agent.Context, _ agentState) (agent.Update, error) {
	var value struct {
		IsTrue json.RawMessage `json:"isTrue"`
	}
	if ctx.Items() != nil {
		item, err := ctx.Items().Get(ctx, inputtedNamespace, "my_key")
		if err != nil {
			return nil, err
		}
		if item != nil && json.Unmarshal(item.Value, &value) == nil && truthy(value.IsTrue) {
			return agent.Values{}, nil
		}
	}
	return nil, errors.New("Value is not true") //nolint:staticcheck // the text that the suite knows
}

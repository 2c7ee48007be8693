package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// scriptedModel plays the script of a file. toolName is a tool's name as models see it.
func scriptedModel(name string, rules []Rule, toolName func(string) string) model.Model {
	return scripted.Script{Name: name, Choose: func(c scripted.Call) (scripted.Turn, error) {
		said := strings.ToLower(c.LastHuman())
		for _, r := range rules {
			if strings.Contains(said, strings.ToLower(r.When)) {
				return play(c, r.Turns[min(c.N, len(r.Turns)-1)], toolName)
			}
		}
		return scripted.Turn{}, fmt.Errorf("the script of model %s has no rule for this message; a last rule without when fits any", name)
	}}
}

// play makes a turn of what the file says.
func play(c scripted.Call, t Turn, toolName func(string) string) (scripted.Turn, error) {
	fill := strings.NewReplacer("{human}", c.LastHuman(), "{result}", lastResult(c.Messages)).Replace
	turn := scripted.Turn{Text: fill(t.Say)}
	for i, call := range t.Call {
		args := json.RawMessage("{}")
		if len(call.Args) > 0 {
			var v any
			if err := json.Unmarshal(call.Args, &v); err != nil {
				return turn, err
			}
			filled, err := json.Marshal(filledIn(v, fill))
			if err != nil {
				return turn, err
			}
			args = filled
		}
		id := fmt.Sprintf("call_%d_%d", c.Messages.Len(), i) // of its own in the conversation, which only grows
		turn.ToolCalls = append(turn.ToolCalls, message.NewToolCall(id, toolName(call.Tool), args))
	}
	return turn, nil
}

// filledIn fills the texts of a JSON value.
func filledIn(v any, fill func(string) string) any {
	switch x := v.(type) {
	case string:
		return fill(x)
	case []any:
		for i := range x {
			x[i] = filledIn(x[i], fill)
		}
	case map[string]any:
		for k := range x {
			x[k] = filledIn(x[k], fill)
		}
	}
	return v
}

// lastResult is the text of the newest tool message.
func lastResult(conversation message.List) string {
	for _, m := range conversation.Backward() {
		if m.Type == message.Tool {
			return m.Text()
		}
	}
	return ""
}

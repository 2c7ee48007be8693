package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// planned is a tool call that the player will make.
type planned struct {
	tool string
	args any
}

// player is the demo agents' model: it turns a request into steps of tool calls,
// makes those of one step together, goes on to the next one unless something was
// refused, and says at the end what came of each.
type player struct {
	help string
	plan func(request string) [][]planned
}

// Info implements model.Model.
func (p player) Info() model.Info { return scripted.Script{Name: "parley-demo"}.Info() }

// Stream implements model.Model.
func (p player) Stream(ctx context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	return scripted.Script{Name: "parley-demo", Choose: func(c scripted.Call) (scripted.Turn, error) {
		turn, err := p.turn(c)
		turn.Interval = pace
		return turn, err
	}}.Stream(ctx, req)
}

// turn decides what to say. What frontends add to the conversation, such as cards, isn't counted.
func (p player) turn(c scripted.Call) (scripted.Turn, error) {
	steps := p.plan(newestRequest(c.Messages))
	if len(steps) == 0 {
		return scripted.Say(p.help), nil
	}
	done, results := progress(c.Messages)
	stopped := false
	for _, r := range results {
		stopped = stopped || r.Status == "error"
	}
	if done >= len(steps) || stopped {
		return scripted.Say(account(results, len(steps)-done)), nil
	}
	turn := scripted.Turn{Text: announce(steps[done])}
	for i, call := range steps[done] {
		args, err := json.Marshal(call.args)
		if err != nil {
			return turn, err
		}
		id := fmt.Sprintf("call_%d_%d_%d", c.Messages.Len(), done, i)
		turn.ToolCalls = append(turn.ToolCalls, message.NewToolCall(id, call.tool, args))
	}
	return turn, nil
}

// progress counts the steps since the newest request, and returns the tools' results in the order of the calls.
func progress(l message.List) (steps int, results []message.Message) {
	answers := map[string]message.Message{}
	var calls [][]message.ToolCall
	for _, m := range l.Backward() {
		if m.Type == message.Human {
			break
		}
		switch {
		case m.Type == message.Tool:
			answers[m.ToolCallID] = m
		case m.Type == message.AI && len(m.ToolCalls) > 0:
			calls = append(calls, m.ToolCalls)
		}
	}
	for i := len(calls) - 1; i >= 0; i-- {
		for _, call := range calls[i] {
			if m, ok := answers[call.ID]; ok {
				results = append(results, m)
			}
		}
	}
	return len(calls), results
}

// announce says what the player is about to do.
func announce(step []planned) string {
	names := make([]string, len(step))
	for i, call := range step {
		names[i] = strings.ReplaceAll(call.tool, "_", " ")
	}
	return "I will use: " + strings.Join(names, ", ") + "."
}

// account says what came of the calls, and that left steps were not begun.
func account(results []message.Message, left int) string {
	lines := make([]string, 0, len(results)+1)
	for _, r := range results {
		lines = append(lines, "- "+r.Text())
	}
	if left > 0 {
		lines = append(lines, "So I did not go on with the rest.")
	}
	return "This is what came of it:\n" + strings.Join(lines, "\n")
}

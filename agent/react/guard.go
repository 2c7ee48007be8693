package react

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
)

// OutOfSteps is what the agent says when the run's recursion limit leaves no room for the
// tools that the model wants to call (spec/runtime.md 7.2).
const OutOfSteps = "Sorry, need more steps to process this request."

// outOfSteps tells whether an answer calls tools that the run's steps don't suffice for: the
// calls, and the model's word on them, with all hooks in between.
func (l *loop[S]) outOfSteps(ctx agent.Context, answer message.Message) bool {
	if len(answer.ToolCalls) == 0 {
		return false
	}
	need := len(l.postModel) + 1 + len(l.after)
	for _, call := range answer.ToolCalls {
		if t, ok := l.tools.Tool(call.Name); !ok || !tool.ReturnsDirect(t) {
			need = len(l.postModel) + 1 + len(l.preModel) + 1 + len(l.postModel) + len(l.after)
			break
		}
	}
	if l.response.ends(answer) {
		need = len(l.postModel) + len(l.after)
	}
	return agent.StepsLeft(ctx) < need
}

// outOfStepsMessage takes the place of an answer, under its id.
func outOfStepsMessage(answer message.Message) message.Message {
	answer.Content = message.TextContent(OutOfSteps)
	answer.ToolCalls, answer.InvalidToolCalls = nil, nil
	return answer
}

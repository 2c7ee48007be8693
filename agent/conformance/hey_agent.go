package conformance

import (
	"time"

	"github.com/parley-dev/parley/agent"
)

// heyGraph is the agent of most cases of three suites (spec/conformance-frontends.md 6).
func heyGraph() *agent.Graph {
	answer := timedModel("Hey", 300*time.Millisecond)
	return single("agent", func(ctx agent.Context, s messagesState) (agent.Update, error) {
		ctx.Write("Custom events")
		reply, err := answer(ctx, s.Messages)
		if err != nil {
			return nil, err
		}
		return add(reply), nil
	})
}

// interruptAgent asks between two messages (spec/conformance-frontends.md 6).
func interruptAgent() agent.Agent {
	return agent.NewGraph[messagesState]("interruptAgent").
		Node("beforeInterrupt", func(agent.Context, messagesState) (agent.Update, error) { return say("Before interrupt"), nil }).
		Node("agent", func(ctx agent.Context, _ messagesState) (agent.Update, error) {
			answer, err := agent.Interrupt[any](ctx, map[string]string{"nodeName": "agent"})
			if err != nil {
				return nil, err
			}
			return say("Hey: " + jsString(answer)), nil
		}).
		Node("afterInterrupt", func(agent.Context, messagesState) (agent.Update, error) { return say("After interrupt"), nil }).
		Edge(agent.Start, "beforeInterrupt").
		Edge("beforeInterrupt", "agent").
		Edge("agent", "afterInterrupt").
		Edge("afterInterrupt", agent.End).
		MustCompile()
}

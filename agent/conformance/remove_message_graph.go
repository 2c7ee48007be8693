package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// removeMessageGraph removes what it said before, and pushes the change to the
// stream of messages by hand (spec/conformance-frontends.md 4.5).
func removeMessageGraph(name string) agent.Agent {
	return agent.NewGraph[messagesState](name).
		Node("step1", func(agent.Context, messagesState) (agent.Update, error) { return say("Step 1: To Remove"), nil }).
		Node("step2", func(ctx agent.Context, s messagesState) (agent.Update, error) {
			var change []message.Message
			for _, m := range s.Messages.All() {
				if m.Type == message.AI {
					change = append(change, message.NewRemove(m.ID))
				}
			}
			change = append(change, withID(ctx.NewID(), message.NewAI("Step 2: To Keep")))
			for _, m := range change {
				agent.PushMessage(ctx, m)
			}
			return add(change...), nil
		}).
		Node("step3", func(agent.Context, messagesState) (agent.Update, error) { return say("Step 3: To Keep"), nil }).
		Edge(agent.Start, "step1").Edge("step1", "step2").Edge("step2", "step3").
		MustCompile()
}

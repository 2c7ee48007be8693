package react

import (
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
)

// hookNode is a hook as a node of the graph.
type hookNode struct {
	name    string
	add     func()
	canJump []Destination
}

// hooks lists the hook nodes.
func (l *loop[S]) hooks() {
	own := func(hooks []Hook[S]) []hookNode {
		var all []hookNode
		for _, h := range hooks {
			all = append(all, hookNode{name: h.Name, add: func() { l.b.Node(h.Name, h.Run, l.named) }})
		}
		return all
	}
	of := func(suffix string, step func(Middleware) *Step) []hookNode {
		var all []hookNode
		for _, m := range l.o.Middleware {
			if s := step(m); s != nil {
				name := m.Name + "." + suffix
				all = append(all, hookNode{name: name, canJump: s.CanJumpTo, add: func() { agent.NodeOf(l.b, name, l.stepNode(s), l.named) }})
			}
		}
		return all
	}
	l.before = append(own(l.o.BeforeAgent), of("before_agent", func(m Middleware) *Step { return m.BeforeAgent })...)
	l.preModel = of("before_model", func(m Middleware) *Step { return m.BeforeModel })
	l.postModel = append(own(l.o.AfterModel), of("after_model", func(m Middleware) *Step { return m.AfterModel })...)
	l.after = of("after_agent", func(m Middleware) *Step { return m.AfterAgent })
	slices.Reverse(l.postModel)
	slices.Reverse(l.after)
	if l.gate != nil && l.gate.Batch() { // the last before the tools: what it shows is what no hook changes any more
		l.postModel = append(l.postModel, hookNode{name: hitl.NodeName, add: func() {
			agent.NodeOf(l.b, hitl.NodeName, func(ctx agent.Context, in stepInput) (agent.Update, error) {
				return l.gate.AfterModel(ctx, in.Messages)
			}, l.named)
		}})
	}
}

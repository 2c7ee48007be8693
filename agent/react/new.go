package react

import (
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/tool"
)

// loop is an agent that is being made, and then what its nodes share.
type loop[S Conversational] struct {
	o       Options[S]
	tools   *tool.Set
	speaker string
	// response is nil where the agent answers as it likes.
	response *responder
	// gate is nil where nothing is reviewed.
	gate  *hitl.Gate
	b     *agent.Builder[S]
	named agent.NodeOption
	// before, preModel, postModel and after are the hooks in the order in which they run.
	before, preModel, postModel, after []hookNode
	// entry is the node that a round of the loop begins with, exit the one that the turn ends with.
	entry, exit string
	callModel   ModelHandler
}

// New compiles the agent's graph. Errors: no model, tools that tool.NewSet refuses, names
// that the graph refuses, middleware, a response or limits that can't be.
func New[S Conversational](o Options[S]) (*agent.Graph, error) {
	l, err := newLoop(o)
	if err != nil {
		return nil, fmt.Errorf("react: agent %q: %w", o.Name, err)
	}
	return l.graph()
}

func newLoop[S Conversational](o Options[S]) (*loop[S], error) {
	if o.Model == nil {
		return nil, fmt.Errorf("the agent has no model")
	}
	l := &loop[S]{o: o, speaker: o.Speaker, named: agent.Tags()}
	if o.Speaker == "" {
		l.speaker = DefaultSpeaker
	} else {
		l.named = agent.NodeMetadata(map[string]any{"lc_agent_name": o.Speaker})
	}
	if err := checkMiddleware(o.Middleware); err != nil {
		return nil, err
	}
	available := slices.Clone(o.Tools)
	for _, m := range o.Middleware {
		available = append(available, m.Tools...)
	}
	available, err := joinSubagents(available)
	if err != nil {
		return nil, err
	}
	if l.tools, err = tool.NewSet(available...); err != nil {
		return nil, err
	}
	if l.response, err = newResponder(o.Response, l.tools); err != nil {
		return nil, err
	}
	if len(o.Review.Policy) > 0 {
		if l.gate, err = hitl.New(o.Review, l.tools); err != nil {
			return nil, err
		}
	}
	if err := o.Limits.check(o.Model); err != nil {
		return nil, err
	}
	l.callModel = wrapModel(o.Middleware, l.generate)
	l.b = agent.NewGraph[S](o.Name, l.graphOptions()...)
	return l, nil
}

func checkMiddleware(all []Middleware) error {
	seen := map[string]bool{}
	for _, m := range all {
		if m.Name == "" {
			return fmt.Errorf("a middleware has no name")
		}
		if seen[m.Name] {
			return fmt.Errorf("two middlewares are named %q", m.Name)
		}
		seen[m.Name] = true
		for _, s := range []*Step{m.BeforeAgent, m.BeforeModel, m.AfterModel, m.AfterAgent} {
			if s != nil && s.Run == nil && s.run == nil {
				return fmt.Errorf("a step of middleware %q has no function", m.Name)
			}
		}
		if m.check != nil {
			if err := m.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// graphOptions are the agent's own, and those of its parts.
func (l *loop[S]) graphOptions() []agent.GraphOption {
	options := []agent.GraphOption{agent.Sealed(turnKey)}
	jumps := false
	for _, m := range l.o.Middleware {
		if m.State != nil {
			options = append(options, agent.ExtraState(m.State))
		}
		for _, s := range []*Step{m.BeforeAgent, m.BeforeModel, m.AfterModel, m.AfterAgent} {
			jumps = jumps || s != nil && len(s.CanJumpTo) > 0
		}
	}
	if jumps {
		options = append(options, agent.ExtraState(jumpState{}))
	}
	if l.o.Response != nil {
		options = append(options, agent.ExtraState(structuredState{}))
	}
	if l.gate != nil {
		options = append(options, l.gate.Options()...)
	}
	options = append(options, agent.ReviewRules(rulesOfSubagents(l.tools)))
	return append(options, l.o.GraphOptions...)
}

// graph makes nodes and edges (spec/runtime.md 7.1).
func (l *loop[S]) graph() (*agent.Graph, error) {
	l.hooks()
	l.entry, l.exit = ModelNode, agent.End
	if len(l.preModel) > 0 {
		l.entry = l.preModel[0].name
	}
	if len(l.after) > 0 {
		l.exit = l.after[0].name
	}
	hasTools := len(l.tools.Definitions()) > 0
	for _, h := range slices.Concat(l.before, l.preModel, l.postModel, l.after) {
		if !hasTools && slices.Contains(h.canJump, ToTools) {
			return nil, fmt.Errorf("react: agent %q: %q jumps to tools, and there are none", l.o.Name, h.name)
		}
	}

	chain := append(slices.Concat(l.before, l.preModel), hookNode{name: ModelNode, add: func() { l.b.Node(ModelNode, l.modelNode, l.named) }})
	chain = append(chain, l.postModel...)
	l.b.Edge(agent.Start, chain[0].name)
	for i, h := range chain {
		h.add()
		switch {
		case i+1 < len(chain):
			l.lead(h, chain[i+1].name)
		case l.loops():
			l.route(h)
		default:
			l.lead(h, l.exit)
		}
	}
	if hasTools {
		agent.NodeOf(l.b, ToolsNode, l.toolsNode, l.named)
		l.leaveTools()
	}
	for i, h := range l.after {
		h.add()
		next := agent.End
		if i+1 < len(l.after) {
			next = l.after[i+1].name
		}
		l.lead(h, next)
	}
	return l.b.Compile()
}

// loops tells whether the model can be called again in a turn.
func (l *loop[S]) loops() bool { return len(l.tools.Definitions()) > 0 || l.response != nil }

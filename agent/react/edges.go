package react

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
)

// lead leads from a hook to the next node, or where it jumps to.
func (l *loop[S]) lead(h hookNode, next string) {
	if len(h.canJump) == 0 {
		l.b.Edge(h.name, next)
		return
	}
	agent.BranchOf(l.b, h.name, func(ctx agent.Context, state json.RawMessage) ([]agent.Target, error) {
		if targets, err := l.jumps(ctx, state); targets != nil || err != nil {
			return targets, err
		}
		return []agent.Target{{Node: next}}, nil
	}, append([]string{next}, l.landings(h, next)...)...)
}

// route leads from the last node behind the model to the tools, or to the end (spec/runtime.md 7.2).
func (l *loop[S]) route(h hookNode) {
	targets := []string{l.exit}
	if len(l.tools.Definitions()) > 0 {
		targets = []string{ToolsNode, l.exit}
	}
	if len(h.canJump) == 0 {
		l.b.BranchTo(h.name, func(ctx agent.Context, s S) ([]agent.Target, error) { return l.afterModel(ctx, h.name, s) }, targets...)
		return
	}
	agent.BranchOf(l.b, h.name, func(ctx agent.Context, state json.RawMessage) ([]agent.Target, error) {
		if targets, err := l.jumps(ctx, state); targets != nil || err != nil {
			return targets, err
		}
		s, err := decodeState[S](state)
		if err != nil {
			return nil, err
		}
		return l.afterModel(ctx, h.name, s)
	}, append(targets, l.landings(h, targets...)...)...)
}

// landings are the nodes that a hook may jump to, but for those named already.
func (l *loop[S]) landings(h hookNode, named ...string) []string {
	nodes := map[Destination]string{ToModel: l.entry, ToTools: ToolsNode, ToEnd: l.exit}
	var all []string
	for _, to := range h.canJump {
		if n := nodes[to]; n != "" && !slices.Contains(named, n) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// jumps leads where a hook has jumped to; nil when it has not.
func (l *loop[S]) jumps(ctx agent.Context, state json.RawMessage) ([]agent.Target, error) {
	var in jumpState
	if err := json.Unmarshal(state, &in); err != nil {
		return nil, fmt.Errorf("react: decode the state: %w", err)
	}
	switch in.JumpTo {
	case ToModel:
		return []agent.Target{{Node: l.entry}}, nil
	case ToEnd:
		return []agent.Target{{Node: l.exit}}, nil
	case ToTools:
		s, err := decodeState[S](state)
		if err != nil {
			return nil, err
		}
		_, open := currentCalls(ctx, s.Conversation())
		if len(open) == 0 {
			return []agent.Target{{Node: l.entry}}, nil
		}
		return l.callTasks(s, open)
	}
	return nil, nil
}

package react

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Destination is where a Step can jump to.
type Destination string

// The destinations: the model (with its before-steps), the tools that the newest message
// calls, the end of the turn (with its after-steps).
const (
	ToModel Destination = "model"
	ToTools Destination = "tools"
	ToEnd   Destination = "end"
)

// jumpKey is the state key of a jump. It lives for one superstep and is in no schema.
const jumpKey = "jumpTo"

// jumpState has the key.
type jumpState struct {
	JumpTo Destination `json:"jumpTo" agent:"ephemeral,private"`
}

// Jump is an update that also says where the agent goes on, instead of to the next node.
// The Step that returns it must declare the destination in CanJumpTo.
func Jump(to Destination, update agent.Update) agent.Update {
	return agent.Updates{update, agent.Set(jumpKey, to)}
}

// stepInput is what a Step's node gets of the state.
type stepInput struct {
	Messages message.List `json:"messages"`
	JumpTo   Destination  `json:"jumpTo"`
}

// stepNode is the function of a step's node.
func (l *loop[S]) stepNode(s *Step) func(agent.Context, stepInput) (agent.Update, error) {
	if s.run == nil {
		return s.guarded
	}
	return func(ctx agent.Context, in stepInput) (agent.Update, error) {
		spent := spending{limits: l.o.Limits}
		update, err := s.run(ctx, in.Messages, &spent)
		if err != nil || spent.calls == 0 {
			return update, err
		}
		t, err := l.openTurn(ctx, in.Messages)
		if err != nil {
			return nil, err
		}
		spent.calls = 0 // it is no step of the agent
		return agent.Updates{update, agent.Seal(turnKey, map[string]any{"turn": t.add(ctx, spent)})}, nil
	}
}

// guarded is a step's function that can only jump where the step declares it; what a
// caller may have written under the key is overwritten.
func (s Step) guarded(ctx agent.Context, in stepInput) (agent.Update, error) {
	update, err := s.Run(ctx, in.Messages)
	if err != nil {
		return nil, err
	}
	to, jumps := destinationOf(update)
	switch {
	case jumps && !slices.Contains(s.CanJumpTo, to):
		return nil, fmt.Errorf("react: node %q jumped to %q, which it doesn't declare in CanJumpTo", ctx.Node(), to)
	case !jumps && in.JumpTo != "":
		return agent.Updates{update, agent.Set(jumpKey, "")}, nil
	}
	return update, nil
}

// destinationOf finds the jump in an update.
func destinationOf(update agent.Update) (Destination, bool) {
	switch u := update.(type) {
	case agent.Values:
		if v, ok := u[jumpKey]; ok {
			return decodeDestination(v)
		}
	case *agent.Command:
		if u != nil {
			for _, w := range slices.Backward(u.Update) {
				if w.Channel == jumpKey {
					return decodeDestination(w.Value)
				}
			}
		}
	case agent.Updates:
		for _, part := range slices.Backward(u) {
			if to, ok := destinationOf(part); ok {
				return to, true
			}
		}
	}
	return "", false
}

func decodeDestination(v any) (to Destination, jumps bool) {
	raw, err := encode(v)
	if err != nil || json.Unmarshal(raw, &to) != nil {
		return Destination(fmt.Sprint(v)), true
	}
	return to, to != ""
}

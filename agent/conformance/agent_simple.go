package conformance

import (
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type simpleState struct {
	KeyOne   string       `json:"key_one"`
	KeyTwo   string       `json:"key_two"`
	Sleep    float64      `json:"sleep"`
	Messages message.List `json:"messages"`
}

// AgentSimple sends its tool one message, not the state (spec/conformance-agents.md 3.2).
func AgentSimple() agent.Agent {
	// U+2028 ends lines in JavaScript and must survive every framing.
	models := listModel("begin", "end\u2028")
	b := agent.NewGraph[simpleState]("agent_simple").
		Node("agent", func(ctx agent.Context, s simpleState) (agent.Update, error) {
			return simpleTurn(ctx, s, models)
		})
	return agent.NodeOf(b, "tool", func(_ agent.Context, m message.Message) (agent.Update, error) {
		return add(message.NewTool("tool_call_id", "", "tool_call__"+m.Text())), nil
	}).
		Edge(agent.Start, "agent").
		BranchTo("agent", func(_ agent.Context, s simpleState) ([]agent.Target, error) {
			last, _ := s.Messages.Last()
			if strings.HasPrefix(last.Text(), "end") {
				return []agent.Target{{Node: agent.End}}, nil
			}
			return []agent.Target{agent.Send("tool", last)}, nil
		}, "tool", agent.End).
		Edge("tool", "agent").
		MustCompile()
}

func simpleTurn(ctx agent.Context, s simpleState, models talker) (agent.Update, error) {
	slog.WarnContext(ctx, "Hello, world!", "random", 123)
	if header := ctx.Config().String("x-configurable-header"); header != "" {
		return agent.Set("messages", []string{"end: " + header}), nil
	}
	if ctx.Items() != nil {
		if err := keepFirstText(ctx, s.Messages); err != nil {
			return nil, err
		}
	}
	answer, err := models(ctx, s.Messages)
	if err != nil {
		return nil, err
	}
	return add(answer), nil
}

// keepFirstText stores the newest message's text in the user's namespace unless there is one already.
func keepFirstText(ctx agent.Context, messages message.List) error {
	namespace := []string{userOf(ctx)}
	item, err := ctx.Items().Get(ctx, namespace, "key_one")
	if err != nil || item != nil {
		return err
	}
	last, _ := messages.Last()
	value, err := json.Marshal(map[string]json.RawMessage{"text": last.Content})
	if err != nil {
		return err
	}
	return ctx.Items().Put(ctx, namespace, "key_one", value)
}

// userOf is the identity of the authenticated user, "ALL" when there is none.
func userOf(ctx agent.Context) string {
	var user struct {
		Identity string `json:"identity"`
	}
	raw := ctx.Config().Configurable["langgraph_auth_user"]
	if raw == nil || json.Unmarshal(raw, &user) != nil || user.Identity == "" {
		return "ALL"
	}
	return user.Identity
}

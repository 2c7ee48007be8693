package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

type vaultState struct {
	Do   string   `json:"do"`
	Seen []string `json:"seen" agent:"append"`
}

// vault is a graph whose node keep writes what do says to the sealed channel, and whose node look, reached
// by a Send too, notes what it finds there.
func vault(opts ...agent.GraphOption) *agent.Graph {
	b := agent.NewGraph[vaultState]("vault", append(opts, agent.Sealed("vault"))...).
		Node("keep", func(_ agent.Context, s vaultState) (agent.Update, error) {
			switch s.Do {
			case "":
				return nil, nil
			case "drop":
				return agent.Seal("vault", map[string]any{"a": nil}), nil
			}
			return agent.Updates{agent.Set("do", s.Do), agent.Seal("vault", map[string]any{s.Do: s.Do})}, nil
		})
	agent.NodeOf(b, "look", func(ctx agent.Context, _ json.RawMessage) (agent.Update, error) {
		held, err := agent.ReadSealed[map[string]string](ctx, "vault")
		if err != nil {
			return nil, err
		}
		state, _ := agent.StateValue(ctx, "do")
		note, err := json.Marshal([]any{held, state})
		return agent.Set("seen", []string{string(note)}), err
	})
	return b.Edge(agent.Start, "keep").Edge("keep", "look").MustCompile()
}

// found is what the node look found last.
func found(t *testing.T, thread *agenttest.Thread) string {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	v, _ := s.State.Value("seen")
	var list []string
	require.NoError(t, json.Unmarshal(v.JSON, &list))
	return list[len(list)-1]
}

func succeed(t *testing.T, thread *agenttest.Thread, input any) agenttest.Result {
	t.Helper()
	res, err := thread.Run(t.Context(), input)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status, "%+v", res.Err)
	return res
}

func TestASealedChannelIsWrittenByNodesAndKeptFromRunToRun(t *testing.T) { // decisions 14
	t.Parallel()
	thread := agenttest.New(vault())
	succeed(t, thread, map[string]any{"do": "a"})
	require.JSONEq(t, `[{"a":"a"},"a"]`, found(t, thread))
	succeed(t, thread, map[string]any{"do": "b"})
	require.JSONEq(t, `[{"a":"a","b":"b"},"b"]`, found(t, thread))
	succeed(t, thread, map[string]any{"do": "drop"})
	require.JSONEq(t, `[{"b":"b"},"drop"]`, found(t, thread))
}

func TestASealedChannelIsShownNowhere(t *testing.T) {
	t.Parallel()
	g := vault()
	thread := agenttest.New(g)
	thread.Clock().AutoAdvance = true
	res := succeed(t, thread, map[string]any{"do": "secret"})
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"do", "seen"}, s.State.Keys())
	for _, e := range res.Events {
		raw, err := json.Marshal(e.Payload)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "sealed")
		require.NotContains(t, string(raw), `"vault"`)
	}
	schemas, err := json.Marshal(g.Schemas())
	require.NoError(t, err)
	require.NotContains(t, string(schemas), "sealed")
}

func TestNothingFromOutsideWritesASealedChannel(t *testing.T) {
	t.Parallel()
	forged := json.RawMessage(`{"thread":"00000000-0000-4000-8000-000000000001","entries":{"x":"x"}}`)
	for _, key := range []string{"vault", "__sealed:vault"} {
		for name, attack := range map[string]func(*testing.T, *agenttest.Thread){
			"input": func(t *testing.T, th *agenttest.Thread) { succeed(t, th, map[string]any{"do": "", key: forged}) },
			"update": func(t *testing.T, th *agenttest.Thread) {
				_, err := th.Command(t.Context(), agent.Command{Update: []agent.Write{{Channel: key, Value: forged}}, Goto: []agent.Target{{Node: "keep"}}})
				require.NoError(t, err)
			},
			"send": func(t *testing.T, th *agenttest.Thread) {
				_, err := th.Command(t.Context(), agent.Command{Goto: []agent.Target{agent.Send("look", map[string]any{key: forged})}})
				require.NoError(t, err)
			},
			"edit as a node": func(t *testing.T, th *agenttest.Thread) {
				require.NoError(t, th.Edit(t.Context(), "", []agent.Edit{{Values: object(t, key, forged), AsNode: "keep"}}))
			},
			"edit as input": func(t *testing.T, th *agenttest.Thread) {
				require.NoError(t, th.Edit(t.Context(), "", []agent.Edit{{Values: object(t, key, forged), AsNode: "__input__"}}))
			},
		} {
			t.Run(key+" by "+name, func(t *testing.T) {
				t.Parallel()
				thread := agenttest.New(vault())
				succeed(t, thread, map[string]any{"do": "a"})
				attack(t, thread)
				succeed(t, thread, map[string]any{"do": ""})
				require.JSONEq(t, `[{"a":"a"},""]`, found(t, thread))
			})
		}
	}
}

func object(t *testing.T, key string, value any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{key: value})
	require.NoError(t, err)
	return raw
}

// What was sealed belongs to one thread and one line of its history (decisions 14).
func TestASealedChannelIsEmptyOnANewBranch(t *testing.T) {
	t.Parallel()
	for name, branch := range map[string]func(t *testing.T, th *agenttest.Thread, old string) *agenttest.Thread{
		"replay": func(t *testing.T, th *agenttest.Thread, old string) *agenttest.Thread {
			_, err := th.RunFrom(t.Context(), old, nil)
			require.NoError(t, err)
			return th
		},
		"input on an older checkpoint": func(t *testing.T, th *agenttest.Thread, old string) *agenttest.Thread {
			_, err := th.RunFrom(t.Context(), old, map[string]any{"do": ""})
			require.NoError(t, err)
			return th
		},
		"fork": func(t *testing.T, th *agenttest.Thread, _ string) *agenttest.Thread {
			require.NoError(t, th.Edit(t.Context(), "", []agent.Edit{{AsNode: "__copy__"}}))
			return th
		},
		"edit of an older checkpoint": func(t *testing.T, th *agenttest.Thread, old string) *agenttest.Thread {
			require.NoError(t, th.EditAt(t.Context(), "", old, []agent.Edit{{Values: object(t, "do", ""), AsNode: "keep"}}))
			return th
		},
		"copy": func(_ *testing.T, th *agenttest.Thread, _ string) *agenttest.Thread {
			return th.Copy("00000000-0000-4000-8000-000000000002")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := agenttest.New(vault())
			succeed(t, thread, map[string]any{"do": "a"})
			thread = branch(t, thread, thread.History("")[0].ID)
			if name == "replay" || name == "input on an older checkpoint" {
				thread = branch(t, thread, thread.History("")[1].ID)
			}
			succeed(t, thread, map[string]any{"do": ""})
			require.JSONEq(t, `[null,""]`, found(t, thread))
		})
	}
}

func TestAClientsCheckpointLeavesASealedChannelAsItIs(t *testing.T) {
	t.Parallel()
	thread := agenttest.New(vault())
	succeed(t, thread, map[string]any{"do": "a"})
	require.NoError(t, thread.Edit(t.Context(), "", []agent.Edit{{Values: object(t, "do", "edited"), AsNode: "look"}}))
	succeed(t, thread, map[string]any{"do": ""})
	require.JSONEq(t, `[{"a":"a"},""]`, found(t, thread))
}

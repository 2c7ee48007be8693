package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

type typed struct {
	Count  int            `json:"count"`
	Last   string         `json:"last" agent:"any"`
	Point  *point         `json:"point"`
	Lookup map[string]int `json:"lookup"`
	Notes  []string       `json:"notes" agent:"append"`
}

type point struct {
	X int `json:"x"`
}

// What a node writes is checked where it is written: in the state it would
// break every node behind it, on every run.
func TestANodeCannotStoreWhatOthersCannotDecode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		update agent.Update
		fault  string // "" for none
	}{
		"own type":          {agent.Set("count", 1), ""},
		"nil":               {agent.Set("point", nil), ""},
		"pointed-to type":   {agent.Set("point", point{X: 1}), ""},
		"other type, fits":  {agent.Set("point", map[string]int{"x": 1}), ""},
		"number that fits":  {agent.Set("count", 1.0), ""},
		"appended":          {agent.Set("notes", []string{"a"}), ""},
		"text for a number": {agent.Set("count", "one"), `Invalid value for state key "count": got string, want integer`},
		"number for a text": {agent.Set("last", 1), `Invalid value for state key "last": got number, want string`},
		"inside an object":  {agent.Set("point", map[string]any{"x": "y"}), `Invalid value for state key "point": x: got string, want integer`},
		"in a command":      {&agent.Command{Update: []agent.Write{{Channel: "lookup", Value: []byte(`[]`)}}}, `Invalid value for state key "lookup": got array, want object`},
		"second of two":     {agent.Updates{agent.Set("last", "a"), agent.Set("count", true)}, `Invalid value for state key "count": got bool, want integer`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := agent.NewGraph[typed]("typed").
				Node("write", func(agent.Context, typed) (agent.Update, error) { return c.update, nil }).
				Node("read", func(agent.Context, typed) (agent.Update, error) { return nil, nil }).
				Edge(agent.Start, "write").Edge("write", "read").Edge("read", agent.End).MustCompile()
			r, err := agenttest.New(g).Run(t.Context(), map[string]any{})
			require.NoError(t, err)
			if c.fault == "" {
				require.Equal(t, "success", r.Status)
				return
			}
			require.Equal(t, "error", r.Status)
			require.Equal(t, "InvalidUpdateError", r.Err.Name)
			require.Equal(t, c.fault, r.Err.Message)
		})
	}
}

func TestADefaultOfAnotherTypeIsRefusedAtCompile(t *testing.T) {
	t.Parallel()
	type broken struct {
		Count int `json:"count" agent:"default=\"none\""`
	}
	_, err := agent.NewGraph[broken]("broken").
		Node("n", func(agent.Context, broken) (agent.Update, error) { return nil, nil }).
		Edge(agent.Start, "n").Compile()
	require.EqualError(t, err, `agent: graph "broken", state key "count": default: got string, want integer`)
}

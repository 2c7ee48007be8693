package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

func TestAToolIsDescribedByItsArguments(t *testing.T) {
	t.Parallel()
	type arguments struct {
		Query string   `json:"query" jsonschema_description:"What to look for"`
		Limit int      `json:"limit,omitempty" jsonschema:"minimum=1"`
		Kinds []string `json:"kinds,omitempty" jsonschema:"enum=page,enum=image"`
	}
	search := tool.New("search", "Searches", func(tool.Context, arguments) (any, error) { return "", nil })
	nothing := tool.New("nothing", "Takes nothing", func(tool.Context, struct{}) (any, error) { return "", nil })
	set, err := tool.NewSet(search, nothing)
	require.NoError(t, err)
	described := set.Definitions()
	require.Equal(t, []string{"search", "Searches", "nothing"}, []string{described[0].Name, described[0].Description, described[1].Name})
	require.JSONEq(t, `{"type":"object","required":["query"],"properties":{
		"query":{"type":"string","description":"What to look for"},
		"limit":{"type":"integer","minimum":1},
		"kinds":{"type":"array","items":{"type":"string","enum":["page","image"]}}}}`, string(described[0].Schema))
	require.JSONEq(t, `{"type":"object","properties":{}}`, string(described[1].Schema))
	require.Panics(t, func() {
		tool.New("bad", "", func(tool.Context, struct {
			C chan int `json:"c"`
		}) (any, error) {
			return nil, nil
		})
	})
}

// raw is a tool with a definition of any kind.
type raw struct{ model.Tool }

func (r raw) Definition() model.Tool         { return r.Tool }
func (r raw) Call(tool.Context) (any, error) { return "raw", nil }

func TestASetRefusesToolsThatNobodyCanCall(t *testing.T) {
	t.Parallel()
	for want, tools := range map[string][]tool.Tool{
		"needs a name":           {raw{}},
		`two tools are named`:    {raw{model.Tool{Name: "a"}}, raw{model.Tool{Name: "a"}}},
		`schema of "a"`:          {raw{model.Tool{Name: "a", Schema: json.RawMessage(`{"type":"strng"}`)}}},
		"references to other":    {raw{model.Tool{Name: "a", Schema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}}},
		`schema of "a": invalid`: {raw{model.Tool{Name: "a", Schema: json.RawMessage(`{`)}}},
	} {
		_, err := tool.NewSet(tools...)
		if want == `schema of "a": invalid` {
			require.ErrorContains(t, err, `schema of "a"`)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

func TestAToolWithoutASchemaTakesAnything(t *testing.T) {
	t.Parallel()
	thread := caller(t, message.NewToolCall("c1", "a", json.RawMessage(`[1]`)), raw{model.Tool{Name: "a"}})
	begin(t, thread)
	require.Equal(t, "raw", answer(t, thread).Text())
}

func TestAHeadlessToolIsCarriedOutByTheClient(t *testing.T) { // spec/conformance-frontends.md 4.3
	t.Parallel()
	type arguments struct {
		HighAccuracy bool `json:"highAccuracy,omitempty"`
	}
	for client, content := range map[string]string{
		`{"latitude":37.7749,"longitude":-122.4194}`: `{"latitude":37.7749,"longitude":-122.4194}`,
		`"somewhere"`:   "somewhere",
		`["a","<b>"]`:   `["a","<b>"]`,
		`{"ok": true }`: `{"ok":true}`,
		`0`:             `0`,
	} {
		thread := caller(t, message.NewToolCall("c1", "get_location", json.RawMessage(`{"highAccuracy":true}`)),
			tool.Headless[arguments]("get_location", "Get the user's current GPS location"))
		res := begin(t, thread)
		require.True(t, res.Suspended)
		require.JSONEq(t, `{"type":"tool","toolCall":{"id":"c1","name":"get_location","args":{"highAccuracy":true}}}`, string(thread.Pending()[0].Value))
		_, err := thread.Command(t.Context(), agent.Command{Resume: json.RawMessage(client), HasResume: true})
		require.NoError(t, err)
		m := answer(t, thread)
		require.Equal(t, []string{content, "success", "get_location"}, []string{m.Text(), m.Status, m.Name})
	}
}

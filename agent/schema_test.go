package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
)

type schemaSleep struct {
	Steps int     `json:"steps"`
	Ms    float64 `json:"ms,omitempty"`
}

type schemaTree struct {
	Name string       `json:"name"`
	Kids []schemaTree `json:"kids"`
}

type schemaState struct {
	Messages message.List `json:"messages"`
	Status   string       `json:"status" jsonschema:"enum=idle,enum=done,enum=busy"`
	Notes    []string     `json:"notes" jsonschema_extras:"langgraph_type=messages" jsonschema:"default=[]"`
	Count    int          `json:"count" agent:"default=0"`
	Sleep    *schemaSleep `json:"sleep"`
	Secret   string       `json:"secret" agent:"private"`
	Given    string       `json:"given" agent:"-output"`
	Made     string       `json:"made" agent:"-input"`
	Any      json.RawMessage
}

type schemaContext struct {
	ModelName string `json:"model_name" jsonschema:"enum=openai,enum=anthropic,description=Which model"`
}

func schemaGraph(t *testing.T) *Graph {
	stop := func(Context, schemaState) (Update, error) { return nil, nil }
	g, err := NewGraph[schemaState]("schemas", ContextType[schemaContext]()).
		Node("n", stop).Edge(Start, "n").Edge("n", End).Compile()
	require.NoError(t, err)
	return g
}

const messageDefinitions = `"definitions": {
	"BaseMessage<MessageStructure<MessageToolSet>,MessageType>": {
		"oneOf": [{"$ref": "#/definitions/RemoveMessage"}],
		"description": "Base class for all types of messages in a conversation: human, ai, system, tool and remove."
	},
	"RemoveMessage": {
		"type": "object",
		"description": "A message. One of type remove deletes the message with its id.",
		"properties": {
			"type": {"type": "string"}, "id": {"type": "string"}, "name": {"type": "string"},
			"content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
			"additional_kwargs": {"type": "object"}, "response_metadata": {"type": "object"}
		}
	}
}`

const (
	messagesProperty = `"messages": {"type": "array", "langgraph_type": "messages",
		"items": {"$ref": "#/definitions/BaseMessage<MessageStructure<MessageToolSet>,MessageType>"}}`
	sharedProperties = `"status": {"type": "string", "enum": ["busy", "done", "idle"]},
		"notes": {"type": "array", "items": {"type": "string"}, "default": [], "langgraph_type": "messages"},
		"count": {"type": "integer", "default": 0},
		"sleep": {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "integer"}, "ms": {"type": "number"}}}`
)

func TestSchemasFollowTheGoTypes(t *testing.T) {
	t.Parallel()
	s := schemaGraph(t).Schemas()
	for name, tc := range map[string]struct {
		got   json.RawMessage
		extra string
	}{
		"state":  {s.State, `,"secret": {"type": "string"}, "given": {"type": "string"}, "made": {"type": "string"}`},
		"input":  {s.Input, `,"given": {"type": "string"}`},
		"output": {s.Output, `,"made": {"type": "string"}`},
	} {
		want := `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {` +
			messagesProperty + "," + sharedProperties + tc.extra + `},` + messageDefinitions + `}`
		require.JSONEq(t, want, string(tc.got), name)
	}
	require.JSONEq(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
		"model_name": {"type": "string", "enum": ["anthropic", "openai"], "description": "Which model"}}}`, string(s.Context))
	require.Regexp(t, `^\{"\$schema":.*"properties":\{"messages":.*"status":.*"notes":.*"count":`, string(s.State), "properties keep their declared order")
}

func TestSchemaOfATypeThatContainsItself(t *testing.T) {
	t.Parallel()
	type state struct {
		Tree schemaTree `json:"tree"`
	}
	g, err := NewGraph[state]("tree").
		Node("n", func(Context, state) (Update, error) { return nil, nil }).Edge(Start, "n").Compile()
	require.NoError(t, err)
	s := g.Schemas()
	require.JSONEq(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
		"properties": {"tree": {"$ref": "#/definitions/schemaTree"}},
		"definitions": {"schemaTree": {"type": "object", "required": ["name", "kids"], "properties": {
			"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/definitions/schemaTree"}}}}}}`, string(s.State))
	require.Nil(t, s.Context, "no context type, no schema")
}

func TestSchemaOfATypeWithoutJSONIsAbsent(t *testing.T) {
	t.Parallel()
	type context struct {
		Done chan int `json:"done"`
	}
	type state struct{}
	g, err := NewGraph[state]("odd", ContextType[context]()).
		Node("n", func(Context, state) (Update, error) { return nil, nil }).Edge(Start, "n").Compile()
	require.NoError(t, err)
	require.Nil(t, g.Schemas().Context)
}

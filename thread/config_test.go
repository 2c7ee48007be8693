package thread

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestEffectiveConfigMergesAssistantThreadAndRequest(t *testing.T) {
	t.Parallel()
	a := Assistant{
		Config:   raw(`{"recursion_limit":10,"max_concurrency":4,"tags":["a"],"configurable":{"model":"assistant","from":"assistant","own":1}}`),
		Metadata: metadata(t, `{"created_by":"system","m":"assistant"}`),
		Context:  raw(`{"tone":"plain","lang":"en"}`),
	}
	r := StartRun{
		Config:    raw(`{"recursion_limit":50,"configurable":{"model":"request","checkpoint_id":"gone"}}`),
		Metadata:  metadata(t, `{"m":"request"}`),
		Context:   raw(`{"lang":"de"}`),
		Headers:   map[string]string{"X-Tenant": "acme"},
		AuthUser:  raw(`{"identity":"jo","permissions":["read"],"display_name":"Jo"}`),
		Langsmith: LangsmithTracer{ProjectName: "p", ExampleID: "e"},
	}
	threadConfig := raw(`{"configurable":{"from":"thread","model":"thread"}}`)
	id := identity{runID: "R", threadID: "T", graphID: "G", assistantID: "A"}

	e, err := mergeEffective(a, threadConfig, metadata(t, `{"m":"thread","t":1}`), r, id)

	require.NoError(t, err)
	require.JSONEq(t, `{
		"recursion_limit":50,"max_concurrency":4,"tags":["a"],
		"configurable":{
			"model":"request","from":"thread","own":1,"x-tenant":"acme",
			"langgraph_auth_user":{"identity":"jo","permissions":["read"],"display_name":"Jo"},
			"langgraph_auth_user_id":"jo","langgraph_auth_permissions":["read"],
			"langsmith_project":"p","langsmith_example_id":"e",
			"run_id":"R","thread_id":"T","graph_id":"G","assistant_id":"A"
		}}`, string(e.json()))
	require.JSONEq(t, `{"recursion_limit":50,"max_concurrency":4,"tags":["a"],"configurable":{"model":"request","from":"thread","own":1}}`, string(e.ThreadConfig))
	require.JSONEq(t, `{"created_by":"system","m":"request","t":1,"graph_id":"G","assistant_id":"A"}`, string(encodeJSON(e.Metadata)))
	require.JSONEq(t, `{"tone":"plain","lang":"de"}`, string(e.Context))
}

func TestAThreadWithoutConfigurationRemembersAnEmptyOne(t *testing.T) {
	t.Parallel()
	e, err := mergeEffective(Assistant{}, nil, nil, StartRun{}, identity{})
	require.NoError(t, err)
	require.JSONEq(t, `{"configurable":{}}`, string(e.ThreadConfig))
}

func TestContextOfAnotherTypeStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ assistant, request, want string }{
		{``, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, ``, `{"a":1}`},
		{`"text"`, `{"a":1}`, `"text"`},
		{`{}`, `"text"`, `"text"`},
		{`null`, `7`, `7`},
	} {
		got, err := mergeContext(raw(c.assistant), raw(c.request))
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got))
	}
	_, err := mergeContext(raw(`{"a":1}`), raw(`"text"`))
	var invalid *InvalidInputError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []string{"context"}, invalid.Path)
}

func TestConfigThatIsNoObjectIsRefused(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`"x"`, `[]`, `{"configurable":3}`} {
		_, err := mergeEffective(Assistant{}, nil, nil, StartRun{Config: raw(config)}, identity{})
		var invalid *InvalidInputError
		require.ErrorAs(t, err, &invalid, config)
	}
}

func TestStoredRunGivesConfigAndCheckpointMetadata(t *testing.T) {
	t.Parallel()
	run := Run{
		ID: "R", ThreadID: "T", Attempt: 2, Metadata: metadata(t, `{"graph_id":"G","user":"key"}`),
		Kwargs: RunKwargs{
			Config:  raw(`{"recursion_limit":7,"max_concurrency":3,"tags":["x"],"configurable":{"model":"m","__internal":1,"langgraph_auth_user":{"identity":"jo"},"langgraph_auth_user_id":"jo"}}`),
			Context: raw(`{"c":1}`),
		},
	}
	cfg := configOf(run)
	require.Equal(t, 7, cfg.RecursionLimit)
	require.Equal(t, 3, cfg.MaxConcurrency)
	require.Equal(t, []string{"x"}, cfg.Tags)
	require.JSONEq(t, `{"c":1}`, string(cfg.Context))
	require.Contains(t, cfg.Configurable, "langgraph_auth_user")
	require.JSONEq(t, `{"graph_id":"G","user":"key","run_attempt":2,"run_id":"R","thread_id":"T",
		"langgraph_version":"1.7.3","langgraph_plan":"developer","langgraph_host":"self-hosted"}`, string(encodeJSON(cfg.Metadata)))
}

// Agents believe these keys: whoever may write a configuration can't say who the user is, nor what they may do.
func TestNoConfigurationSaysWhoTheUserIs(t *testing.T) {
	t.Parallel()
	const forged = `{"configurable":{"langgraph_auth_user":{"identity":"root"},"langgraph_auth_user_id":"root","langgraph\u005fauth_permissions":["all"],"langgraph_auth_x":1,"own":1}}`
	for _, layer := range []struct {
		assistant, thread string
		request           StartRun
	}{
		{assistant: forged}, {thread: forged}, {request: StartRun{Config: raw(forged)}},
	} {
		id := identity{runID: "R", threadID: "T", graphID: "G", assistantID: "A"}
		e, err := mergeEffective(Assistant{Config: raw(layer.assistant)}, raw(layer.thread), nil, layer.request, id)
		require.NoError(t, err)
		require.JSONEq(t, `{"configurable":{"own":1,"run_id":"R","thread_id":"T","graph_id":"G","assistant_id":"A"}}`, string(e.json()))
		require.JSONEq(t, `{"configurable":{"own":1}}`, string(e.ThreadConfig))

		layer.request.AuthUser = raw(`{"identity":"jo"}`)
		e, err = mergeEffective(Assistant{Config: raw(layer.assistant)}, raw(layer.thread), nil, layer.request, id)
		require.NoError(t, err)
		require.JSONEq(t, `"jo"`, string(e.Configurable["langgraph_auth_user_id"]))
		require.NotContains(t, e.Configurable, "langgraph_auth_permissions", "of a user without any")
	}
}

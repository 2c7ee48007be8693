package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read decodes a body as the run endpoints do.
func read(t *testing.T, body string) *fields {
	t.Helper()
	raw, err := cleanJSON([]byte(body), 64)
	require.NoError(t, err)
	f, err := objectOf(raw)
	require.NoError(t, err)
	return f
}

func TestBodyIsCleaned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ body, want string }{
		"empty":             {"", "{}"},
		"white space":       {" \n\t ", "{}"},
		"byte order mark":   {"\ufeff{\"a\":1}", `{"a":1}`},
		"line feeds":        {"{\n \"a\": [1,\r\n 2]\n}", `{"a":[1,2]}`},
		"one line as it is": {`{"a": 1}`, `{"a": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := cleanJSON([]byte(tt.body), 8)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}

func TestBodyIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want error
	}{
		"malformed":     {`{"a":`, errMalformed},
		"two values":    {`{} {}`, errMalformed},
		"invalid UTF-8": {"{\"a\":\"\xff\"}", errMalformed},
		"not a number":  {`{"a":NaN}`, errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cleanJSON([]byte(tt.body), 8)
			require.Equal(t, tt.want, err)
		})
	}
	_, err := cleanJSON([]byte(strings.Repeat("[", 9)+strings.Repeat("]", 9)), 8)
	require.ErrorAs(t, err, new(*validationError))
}

func TestNestingLooksThroughStrings(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, nesting([]byte(`{"a[[[":["\"{{{"]}`)))
	require.Zero(t, nesting([]byte(`"[[["`)))
}

func TestFieldsAcceptNullAsAbsent(t *testing.T) {
	t.Parallel()
	f := read(t, `{"assistant_id":null,"metadata":null,"stream_mode":null,"after_seconds":null,"if_not_exists":null,
		"command":null,"interrupt_before":null,"checkpoint":null,"config":null,"input":null,"webhook":null,"stream_resumable":null}`)
	r, err := runFields(f)
	require.NoError(t, err)
	require.Empty(t, r.AssistantID)
	require.Equal(t, []string{"values"}, r.StreamMode)
	require.Equal(t, "reject", r.MultitaskStrategy)
	require.Nil(t, r.Command)
	require.True(t, r.HasInput)
	require.JSONEq(t, `null`, string(r.Input))
}

func TestRunFieldsAreRead(t *testing.T) {
	t.Parallel()
	const id = "1f1ecaf4-485d-6710-8000-e2e84c607b2f"
	f := read(t, `{"assistant_id":"agent","input":{"messages":[]},"command":{"resume":false},"stream_mode":[],
		"stream_subgraphs":true,"config":{"recursion_limit":3,"configurable":{"k":1,"checkpoint_id":"00000000-0000-0000-0000-000000000001"}},
		"checkpoint_id":"00000000-0000-0000-0000-000000000002","checkpoint":{"checkpoint_id":"`+id+`","checkpoint_ns":"","checkpoint_map":null},
		"interrupt_before":"*","interrupt_after":["a"],"multitask_strategy":"enqueue","on_disconnect":"cancel","on_completion":"complete",
		"if_not_exists":"create","after_seconds":1.5,"webhook":"/hook","feedback_keys":["x"],"checkpoint_during":false,"unknown":{}}`)
	r, err := runFields(f)
	require.NoError(t, err)
	require.Equal(t, id, r.CheckpointID, "checkpoint wins over checkpoint_id over configurable")
	require.JSONEq(t, `"*"`, string(r.InterruptBefore))
	require.JSONEq(t, `["a"]`, string(r.InterruptAfter))
	require.Equal(t, []string{"values"}, r.StreamMode, "an empty list is the default")
	require.Equal(t, "delete", r.OnCompletion, "unknown values are ignored")
	require.Equal(t, "exit", r.Durability)
	require.True(t, r.CreateThread)
	require.True(t, r.StreamSubgraphs)
	require.InDelta(t, 1.5, r.AfterSeconds, 0)
	require.JSONEq(t, `{"resume":false}`, string(r.Command))
}

func TestRunFieldsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		path []any
	}{
		"assistant":           {`{"assistant_id":1}`, []any{"assistant_id"}},
		"metadata":            {`{"metadata":[]}`, []any{"metadata"}},
		"mode":                {`{"stream_mode":["values","nope"]}`, []any{"stream_mode", 1}},
		"mode type":           {`{"stream_mode":{}}`, []any{"stream_mode"}},
		"command":             {`{"command":"x"}`, []any{"command"}},
		"strategy":            {`{"multitask_strategy":"x"}`, []any{"multitask_strategy"}},
		"checkpoint id":       {`{"checkpoint_id":"x"}`, []any{"checkpoint_id"}},
		"checkpoint":          {`{"checkpoint":{"checkpoint_id":"x"}}`, []any{"checkpoint", "checkpoint_id"}},
		"configurable":        {`{"config":{"configurable":{"checkpoint_id":"x"}}}`, []any{"config", "configurable", "checkpoint_id"}},
		"negative delay":      {`{"after_seconds":-1}`, []any{"after_seconds"}},
		"recursion limit":     {`{"config":{"recursion_limit":0}}`, []any{"config", "recursion_limit"}},
		"tags":                {`{"config":{"tags":[1]}}`, []any{"config", "tags", 0}},
		"webhook":             {`{"webhook":"ftp://x"}`, []any{"webhook"}},
		"webhook of no host":  {`{"webhook":"//evil"}`, []any{"webhook"}},
		"breakpoint":          {`{"interrupt_before":[1]}`, []any{"interrupt_before", 0}},
		"subgraphs no bool":   {`{"stream_subgraphs":{}}`, []any{"stream_subgraphs"}},
		"a tracer's project":  {`{"langsmith_tracer":{"project_name":1}}`, []any{"langsmith_tracer", "project_name"}},
		"unknown disconnects": {`{"on_disconnect":"x"}`, []any{"on_disconnect"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := runFields(read(t, tt.body))
			var v *validationError
			require.ErrorAs(t, err, &v)
			require.Equal(t, tt.path, v.issues[0].Path)
			require.NotEmpty(t, v.issues[0].Message)
			require.NotEmpty(t, v.issues[0].Code)
		})
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := runFields(read(t, `{"assistant_id":1,"metadata":[],"config":3}`))
	var v *validationError
	require.ErrorAs(t, err, &v)
	paths := map[string]bool{}
	for _, i := range v.issues {
		paths[i.Path[0].(string)] = true
	}
	require.Equal(t, map[string]bool{"assistant_id": true, "metadata": true, "config": true}, paths)
}

func TestBooleansAreLenient(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`true`: true, `false`: false, `1`: true, `0`: false, `"true"`: true, `"Yes"`: true, `"no"`: false, `null`: false,
	} {
		f := read(t, `{"b":`+body+`}`)
		require.Equal(t, want, f.boolean("b"), body)
		require.NoError(t, f.err())
	}
	require.False(t, truthy("0")) // wait=0 is false (spec/rest-api.md 1.3)
	require.True(t, truthy("TRUE"))
}

func TestIntegerBounds(t *testing.T) {
	t.Parallel()
	for body, fault := range map[string]bool{`5`: false, `0`: true, `1001`: true, `1.5`: true, `"5"`: true, `1e2`: false, `-1`: true} {
		f := read(t, `{"limit":`+body+`}`)
		f.integer("limit", 10, 1, 1000)
		require.Equal(t, fault, f.err() != nil, body)
	}
	require.Equal(t, 10, read(t, `{}`).integer("limit", 10, 1, 1000))
}

func TestBeforeTakesAllForms(t *testing.T) {
	t.Parallel()
	const id = "1f1ecaf4-485d-6710-8000-e2e84c607b2f"
	for _, body := range []string{`"` + id + `"`, `{"configurable":{"checkpoint_id":"` + id + `"}}`, `{"checkpoint_id":"` + id + `","checkpoint_ns":""}`} {
		f := read(t, `{"before":`+body+`}`)
		require.Equal(t, id, before(f), body)
		require.NoError(t, f.err())
	}
	for _, body := range []string{`"x"`, `{"configurable":{"checkpoint_id":"x"}}`, `3`} {
		f := read(t, `{"before":`+body+`}`)
		before(f)
		require.Error(t, f.err(), body)
	}
}

func TestCheckpointComesFromTheMap(t *testing.T) {
	t.Parallel()
	const id = "1f1ecaf4-485d-6710-8000-e2e84c607b2f"
	f := read(t, `{"checkpoint":{"checkpoint_ns":"a:1","checkpoint_map":{"":"x","a:1":"`+id+`"}}}`)
	got, ns := checkpoint(f, "checkpoint")
	require.NoError(t, f.err())
	require.Equal(t, id, got)
	require.Equal(t, "a:1", ns)
}

func TestSuperstepsAreRead(t *testing.T) {
	t.Parallel()
	f := read(t, `{"supersteps":[{"updates":[{"values":{"a":1},"as_node":"__input__"}]},{"updates":[{"values":null,"as_node":"n","command":{"goto":"m"}}]}]}`)
	steps := supersteps(f)
	require.NoError(t, f.err())
	require.Len(t, steps, 2)
	require.JSONEq(t, `{"a":1}`, string(steps[0][0].Values))
	require.Equal(t, "m", steps[1][0].Command.Goto[0].Node)

	for _, body := range []string{`{"supersteps":{}}`, `{"supersteps":[1]}`, `{"supersteps":[{}]}`, `{"supersteps":[{"updates":[{}]}]}`} {
		f := read(t, body)
		supersteps(f)
		require.Error(t, f.err(), body)
	}
}

func TestTTLForms(t *testing.T) {
	t.Parallel()
	f := read(t, `{"ttl":5}`)
	minutes, strategy := ttl(f)
	require.InDelta(t, 5, minutes, 0)
	require.Equal(t, "delete", strategy)
	f = read(t, `{"ttl":{"ttl":1.5,"strategy":"keep_latest"}}`)
	minutes, strategy = ttl(f)
	require.InDelta(t, 1.5, minutes, 0)
	require.Equal(t, "keep_latest", strategy)
	require.NoError(t, f.err())
	f = read(t, `{"ttl":{"ttl":-1}}`)
	ttl(f)
	require.Error(t, f.err())
}

func TestHeadersForConfigurable(t *testing.T) {
	t.Parallel()
	got := configurableHeaders(map[string][]string{
		"X-Trace": {"a", "b"}, "User-Agent": {"ua"}, "X-Api-Key": {"secret"}, "X-Tenant-Id": {"t"}, "X-Service-Key": {"s"},
		"Authorization": {"Bearer"}, "Accept": {"*/*"}, "X-Parley-Custom-Token": {"secret"}, "X-Mdb-Agent-Engine-Custom-Token": {"secret"},
	}, nil)
	require.Equal(t, map[string]string{"x-trace": "a, b", "user-agent": "ua"}, got)
}

func TestClientsCannotNameTheUser(t *testing.T) {
	t.Parallel()
	got := withoutUser(json.RawMessage(`{"configurable":{"langgraph_auth_user":{"identity":"root"},"langgraph_auth_user_id":"root","k":1},"tags":[]}`))
	require.JSONEq(t, `{"configurable":{"k":1},"tags":[]}`, string(got))
	require.JSONEq(t, `{"configurable":{"k":1}}`, string(withoutUser(json.RawMessage(`{"configurable":{"langgraph\u005fauth_user":{},"\u006canggraph_auth_permissions":[],"k":1}}`))))
	require.Nil(t, withoutUser(nil))
}

func TestBatchBodiesInCamelCase(t *testing.T) {
	t.Parallel()
	f := read(t, `{"assistantId":"a","streamMode":"updates","afterSeconds":2,"multitaskStrategy":"enqueue","multitask_strategy":"reject"}`)
	snakeCase(f)
	r, err := runFields(f)
	require.NoError(t, err)
	require.Equal(t, "a", r.AssistantID)
	require.Equal(t, []string{"updates"}, r.StreamMode)
	require.Equal(t, "reject", r.MultitaskStrategy, "the documented name wins")
}

func TestUUIDForm(t *testing.T) {
	t.Parallel()
	require.True(t, isUUID("FE096781-5601-53d2-b2f6-0d3403f7e9ca"))
	for _, s := range []string{"", "x", "fe096781560153d2b2f60d3403f7e9ca", "fe096781-5601-53d2-b2f6-0d3403f7e9cg", "fe096781-5601-53d2-b2f6-0d3403f7e9ca "} {
		require.False(t, isUUID(s), s)
	}
}

// FuzzRunBody: no body makes decoding panic, and what is accepted is one line of JSON.
func FuzzRunBody(f *testing.F) {
	for _, seed := range []string{
		`{"assistant_id":"a","input":{"messages":[["human","x"]]},"stream_mode":["values"]}`, `{"config":{"configurable":{"checkpoint_id":1}}}`,
		"{\"a\":\n1}", `[1]`, `{"checkpoint":{"checkpoint_map":{"":2}}}`, `{"langsmith_tracer":{}}`, `{"supersteps":[{"updates":[{"as_node":1}]}],"ttl":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		raw, err := cleanJSON(body, 64)
		if err != nil {
			return
		}
		require.True(t, json.Valid(raw))
		require.NotContains(t, string(raw), "\n")
		fs, err := objectOf(raw)
		if err != nil {
			return
		}
		snakeCase(fs)
		r, err := runFields(fs)
		supersteps(fs)
		ttl(fs)
		before(fs)
		extractions(fs)
		cronChange(fs)
		_ = validationBody(fs.issues)
		if err == nil {
			require.True(t, r.Input == nil || json.Valid(r.Input))
			require.True(t, json.Valid(rawOr(withoutUser(r.Config), "{}")))
		}
	})
}

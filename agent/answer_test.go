package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const decisionSchema = `{
	"type": "object", "required": ["type"], "additionalProperties": false,
	"properties": {
		"type": {"enum": ["approve", "reject"]},
		"args": {"type": "array", "items": {"type": "integer"}}
	}
}`

func TestAnswerIssuesPointAtTheFault(t *testing.T) {
	t.Parallel()
	q := InterruptInfo{ID: "q", ResponseSchema: json.RawMessage(decisionSchema)}
	require.Empty(t, answerIssues(q, json.RawMessage(`{"type":"approve","args":[1]}`)))
	require.Empty(t, answerIssues(InterruptInfo{ID: "q"}, json.RawMessage(`{`)), "without a schema anything goes")

	issues := answerIssues(q, json.RawMessage(`{"type":"maybe","args":[1,"two"]}`))
	paths := map[string]string{}
	for _, issue := range issues {
		require.Equal(t, "q", issue.InterruptID)
		require.NotEmpty(t, issue.Message)
		paths[issue.Path] = issue.Message
	}
	require.Contains(t, paths, "/type")
	require.Contains(t, paths, "/args/1")

	for _, answer := range []string{`"approve"`, `null`, `{}`, `{"type":"approve","extra":1}`} {
		require.NotEmpty(t, answerIssues(q, json.RawMessage(answer)), answer)
	}
	escaped := InterruptInfo{ID: "q", ResponseSchema: json.RawMessage(`{"properties":{"a/b~c":{"type":"string"}}}`)}
	require.Equal(t, "/a~1b~0c", answerIssues(escaped, json.RawMessage(`{"a/b~c":1}`))[0].Path)
}

func TestResponseSchemaReadsNoOtherDocument(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"type":"string"}`), 0o600))
	for _, ref := range []string{"file://" + other, other, "https://example.com/schema.json"} {
		raw, err := json.Marshal(map[string]any{"$ref": ref})
		require.NoError(t, err)
		_, err = compileResponseSchema(raw)
		require.ErrorContains(t, err, errNoLoader.Error(), ref)
		require.NotEmpty(t, answerIssues(InterruptInfo{ID: "q", ResponseSchema: raw}, json.RawMessage(`"x"`)), "an answer that can't be checked isn't stored")
	}
	_, err := compileResponseSchema(json.RawMessage(`{"$defs":{"a":{"type":"string"}},"$ref":"#/$defs/a"}`))
	require.NoError(t, err)
	_, err = compileResponseSchema(json.RawMessage(`{"type":"strng"}`))
	require.Error(t, err)
}

package manifest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/manifest"
)

// published is where editors get the schema.
const published = "../../docs/agents.schema.json"

// Editors have the schema that files are held against. To write it: parley agents schema > docs/agents.schema.json
func TestThePublishedSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := manifest.Schema()
	require.NoError(t, err)
	have, err := os.ReadFile(published)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have))
}

// An editor's validator sees the file as it is, by the published schema alone.
func TestExamplesFitThePublishedSchema(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(published)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema:///agents", doc))
	schema, err := c.Compile("schema:///agents")
	require.NoError(t, err)
	examples, err := filepath.Glob("../../examples/*/agents.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, path := range examples {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		content, err := yaml.YAMLToJSON(source)
		require.NoError(t, err)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(v), path)
		require.Contains(t, string(source), "# yaml-language-server: $schema=../../docs/agents.schema.json\n", path)
	}
	broken, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(`{"agents":{"a":{"promt":"x"}}}`)))
	require.NoError(t, err)
	require.Error(t, schema.Validate(broken))
}

package docs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/manifest"
)

// fenced are the code blocks of a document that are marked with a word.
func fenced(t *testing.T, document, mark string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	var all []string
	for _, block := range strings.Split(string(text), "```"+mark+"\n")[1:] {
		code, _, closed := strings.Cut(block, "```\n")
		require.True(t, closed)
		all = append(all, code)
	}
	require.NotEmpty(t, all, mark)
	return all
}

// Every file that the reference shows is right, and the one that is wrong is told so in
// these words.
func TestFilesOfTheYAMLReference(t *testing.T) {
	t.Parallel()
	set := manifest.Options{Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"DESK_URL": "https://desk.example.com", "DESK_TOKEN": "t", "CRM_TOKEN": "t"}[name]
		return v, ok
	}}
	for _, source := range fenced(t, "agents-yaml.md", "yaml") {
		m, err := manifest.Parse("../examples/support-yaml/agents.yaml", []byte(source), set)
		require.NoError(t, err, source)
		agents, err := m.Build(t.Context(), manifest.BuildOptions{Offline: true, LateKeys: true})
		require.NoError(t, err, source)
		require.NoError(t, agents.Close())
	}
	wrong := fenced(t, "agents-yaml.md", "yaml wrong")
	told := fenced(t, "agents-yaml.md", "text")
	require.Len(t, wrong, len(told))
	for i, source := range wrong {
		_, err := manifest.Parse("agents.yaml", []byte(source), set)
		require.EqualError(t, err, strings.TrimSuffix(told[i], "\n"))
	}
}

// The reference has a word on every key there is.
func TestTheYAMLReferenceNamesEveryKey(t *testing.T) {
	t.Parallel()
	raw, err := manifest.Schema()
	require.NoError(t, err)
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
		Properties map[string]any `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(raw, &schema))
	text, err := os.ReadFile("agents-yaml.md")
	require.NoError(t, err)
	named := func(key string) {
		require.True(t, regexp.MustCompile("`[a-z.]*"+key+"`|## "+key+"\n|\\b"+key+":").Match(text), "the reference has nothing on %s", key)
	}
	for key := range schema.Properties {
		named(key)
	}
	for _, d := range schema.Defs {
		for key := range d.Properties {
			named(key)
		}
	}
}

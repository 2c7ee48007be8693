package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseCommandReadsEveryWireForm(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, tc := range map[string]struct {
		wire string
		want *Command
	}{
		"null":              {` null `, nil},
		"empty":             {`{}`, &Command{}},
		"plain answer":      {`{"resume":"yes"}`, &Command{HasResume: true, Resume: raw(`"yes"`)}},
		"falsy answer":      {`{"resume":false}`, &Command{HasResume: true, Resume: raw(`false`)}},
		"explicit null":     {`{"resume":null}`, &Command{HasResume: true, Resume: raw(`null`)}},
		"update object":     {`{"update":{"b":1,"a":[2]}}`, &Command{Update: []Write{{"b", raw("1")}, {"a", raw("[2]")}}}},
		"repeated key":      {`{"update":{"a":1,"b":2,"a":3}}`, &Command{Update: []Write{{"b", raw("2")}, {"a", raw("3")}}}},
		"update pairs":      {`{"update":[["a",1],["a",2]]}`, &Command{Update: []Write{{"a", raw("1")}, {"a", raw("2")}}}},
		"update null":       {`{"update":null,"goto":null}`, &Command{}},
		"goto name":         {`{"goto":"n"}`, &Command{Goto: []Target{{Node: "n"}}}},
		"goto send":         {`{"goto":{"node":"n","input":{"k":1}}}`, &Command{Goto: []Target{{Node: "n", Input: raw(`{"k":1}`)}}}},
		"send of a library": {`{"goto":{"lg_name":"Send","node":"n","args":3}}`, &Command{Goto: []Target{{Node: "n", Input: raw(`3`)}}}},
		"send without input": {`{"goto":[{"node":"n"}]}`,
			&Command{Goto: []Target{{Node: "n", Input: raw(`null`)}}}},
		"goto mix": {`{"goto":["m",{"node":"n","input":null}]}`,
			&Command{Goto: []Target{{Node: "m"}, {Node: "n", Input: raw(`null`)}}}},
		"parent":         {`{"graph":"PARENT"}`, &Command{Parent: true}},
		"parent's value": {`{"graph":"__parent__","unknown":1}`, &Command{Parent: true}},
	} {
		got, err := ParseCommand(raw(tc.wire))
		require.NoError(t, err, name)
		require.Equal(t, tc.want, got, name)
	}
}

func TestParseCommandNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		`"resume"`:                 "a command is an object",
		`[1]`:                      "a command is an object",
		`{"update":"x"}`:           "update: must be an object or a list",
		`{"update":[["a"]]}`:       "update[0]: a pair is [key, value]",
		`{"update":[[1,2]]}`:       "update[0]: a pair is [key, value]",
		`{"goto":3}`:               "goto: must be a node's name",
		`{"goto":["a",{}]}`:        "goto[1]: must be a node's name",
		`{"goto":[null]}`:          "goto[0]: must be a node's name",
		`{"graph":"other"}`:        `unknown graph "other"`,
		`{"goto":3,"graph":"xxx"}`: "unknown graph",
	} {
		_, err := ParseCommand(json.RawMessage(wire))
		var invalid *InvalidCommandError
		require.ErrorAs(t, err, &invalid, wire)
		require.ErrorContains(t, err, want, wire)
	}
}

func TestCommandSurvivesItsWireForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) json.RawMessage { return text(rapid.String().Draw(t, "text")) })
		cmd := &Command{HasResume: rapid.Bool().Draw(t, "resume"), Parent: rapid.Bool().Draw(t, "parent")}
		if cmd.HasResume {
			cmd.Resume = value.Draw(t, "answer")
		}
		for range rapid.IntRange(0, 3).Draw(t, "writes") {
			cmd.Update = append(cmd.Update, Write{Channel: rapid.String().Draw(t, "key"), Value: value.Draw(t, "value")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "targets") {
			target := Target{Node: rapid.String().Draw(t, "node")}
			if rapid.Bool().Draw(t, "send") {
				target.Input = value.Draw(t, "input")
			}
			cmd.Goto = append(cmd.Goto, target)
		}
		raw, err := json.Marshal(cmd)
		require.NoError(t, err)
		got, err := ParseCommand(raw)
		require.NoError(t, err)
		again, err := json.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, string(raw), string(again))
		require.Len(t, got.Update, len(cmd.Update))
		require.Len(t, got.Goto, len(cmd.Goto))
		var inside struct{ C *Command }
		require.NoError(t, json.Unmarshal(append(append([]byte(`{"c":`), raw...), '}'), &inside))
		require.Equal(t, got, inside.C)
	})
}

// What asks for the right to answer looks at exact names, too.
func TestCommandKeysAreExact(t *testing.T) {
	t.Parallel()
	cmd, err := ParseCommand([]byte(`{"Resume":"yes","UPDATE":{"a":1},"Goto":"x"}`))
	require.NoError(t, err)
	require.False(t, cmd.HasResume)
	require.Empty(t, cmd.Update)
	require.Empty(t, cmd.Goto)
}

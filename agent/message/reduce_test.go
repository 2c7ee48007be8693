package message

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// counter returns a source of ids: new-1, new-2, …
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("new-%d", n) }
}

// brief shows a list as "type/id:content" items.
func brief(l List) []string {
	out := []string{}
	for _, m := range l.All() {
		text, ok := unquote(m.Content)
		if !ok {
			text = string(m.Content)
		}
		out = append(out, m.Type+"/"+m.ID+":"+text)
	}
	return out
}

func TestReduceFollowsTheAddMessagesRules(t *testing.T) {
	t.Parallel()
	const ab = `[{"type":"human","id":"a","content":"A"},{"type":"ai","id":"b","content":"B"}]`
	for name, tc := range map[string]struct {
		old, update string
		want        []string
		err         string
	}{
		"a string is a human message":             {`[]`, `"hi"`, []string{"human/new-1:hi"}, ""},
		"a list of two strings is two messages":   {`[]`, `["user","hi"]`, []string{"human/new-1:user", "human/new-2:hi"}, ""},
		"a pair inside a list has a role":         {`[]`, `[["ai","hi"]]`, []string{"ai/new-1:hi"}, ""},
		"a new id is appended":                    {ab, `{"role":"user","id":"c","content":"C"}`, []string{"human/a:A", "ai/b:B", "human/c:C"}, ""},
		"a known id is replaced in place":         {ab, `{"role":"user","id":"a","content":"A2"}`, []string{"human/a:A2", "ai/b:B"}, ""},
		"remove deletes":                          {ab, `{"type":"remove","id":"a"}`, []string{"ai/b:B"}, ""},
		"remove of an unknown id fails":           {ab, `{"type":"remove","id":"x"}`, nil, "doesn't exist ('x')"},
		"remove and add again keeps the place":    {ab, `[{"type":"remove","id":"a"},{"type":"human","id":"a","content":"A2"}]`, []string{"human/a:A2", "ai/b:B"}, ""},
		"add and remove in one update leave none": {ab, `[{"type":"human","id":"c","content":"C"},{"type":"remove","id":"c"}]`, []string{"human/a:A", "ai/b:B"}, ""},
		"one id twice: last content, first place": {ab, `[{"type":"human","id":"c","content":"C"},{"type":"human","id":"d","content":"D"},{"type":"human","id":"c","content":"C2"}]`, []string{"human/a:A", "ai/b:B", "human/c:C2", "human/d:D"}, ""},
		"remove all keeps what follows":           {ab, `[{"type":"human","id":"c","content":"C"},{"type":"remove","id":"__remove_all__"},"D"]`, []string{"human/new-1:D"}, ""},
		"remove all keeps duplicates behind it":   {ab, `[{"type":"remove","id":"__remove_all__"},{"type":"human","id":"c","content":"1"},{"type":"human","id":"c","content":"2"}]`, []string{"human/c:1", "human/c:2"}, ""},
		"an empty update changes nothing":         {ab, `[]`, []string{"human/a:A", "ai/b:B"}, ""},
		"null is no update":                       {ab, `null`, nil, "null is not a message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, err := Reduce(List{}, json.RawMessage(tc.old), counter())
			require.NoError(t, err)
			got, err := Reduce(old, json.RawMessage(tc.update), counter())
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, brief(got))
		})
	}
}

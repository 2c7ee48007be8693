package hitl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/hitl"
)

// unequal is what is said of an edit whose two spellings have different contents.
const unequal = "editedAction and edited_action are the same by two names, but differ: give one of them"

// A reviewer's tool shows the one, and the other would be carried out.
func TestAnEditByTwoNamesHasOneContent(t *testing.T) {
	t.Parallel()
	const ann, eve = `{"name":"pay","args":{"to":"Ann","amount":1}}`, `{"name":"pay","args":{"to":"Eve","amount":9}}`
	for _, casing := range []hitl.Casing{hitl.Camel, hitl.Snake} {
		c := standard()
		c.Casing = casing
		thread, d := begin(t, c, calls(payAnn))
		said := unequal
		if casing == hitl.Snake {
			said = "edited_action and editedAction are the same by two names, but differ: give one of them"
		}
		for _, other := range []string{eve, `{"name":"search","args":{"q":"x"}}`, `{"name":"pay","args":{"to":"Ann","amount":1},"note":"x"}`} {
			require.Equal(t, []string{"/decisions/0 " + said}, refused(t, thread, `{"decisions":[{"type":"edit","editedAction":`+ann+`,"edited_action":`+other+`}]}`))
		}
		require.Contains(t, refused(t, thread, `{"decisions":[{"type":"edit","editedAction":`+ann+`,"edited_action":null}]}`), "/decisions/0 "+said)
		require.Empty(t, d.all())
		answer(t, thread, `{"decisions":[{"type":"edit","editedAction":`+ann+`,"edited_action":{"args":{"amount":1,"to":"Ann"},"name":"pay"}}]}`)
		require.Equal(t, []string{`pay{"to":"Ann","amount":1}`}, d.all(), "equal contents are one")

		c.Mode = hitl.PerCall
		thread, d = begin(t, c, calls(payAnn))
		require.NotEmpty(t, refused(t, thread, `{"type":"edit","editedAction":`+ann+`,"edited_action":`+eve+`}`))
		require.Empty(t, d.all())
	}
}

// Of a repeated key one reader takes the first value and another the last.
func TestAnAnswerWithAKeyTwiceIsRefused(t *testing.T) {
	t.Parallel()
	thread, d := begin(t, standard(), calls(payAnn))
	for wire, at := range map[string]string{
		`{"decisions":[{"type":"reject","type":"approve"}]}`:                                                                 "/decisions/0/type",
		`{"decisions":[{"type":"reject"}],"decisions":[{"type":"approve"}]}`:                                                 "/decisions",
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":1,"amount":9}}}]}`:            "/decisions/0/editedAction/args/amount",
		`{"decisions":[{"type":"reject","\u0074ype":"approve"}]}`:                                                            "/decisions/0/type",
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{}},"editedAction":{"name":"search","args":{}}}]}`: "/decisions/0/editedAction",
	} {
		got := refused(t, thread, wire)
		require.Len(t, got, 1)
		require.Regexp(t, "^"+at+" the key .* stands twice", got[0])
	}
	require.Len(t, thread.Pending(), 1)
	require.Empty(t, d.all())
}

package hitl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/hitl"
)

// What the schema has read is what counts: encoding/json would take keys in another casing as well.
func TestKeysInAnotherCasingDecideNothing(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		`{"decisions":[{"type":"reject"}],"Decisions":[{"type":"approve"}]}`:                                                                      "c1 error",
		`{"decisions":[{"type":"reject"}],"Decisions":[]}`:                                                                                        "c1 error",
		`{"decisions":[{"type":"reject"}],"deci\u017fions":[{"type":"approve"}]}`:                                                                 "c1 error",
		`{"decisions":[{"type":"reject","Type":"approve"}]}`:                                                                                      "c1 error",
		`{"decisions":[{"type":"reject","TYPE":"exempt"}]}`:                                                                                       "c1 error",
		`{"decisions":[{"type":"reject","Type":"respond","message":"done"}]}`:                                                                     "c1 error",
		`{"decisions":[{"type":"reject","Message":5}]}`:                                                                                           "c1 error",
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":1}},"EditedAction":{"name":"search","args":{}}}]}`: `pay{"to":"Ann","amount":1}`,
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","Name":"search","args":{"to":"Ann","amount":1},"Args":{"q":"x"}}}]}`:           `pay{"to":"Ann","amount":1}`,
	} {
		thread, d := begin(t, standard(), calls(payAnn))
		answer(t, thread, wire)
		require.Empty(t, thread.Pending(), wire)
		if want == "c1 error" {
			require.Empty(t, d.all(), wire)
			require.Len(t, told(t, thread), 1, wire)
			require.Contains(t, told(t, thread)[0], want, wire)
			continue
		}
		require.Equal(t, []string{want}, d.all(), wire)
	}
	perCall := standard()
	perCall.Mode = hitl.PerCall
	thread, d := begin(t, perCall, calls(payAnn))
	refused(t, thread, `{"type":"reject","Type":"approve"}`)
	require.Empty(t, d.all())
}

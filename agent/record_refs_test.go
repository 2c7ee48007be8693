package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
)

func TestRefsAreWhatARecordNeeds(t *testing.T) {
	t.Parallel()
	big := json.RawMessage(`"` + strings.Repeat("x", inlineLimit) + `"`)
	list := message.New(message.NewHuman("hi"))
	record := func(channels map[string]Channel) CheckpointRecord {
		rec, err := EncodeCheckpoint(&Checkpoint{ID: "c", Channels: channels}, nil)
		require.NoError(t, err)
		return rec
	}
	first := record(map[string]Channel{
		"big": {Version: 1, Value: &Value{JSON: big}}, "small": {Version: 1, Value: &Value{JSON: json.RawMessage(`{"b":"no digest","l":{"s":"none"}}`)}},
		"messages": {Version: 1, Value: &Value{List: &list}}, "none": {Version: 1}, "no messages": {Version: 1, Value: &Value{List: &message.List{}}},
	})
	var refs Refs
	require.NoError(t, refs.Add(first.State))
	require.Len(t, first.Blobs, 1)
	require.Equal(t, map[string]bool{first.Blobs[0].ID: true}, refs.Blobs)
	require.Equal(t, map[string]bool{list.Ref().Segment: true}, refs.Segments)

	second := record(map[string]Channel{"big": {Version: 1, Value: &Value{JSON: slices.Concat(big[:len(big)-1], json.RawMessage(`y"`))}}})
	require.NoError(t, refs.Add(second.State))
	require.Len(t, refs.Blobs, 2, "they add up")

	require.Error(t, refs.Add([]byte(`{"v":99,"channels":{}}`)), "what isn't understood must not be taken for empty")
	require.Error(t, refs.Add([]byte(`{`)))
}

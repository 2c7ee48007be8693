package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

// history commits checkpoints of real states, each grown from the one before, and
// returns what they store.
func (w *worker) history(states ...map[string]agent.Channel) []agent.CheckpointRecord {
	w.e.Helper()
	var records []agent.CheckpointRecord
	var prev *agent.Checkpoint
	for i, channels := range states {
		cp := &agent.Checkpoint{ID: newID(), At: now(), Step: i, Source: agent.SourceLoop, Channels: channels}
		rec, err := agent.EncodeCheckpoint(cp, prev)
		require.NoError(w.e, err)
		rec.RunID = w.run.ID
		w.commit(func(c *thread.Commit) { c.Checkpoints = []agent.CheckpointRecord{rec} })
		records, prev = append(records, rec), cp
	}
	return records
}

// value is a large channel value.
func value(letter string) agent.Channel {
	return agent.Channel{Version: 1, Value: &agent.Value{JSON: raw("%q", strings.Repeat(letter, 4096))}}
}

func listChannel(l message.List) agent.Channel {
	return agent.Channel{Version: 1, Value: &agent.Value{List: &l}}
}

// stored counts the blobs and segments among those of the records that the thread has.
func (e *env) stored(threadID string, records []agent.CheckpointRecord) (blobs, segments int) {
	e.Helper()
	for _, rec := range records {
		for _, b := range rec.Blobs {
			found, err := e.Blobs(e.ctx, threadID, []string{b.ID})
			require.NoError(e, err)
			blobs += len(found)
		}
		for _, l := range rec.Lists {
			if _, err := e.Segment(e.ctx, threadID, l.Segment, 1); err == nil {
				segments++
			} else {
				require.ErrorIs(e, err, thread.ErrNotFound)
			}
		}
	}
	return blobs, segments
}

var trimCases = []testCase{
	{"trimming drops the values that nothing refers to any more", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		kept := message.New(message.NewHuman("one"), message.NewAI("two"))
		replaced := message.New(message.NewHuman("gone"))
		head := map[string]agent.Channel{"a": value("b"), "b": value("c"), "messages": listChannel(kept.Fork().Append(message.NewAI("three")))}
		records := w.history(
			map[string]agent.Channel{"a": value("a"), "b": value("c"), "messages": listChannel(replaced)},
			map[string]agent.Channel{"a": value("b"), "b": value("c"), "messages": listChannel(kept)},
			head,
		)
		other := w.checkpoint(namespace("sub:1"))
		other.Blobs = []agent.Blob{{ID: "nested", Data: []byte(`"n"`)}}
		other.State = raw(`{"v":1,"channels":{"n":{"v":1,"b":"nested"}}}`)
		w.commit(func(c *thread.Commit) { c.Checkpoints = []agent.CheckpointRecord{other} })
		all := append(records, other)

		require.NoError(e, e.TrimThread(e.ctx, id))
		blobs, segments := e.stored(id, all)
		require.Equal(e, []int{4, 3}, []int{blobs, segments}, "a run that is inflight may grow from any of them")
		w.finish()
		require.NoError(e, e.TrimThread(e.ctx, id))
		blobs, segments = e.stored(id, all)
		require.Equal(e, []int{3, 2}, []int{blobs, segments}, "values of the head, of the nested graph, and the list below the head's")

		tuple, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		cp, err := agent.DecodeCheckpoint(tuple.Record,
			func(ids []string) (map[string][]byte, error) { return e.Blobs(e.ctx, id, ids) },
			func(s string, n int) (message.Segment, error) { return e.Segment(e.ctx, id, s, n) }, nil)
		require.NoError(e, err)
		for name, want := range head {
			got := cp.Channels[name].Value
			if want.Value.List != nil {
				require.JSONEq(e, string(want.Value.List.AppendJSON(nil)), string(got.List.AppendJSON(nil)))
			} else {
				require.Equal(e, want.Value.JSON, got.JSON)
			}
		}
		require.NoError(e, e.TrimThread(e.ctx, id), "once more changes nothing")
		blobs, segments = e.stored(id, all)
		require.Equal(e, []int{3, 2}, []int{blobs, segments})
	}},
}
